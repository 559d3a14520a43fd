"""Folds of users whose comparisons are partly hidden.

The members of the predictor and their weights are judged by how well they predict the hidden
comparisons of users from whom they were not learnt.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.masks import mask_rows
from mallowmix.data.splits import split_users
from mallowmix.engine import Block, Engine, make_blocks
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.infer.pair_queries import Queries
from mallowmix.learn.spectral.user_sample import sampled_comparisons
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.typing import Array

MOST_USERS = 3000  # learn the predictor; a sample of so many is drawn from more
_FOLD_USERS = 2000  # of them choose its members
_VERY_MANY_USERS, _MANY_USERS = 900, 300  # one split; two folds; with fewer users three
_MOST_JUDGES = 650  # held-out users of a fold
_WANTED_SCORES, _WANTED_ROWS = 200, 20_000  # users, and comparisons, to judge by;
_MOST_MASKS = 6  # of each user, where they are fewer


class HeldOut(NamedTuple):
    """Users whose comparisons are partly hidden.

    Attributes
    ----------
    block : Block
        The given comparisons.
    queries : Queries
        The hidden comparisons, each as the pair (winner, loser).
    category : (n,) array of int
        How many of a hidden pair's items are in the user's given comparisons: 0, 1 or 2.
    counts : (n,) array
        What each hidden comparison counts for; those of a user in a category count 1 together, over
        all masks.
    n_users : int
        How many users these are; each may be there several times, with other masks.
    """

    block: Block
    queries: Queries
    category: NDArray[np.int64]
    counts: Array
    n_users: int

    def of_rows(self, chosen: NDArray[np.bool_]) -> "HeldOut":
        """The same with only some hidden comparisons; users who have none of them say nothing."""
        M = self.block.n_users
        asked = np.bincount(self.queries.users()[chosen], minlength=M)
        given = np.where(asked > 0, np.diff(self.block.starts), 0)
        rows = np.repeat(asked > 0, np.diff(self.block.starts))
        block = self.block
        some = Block(
            0, block.n_items, np.r_[0, np.cumsum(given)], block.pair[rows], block.weight[rows],
            block.user_weight,
        )  # fmt: skip
        queries = Queries(np.r_[0, np.cumsum(asked)], self.queries.pair[chosen])
        return HeldOut(some, queries, self.category[chosen], self.counts[chosen], self.n_users)


class Fold(NamedTuple):
    """One split of the users: `train` (and its `blocks`) to learn from, `held_out` to judge by."""

    train: Comparisons
    blocks: list[Any]
    held_out: HeldOut


def teaching_users(
    comparisons: Comparisons | StoredComparisons, engine: Engine, seed: int
) -> Comparisons:
    """Take the users from whom the predictor is learnt: those with comparisons, or a sample.

    Each user is drawn by their number, so data in memory and on disk give the same users.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        All users.
    engine : Engine
        Where the pass over all users runs.
    seed : int
        Of the sample.

    Returns
    -------
    Comparisons
        Of about `MOST_USERS` users at most, in memory.
    """
    share = min(1.0, MOST_USERS / max(comparisons.n_users, 1))
    return sampled_comparisons(comparisons, share, seed, engine, ranked=False)


def make_folds(users: Comparisons, seed: int) -> list[Fold]:
    """Split the users, or some of very many, so that some learn and others judge.

    Of many users two thirds learn and one third judges; where they are fewer, everyone judges in
    turn, in two folds or three.

    Parameters
    ----------
    users : Comparisons
        From `teaching_users`.
    seed : int
        Of the split and of what is hidden.

    Returns
    -------
    list of Fold
        Each leaves out another part of the users to learn from, and is judged by that part.
    """
    own = child_seed(seed, Step.MASKS, 0)
    M = users.n_users
    users = users.take_users(np.flatnonzero(split_users(M, M, seed=own, draw=1) < _FOLD_USERS))
    M = users.n_users
    n_parts = 2 if _MANY_USERS <= M < _VERY_MANY_USERS else 3
    n_folds = 1 if M >= _VERY_MANY_USERS else n_parts
    part = split_users(M, n_parts, seed=own)
    folds = []
    for fold in range(n_folds):
        train = users.take_users(np.flatnonzero(part != fold))
        judges = np.flatnonzero(part == fold)
        held_out = hide(users.take_users(judges[:_MOST_JUDGES]), own)
        folds.append(Fold(train, make_blocks(train), held_out))
    return folds


def hide(users: Comparisons, seed: int) -> HeldOut:
    """Hide part of each user's comparisons; where they are few, several times, with other masks.

    Parameters
    ----------
    users : Comparisons
        All comparisons of these users.
    seed : int
        Of the masks.

    Returns
    -------
    HeldOut
    """
    keys = [as_key(child_seed(seed, Step.MASKS, 1 + n)) for n in range(_MOST_MASKS)]
    first = _masked(users, keys[0])
    wanted = max(
        _WANTED_SCORES // max(users.n_users, 1),
        _WANTED_ROWS // max(len(first.queries.pair), 1),
    )
    n_masks = int(np.clip(wanted, 1, _MOST_MASKS))
    return _joined([first, *(_masked(users, key) for key in keys[1:n_masks])], n_masks)


def _masked(users: Comparisons, key: np.uint64) -> HeldOut:
    starts, Q = users.starts(), users.n_items
    pair = users.pair.astype(np.int32)
    category = mask_rows(starts, pair, Q, 0, key)
    hidden = category >= 0
    user = np.repeat(np.arange(users.n_users), np.diff(starts))
    cell = user[hidden] * 3 + category[hidden]
    n_hidden = np.bincount(cell, users.weight[hidden], 3 * users.n_users)
    counts = users.weight[hidden] / n_hidden[cell]
    block = Block(
        0, Q, _starts(user[~hidden], users.n_users), pair[~hidden], users.weight[~hidden],
        users.user_weight,
    )  # fmt: skip
    queries = Queries(_starts(user[hidden], users.n_users), pair[hidden].astype(np.int64))
    return HeldOut(block, queries, category[hidden].astype(np.int64), counts, users.n_users)


def _starts(user: NDArray[np.integer], n_users: int) -> NDArray[np.int64]:
    return np.r_[0, np.cumsum(np.bincount(user, minlength=n_users))].astype(np.int64)


def _joined(parts: list[HeldOut], n_masks: int) -> HeldOut:
    """Several masks of the same users as if they were so many more users."""
    blocks = [part.block for part in parts]
    block = Block(
        0,
        blocks[0].n_items,
        _chained([each.starts for each in blocks]),
        np.concatenate([each.pair for each in blocks]),
        np.concatenate([each.weight for each in blocks]),
        np.concatenate([each.user_weight for each in blocks]),
    )
    queries = Queries(
        _chained([part.queries.starts for part in parts]),
        np.concatenate([part.queries.pair for part in parts]),
    )
    category = np.concatenate([part.category for part in parts])
    counts = np.concatenate([part.counts for part in parts]) / n_masks
    return HeldOut(block, queries, category, counts, parts[0].n_users)


def _chained(starts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Starts of parts that follow each other."""
    sizes = np.concatenate([np.diff(each) for each in starts])
    return np.r_[0, np.cumsum(sizes)].astype(np.int64)


