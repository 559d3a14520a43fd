"""Document completion: how well a model foretells part of a person's comparisons when told the rest."""

from typing import Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import OptionError, check_choice
from mallowmix.infer.collapsed_variational import Lens, fold_in, views
from mallowmix.infer.heldout.heldout_scores import Heldout, summary
from mallowmix.learn.paper.halves import take, tokens
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key, uniforms

_STEP = 60
_STEPS, _TOL = 300, 1e-4  # of the fold-in: further steps change a prediction by less than .0001
Array = NDArray[np.float64]
Split = Literal["comparisons", "items"]


def completion(
    model: M4,
    comparisons: Comparisons,
    *,
    given: float = 0.5,
    seed: int = 0,
    split: Split = "comparisons",
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> Heldout:
    """Foretell part of each person's comparisons from the rest of them.

    given : the part that the model is told, between 0 and 1
    split : "comparisons" deals a person's comparisons out at random, one by one; "items" deals out the items, tells the
        comparisons among the given ones and asks for those among the others, so that nothing asked about was told of

    Each comparison has the probability Σ_k β_(w),k E[θ_k | given], with β kept in [10⁻⁴, 1 − 10⁻⁴] and the model's calibration,
    averaged over its further fits. What is told depends on the seed and the person's number alone. `user_weight` plays no part.
    """
    check_choice("split", split, ("comparisons", "items"))
    if not 0 <= given < 1:
        raise OptionError(
            f"given is {given}; it must be at least 0 and below 1, so that something is left to foretell."
        )
    comparisons = comparisons.with_items(model.items)
    broadcast = (views(model), float(given), split, as_key(seed))
    with using(engine, n_jobs) as run:
        people = run.map(_score, make_blocks(comparisons), broadcast)
    scores = np.concatenate([np.empty((0, 2)), *people])
    return summary(
        scores, f"nobody has enough comparisons to be told {given:g} of them. Lower given."
    )


@map_step("completion")
def _score(block: Block, broadcast: tuple[list[Lens], float, Split, np.uint64]) -> Array:
    """(users, 2) each person's summed log-likelihood of what is held out, and how much that is."""
    fits, given, split, key = broadcast
    told, asked = split_block(block, given, split, key)
    rows = np.flatnonzero(asked > 0)
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))[rows]
    log_p = np.log(foretold(block, fits, told, person, block.pair[rows]))
    sums = [
        np.bincount(person, value * asked[rows], block.n_users)
        for value in (log_p, np.ones(len(rows)))
    ]
    return np.column_stack(sums).astype(np.float64)


def foretold(
    block: Block, fits: list[Lens], told: Array, person: NDArray[np.int64], pair: NDArray[np.int32]
) -> Array:
    """The probability of each ordered pair for its person of the block, given what is told: the fits' mean of Σ_k θ_k β_(w),k."""
    total = np.zeros(len(pair))
    for view in fits:
        theta, _ = fold_in(block, view, told, max_iter=_STEPS, tol=_TOL)
        total += np.einsum("nk,nk->n", theta[person], view.beta[pair])
    return total / len(fits)


def split_block(block: Block, given: float, split: Split, key: np.uint64) -> tuple[Array, Array]:
    """How much of each row's weight is told, and how much is asked."""
    if split == "comparisons":
        told = _deal_comparisons(block.starts, block.weight, given, block.first_user, key)
        return told, block.weight - told
    side = _deal_items(block.starts, block.pair, block.n_items, given, block.first_user, key)
    return block.weight * (side == 1), block.weight * (side == 0)


@nb.njit(cache=True, nogil=True)
def _wanted(n, given, key, user):
    """So many as n · given, rounded up or down at random so that it is right on average."""
    coin, _ = uniforms(key, _STEP, user, 0, 1)
    return int(np.floor(n * given + coin))


@nb.njit(cache=True, nogil=True)
def _deal_comparisons(starts, weight, given, first_user, key):
    told = np.zeros(len(weight))
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        n = tokens(weight[rows])
        take(
            weight[rows],
            n,
            _wanted(n, given, key, first_user + m),
            told[rows],
            key,
            _STEP,
            first_user + m,
        )
    return told


@nb.njit(cache=True, nogil=True)
def _deal_items(starts, pair, n_items, given, first_user, key):
    """Of each row: 1 if both items are given, 0 if neither is, −1 if one is. A person's items are dealt in their order."""
    side = np.full(len(pair), -1, np.int8)
    seen, is_given = np.full(n_items, -1, np.int64), np.zeros(n_items, np.bool_)
    for m in range(len(starts) - 1):
        left = 0
        for row in range(starts[m], starts[m + 1]):
            for item in (pair[row] // n_items, pair[row] % n_items):
                left += seen[item] != m
                seen[item] = m
        wanted = _wanted(left, given, key, first_user + m)
        for item in range(n_items):
            if seen[item] == m:
                u, _ = uniforms(key, _STEP, first_user + m, item, 2)
                is_given[item] = u * left < wanted
                wanted -= is_given[item]
                left -= 1
        for row in range(starts[m], starts[m + 1]):
            i, j = is_given[pair[row] // n_items], is_given[pair[row] % n_items]
            if i == j:
                side[row] = i
    return side
