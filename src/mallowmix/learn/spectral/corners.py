"""Algorithms that find the K corners of a cloud of rows in K − 1 dimensions.

Each takes the cloud, an array (n, K−1), the number K and a seed, and returns an array (K, K−1).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mallowmix.learn.paper.ddp import ddp
from mallowmix.learn.paper.fast_anchor_words import fast_anchor_words
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_SMOOTH = 15  # rows averaged into one vertex; fewer where there are few rows
_STEP = Step.CORNERS


def smoothed_spa(rows: Array, K: int, seed: int = 0) -> Array:
    """Corners by successive projection, each the mean of several rows.

    The row furthest from the span of the corners so far gives the next direction, and the mean of
    the 15 rows furthest along it the next corner. Nothing is random.
    """
    smooth = min(_SMOOTH, max(1, len(rows) // (4 * K)))
    points = np.column_stack([rows, np.ones(len(rows))])
    rest = points.copy()
    vertices = np.empty((K, points.shape[1]))
    for k in range(K):
        direction = rest[np.argmax(np.einsum("ij,ij->i", rest, rest))]
        furthest = np.argsort(-(rest @ direction), kind="stable")[:smooth]
        vertices[k] = points[furthest].mean(axis=0)
        unit = rest[furthest].mean(axis=0)
        unit /= max(float(np.linalg.norm(unit)), 1e-300)
        rest -= np.outer(rest @ unit, unit)
    return vertices[:, :-1]


def projected_corners(rows: Array, K: int, seed: int = 0) -> Array:
    """Corners by solid angles: the rows furthest along most of 150 K random directions.

    Each lies outside a ball around those before, which shrinks until there are K; then the extreme
    rows near each corner are averaged.
    """
    directions = generator(seed, _STEP).standard_normal((rows.shape[1], 150 * K))
    wins = np.bincount(np.argmax(rows @ directions, axis=0), minlength=len(rows))
    winners = np.argsort(-wins, kind="stable")[: np.count_nonzero(wins)]
    radius = 0.5 * float(np.max(np.linalg.norm(rows[winners] - rows[winners[0]], axis=1)))
    while len(centres := _spread_out(rows, winners, K, radius)) < K:
        # fewer than K rows are extreme in any direction
        if radius < 1e-9:
            return smoothed_spa(rows, K)
        radius *= 0.8
    return _mean_winners(rows[winners], wins[winners], rows[centres])


def _spread_out(rows: Array, winners: NDArray[np.intp], K: int, radius: float) -> list[int]:
    """Up to K winners, best first, each further than `radius` from those before."""
    free, centres = winners, []
    while len(free) and len(centres) < K:
        centres.append(int(free[0]))
        free = free[np.linalg.norm(rows[free] - rows[free[0]], axis=1) > radius]
    return centres


def _mean_winners(rows: Array, wins: NDArray[np.intp], centres: Array) -> Array:
    """The mean of rows, weighted by wins, within half a centre's distance to the nearest other."""
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    reach = np.min(apart + np.diag(np.full(len(centres), np.inf)), axis=1) / 2
    near = np.linalg.norm(rows[:, None] - centres, axis=2) <= reach  # (winners, K)
    weight = near * wins[:, None]
    return weight.T @ rows / weight.sum(axis=0)[:, None]


CORNER_FINDERS: dict[str, Callable[[Array, int, int], Array]] = {
    "spa": smoothed_spa,
    "projections": projected_corners,
    "ddp": ddp,
    "fast-anchor-words": fast_anchor_words,
}