def first_held_out(held_out: HeldOut, n_users: int) -> HeldOut:
    """Take the first of these users; several masks of one user count as several.

    Parameters
    ----------
    held_out : HeldOut
        Users with hidden comparisons.
    n_users : int
        How many of them at most.

    Returns
    -------
    HeldOut
    """
    block, queries = held_out.block, held_out.queries
    n = min(n_users, block.n_users)
    rows, hidden = slice(0, int(block.starts[n])), slice(0, int(queries.starts[n]))
    some = Block(
        0, block.n_items, block.starts[: n + 1], block.pair[rows], block.weight[rows],
        block.user_weight[:n],
    )  # fmt: skip
    asked = Queries(queries.starts[: n + 1], queries.pair[hidden])
    category, counts = held_out.category[hidden], held_out.counts[hidden]
    return HeldOut(some, asked, category, counts, min(n, held_out.n_users))


def mean_loss(held_out: HeldOut, probability: Array) -> float:
    """Return the mean log-loss, over users and categories of pairs.

    Parameters
    ----------
    held_out : HeldOut
        Users with hidden comparisons.
    probability : (n,) array
        The predicted probability of each hidden comparison.
    """
    total = held_out.counts.sum()
    clipped = np.clip(probability, 1e-4, 1 - 1e-4)
    return float(-(held_out.counts @ np.log(clipped)) / max(total, 1e-300))


def category_losses(held_out: HeldOut, probability: Array) -> Array:
    """Return the log-loss of each category of pairs.

    Parameters
    ----------
    held_out, probability
        As in `mean_loss`.

    Returns
    -------
    (3,) array
        0 for a category that has less than a twentieth of the counts.
    """
    log_p = np.log(np.clip(probability, 1e-4, 1 - 1e-4))
    total = np.bincount(held_out.category, held_out.counts, 3)
    sums = np.bincount(held_out.category, -held_out.counts * log_p, 3)
    return np.where(total >= total.sum() / 20, sums / np.maximum(total, 1e-300), 0.0)
