"""The number of components: eigenvalues of the signed moment above the edge of its noise."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine
from mallowmix.learn.spectral.ranking_null import one_ranking_scores, redraw_rankings
from mallowmix.learn.spectral.signed_moment import SignedMoment, count_pairs, leading_subspace
from mallowmix.learn.spectral.subspace import PairStatistics, Subspace, pair_statistics
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array

_MARGIN = 1.03  # the edge is at least this much above the noise
_MANY = 1000  # with more pairs than this one draw of the noise tells as much as two
_FEW = 10  # with fewer pairs than this there is no bulk of noise to measure the edge's width by
# the first and fourth largest eigenvalues of noise lie 4.7 Tracy–Widom units apart
_TOP, _SPREAD = (4, 4.7)
_UNITS = 5.0  # four standard deviations of the largest: passed by chance about once in 3,000


class ComponentCount(NamedTuple):
    """K = 1 + the number of eigenvalues above the edge."""

    n_components: int
    values: NDArray[np.float64]
    edge: float
    subspace: Subspace


def noise_edge(
    blocks: list[Block], pairs: PairStatistics, engine: Engine, *, seed: int = 0
) -> float:
    """The largest eigenvalue that users who share no components would have.

    Every token's sign is drawn at random, more than once unless there are very many pairs. For
    equally active users and even pairs the largest eigenvalue of noise is near the
    Marchenko–Pastur edge ((1 + √(P/M))² − 1) / (n − 1); drawing signs holds for unequal ones too.
    Where comparisons come from rankings, those of one ranking depend on each other without any
    components: then every ranking is drawn anew, from one model for all
    (`learn.spectral.ranking_null`). A margin for its own spread is added.

    Parameters
    ----------
    blocks : list of Block
        The users.
    pairs : PairStatistics
        Of the same data.
    engine : Engine
        Where the passes run.
    seed : int
        Of the signs.
    """
    few, many = len(pairs.share) < _FEW, len(pairs.share) > _MANY
    ranked = any(block.ranking_id is not None for block in blocks)
    scores = one_ranking_scores(blocks, engine) if ranked else None
    spectra = np.array(
        [
            _null_spectrum(blocks, pairs, scores, engine, seed, draw)
            for draw in range(8 if few else 1 if many else 2)
        ]
    )
    top = float(np.mean(spectra[:, 0]))
    unit = (
        np.std(spectra[:, 0], ddof=1) / 1.27
        if few
        else np.mean(spectra[:, 0] - spectra[:, _TOP - 1]) / _SPREAD
    )
    return max(_MARGIN * top, top + _UNITS * float(unit), 1e-300)


def _null_spectrum(
    blocks: list[Block],
    pairs: PairStatistics,
    scores: Array | None,
    engine: Engine,
    seed: int,
    draw: int,
) -> Array:
    key = child_seed(seed, Step.NULL_SPECTRUM, draw)
    if scores is None:
        A = SignedMoment(blocks, pairs, engine, null_key=key)
    else:
        drawn = redraw_rankings(blocks, scores, key)
        own = pair_statistics(count_pairs(drawn, engine), blocks[0].n_items)
        A = SignedMoment(drawn, own, engine)
    return leading_subspace(A, min(_TOP, len(pairs.share)), max_passes=7, seed=seed).values


def count_components(
    blocks: list[Block], pairs: PairStatistics, engine: Engine, *, most: int = 32, seed: int = 0
) -> ComponentCount:
    """Count the eigenvalues above the noise edge.

    Parameters
    ----------
    blocks : list of Block
        The users.
    pairs : PairStatistics
        Of the same data.
    engine : Engine
        Where the passes run.
    most : int
        How many eigenvalues are computed.
    seed : int
        Of the null model, and of the subspace iteration.
    """
    edge = noise_edge(blocks, pairs, engine, seed=seed)
    A = SignedMoment(blocks, pairs, engine)
    subspace = leading_subspace(A, min(most, len(pairs.share)), max_passes=8, tol=1e-3, seed=seed)
    return ComponentCount(
        1 + int(np.count_nonzero(subspace.values[:most] > edge)),
        subspace.values[:most],
        edge,
        subspace,
    )
