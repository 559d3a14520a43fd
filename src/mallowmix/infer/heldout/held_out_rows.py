"""Held-out comparisons, row by row, each with its predicted probability."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import HeldOutBy, split_rows
from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.selection import EngineName, using
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

_STEPS, _TOL = 300, 1e-4  # of the fold-in: further steps change a prediction by less than .0001
# members, the part given, what is split, the key of the random numbers
HeldOutTask: TypeAlias = tuple[list[PreparedModel], float, HeldOutBy, np.uint64]


class HeldOutRows(NamedTuple):
    """Held-out rows: user, ordered pair (winner · Q + loser), weight and predicted probability."""

    user: NDArray[np.int64]
    pair: NDArray[np.int64]
    weight: Array
    probability: Array

    def per_user(self, n_users: int) -> Array:
        """(M, 2) the summed log-probability of what was held out of each user, and how much."""
        score = np.bincount(self.user, self.weight * np.log(self.probability), n_users)
        n = np.bincount(self.user, self.weight, n_users)
        return np.column_stack([score, n]).astype(np.float64)


def predict_held_out(
    model: ComponentModel,
    comparisons: Comparisons,
    *,
    given: float = 0.5,
    split: HeldOutBy = "comparisons",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> HeldOutRows:
    """Predict part of each user's comparisons from the rest, as `completion`, row by row.

    Parameters
    ----------
    model, comparisons, seed, n_jobs, engine
        As in `completion`.
    given : float
        The part that is given.
    split : {"comparisons", "items", "touching"}
        What is split, as in `CompletionOptions`.
    """
    comparisons = comparisons.with_items(model.items)
    broadcast = (prepare_members(model), float(given), split, as_key(seed))
    with using(engine, n_jobs) as run:
        parts = run.map(_held_out, make_blocks(comparisons), broadcast)
    return HeldOutRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@map_step("held-out rows")
def _held_out(block: Block, broadcast: HeldOutTask) -> HeldOutRows:
    return held_out_rows(block, broadcast)


def held_out_rows(block: Block, task: HeldOutTask) -> HeldOutRows:
    """The held-out rows of one block of users."""
    members, given, by, key = task
    known, wanted = split_block_rows(block, given, by, key)
    rows = np.flatnonzero(wanted > 0)
    user = block.users_of_rows()[rows].astype(np.int64)
    p = predicted(block, members, known, user, block.pair[rows])
    return HeldOutRows(block.first_user + user, block.pair[rows].astype(np.int64), wanted[rows], p)


def split_block_rows(
    block: Block, given: float, by: HeldOutBy, key: np.uint64
) -> tuple[Array, Array]:
    """How much of each row's weight is given, and how much is held out, as `split_rows`."""
    rows = (block.starts, block.pair, block.weight, block.n_items)
    return split_rows(*rows, by, given, block.first_user, key)


def predicted(
    block: Block,
    members: list[PreparedModel],
    given: Array,
    user: NDArray[np.integer],
    pair: NDArray[np.int32],
) -> Array:
    """The probability of ordered pairs for users of a block: the members' mean of Σ_k θ_k β_(w),k.

    Parameters
    ----------
    block : Block
        The users.
    members : list of PreparedModel
        The models to average over.
    given : (rows,) array
        How much of each row is given.
    user, pair : (n,) arrays
        Whose probability of which ordered pair.
    """
    total = np.zeros(len(pair))
    for prepared in members:
        theta, _ = fold_in(block, prepared, given, max_iter=_STEPS, tol=_TOL)
        total += np.einsum("nk,nk->n", theta[user], prepared.beta[pair])
    return total / len(members)
