"""Positions among many users: bootstraps of a few small samples, scaled to all users.

A sample of b users is bootstrapped as if there were no others, and an item's move from its median
position there, times √(b/n), is its move among all n, rounded away from 0 (the b-out-of-n bootstrap
of Bickel, Götze and van Zwet 1997, over several samples as in the bag of little bootstraps of
Kleiner, Talwalkar, Sarkar and Jordan 2014). The bag would weigh b users so that they count for n;
but positions are not smooth. Of two neighbours whose order b users do not determine, each sample
would then be certain, one of one order and one of the other. Rounded moves err on the safe side:
what a sample leaves open stays open by at least one position.
"""

from collections.abc import Sequence

import numpy as np

from mallowmix.assess.intervals.replicates import (
    Start,
    counter,
    many,
    replicate_rankings,
    replicate_start,
)
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import Block, Engine, Shard, ThreadEngine, make_shards, map_step
from mallowmix.engine.blocks import StoredBlock
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.learn.spectral.user_sample import (
    ENOUGH,
    joined_ids,
    people,
    sample_users,
    sampled_share,
)
from mallowmix.learn.spectral.user_scores import Smooth
from mallowmix.model.fitted_model import AnyModel
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Positions, Progress

_SAMPLE, _WEIGHTS = Step.SUBSETS, Step.SUBSET_WEIGHTS
# users up to whom all are bootstrapped: 200 replicates take some minutes, and weights 32 MB
MOST = 20_000
SUBSETS = 5  # samples: together they hold at most as many comparisons as `fit` keeps of large data
PEOPLE = 10_000  # of a sample
LEAST = 1_000  # people of a sample, however many comparisons each of them made
# comparisons of a sample of fewer people: from four times as many on, with as many people, samples
# give what a bootstrap of all of them would, in a fifth of the time, and wider by rounding alone
FEWEST = 50_000


def is_large(comparisons: Comparisons | StoredComparisons) -> bool:
    """Whether samples of the users are bootstrapped, not all of them: by two numbers alone."""
    n_users, n_comparisons = comparisons.n_users, comparisons.n_comparisons
    return 4 * subset_share(n_users, n_comparisons) <= 1 or _too_many(n_users, n_comparisons)


def _too_many(n_users: int, n_comparisons: float) -> bool:
    """Whether there are too many users or comparisons to keep in memory."""
    many_rows = sampled_share(n_comparisons) < 1
    return n_users > MOST or (many_rows and n_users > LEAST)


def subset_share(n_users: int, n_comparisons: float) -> float:
    """The fraction of the users that a sample holds."""
    if _too_many(n_users, n_comparisons):
        by_size = min(PEOPLE / n_users, ENOUGH / SUBSETS / n_comparisons)
    else:
        by_size = FEWEST / n_comparisons
    return min(1.0, max(by_size, LEAST / n_users))


def draw_subsets(
    comparisons: Comparisons | StoredComparisons,
    blocks: Sequence[Block | StoredBlock],
    engine: Engine,
    *,
    seed: int,
) -> list[Comparisons]:
    """Draw samples of users without replacement, all samples in one pass.

    Parameters
    ----------
    comparisons : Comparisons or stored comparisons
    blocks : list of Block
        All users.
    engine : Engine
    seed : int
        Who is in a sample depends on it alone.

    Returns
    -------
    list of Comparisons
    """
    share = subset_share(comparisons.n_users, comparisons.n_comparisons)
    seeds = [int(generator(seed, _SAMPLE, j).integers(2**63)) for j in range(SUBSETS)]
    parts = engine.map(_draw, make_shards(blocks), (share, seeds))
    return [
        comparisons_of_blocks([block for part in parts for block in part[j]], comparisons.items)
        for j in range(SUBSETS)
    ]


@map_step("draw subsets of users")
def _draw(shard: Shard, broadcast: tuple[float, list[int]]) -> list[list[Block]]:
    """For each sample the shard's users in it, block by block; a block is read once."""
    share, seeds = broadcast
    drawn = [
        [sample_users(block, share, seed) for seed in seeds]
        for block in (block.load() for block in shard.blocks)
    ]
    return [list(blocks) for blocks in zip(*drawn, strict=True)]


def comparisons_of_blocks(
    blocks: list[Block], items: Labels, users: Labels | None = None
) -> Comparisons:
    """The users of consecutive blocks as comparisons in memory; numbered if they have no names."""
    first = np.cumsum([0, *(block.n_users for block in blocks)])
    user = np.concatenate(
        [start + people(block) for start, block in zip(first[:-1], blocks, strict=True)]
    )
    winner, loser = np.divmod(np.concatenate([block.pair for block in blocks]), len(items))
    weight, counts = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("weight", "user_weight")
    )
    names = np.arange(first[-1]) if users is None else users
    ids = joined_ids(blocks)
    return Comparisons.from_codes(user, winner, loser, weight, items, names, counts, ranking_id=ids)


def draw_positions(
    model: AnyModel,
    smooth: Smooth,
    subsets: list[Comparisons],
    n_users: int,
    n_replicates: int,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Positions:
    """Bootstrap positions around the model's, equally many from each sample.

    Parameters
    ----------
    model : AnyModel
    smooth : Smooth
        φ and α of all users.
    subsets : list of Comparisons
        Samples of users (`draw_subsets`).
    n_users : int
        Of all.
    n_replicates : int
    seed : int
    n_jobs : int
    progress : callable, optional

    Returns
    -------
    ndarray of int, shape (R, K, Q)
        Those of one draw need not be a ranking.
    """
    advance, draws = counter(progress, n_replicates), []
    for j, subset in enumerate(subsets):
        start = replicate_start(model, subset, ThreadEngine(n_jobs), seed=seed)

        def one(r: int, start: Start = start, b: int = subset.n_users) -> Positions:
            u = generator(seed, _WEIGHTS, r).standard_exponential(b)
            return replicate_rankings(start, smooth, u, seed=seed, draw=r)

        found = np.array(many(one, range(j, n_replicates, len(subsets)), n_jobs, advance))
        draws.append(around(model.sigma, found, np.sqrt(subset.n_users / n_users)))
    return np.concatenate(draws)


def around(sigma: Positions, draws: Positions, scale: float) -> Positions:
    """σ̂ + ⌈√(b/n) · move⌉ away from 0, moves being from the median of the draws (R, K, Q)."""
    move = draws - np.quantile(draws, 0.5, axis=0, method="inverted_cdf")
    scaled = np.sign(move) * np.ceil(np.abs(move) * scale - 1e-9)
    return np.clip(sigma + scaled, 0, sigma.shape[1] - 1).astype(np.int32)
