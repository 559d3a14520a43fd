"""Vertex hunters: K corners of a cloud of rows in K − 1 dimensions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mallowmix.randomness import generator

Array = NDArray[np.float64]
_SMOOTH = 15  # rows averaged into one vertex; fewer where there are few rows
_STEP = 33


def smoothed_spa(rows: Array, K: int, seed: int = 0) -> Array:
    """(K, K−1) by successive projection: the row furthest from the span of the corners so far gives the next direction, and the
    mean of the 15 rows furthest along it the next corner.
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
    """Solid angles by 150 K random directions: take the rows that win most, each outside a ball around those before, and average
    every ball's winners. The ball shrinks until there are K. (K, K−1).
    """
    directions = generator(seed, _STEP).standard_normal((rows.shape[1], 150 * K))
    wins = np.bincount(np.argmax(rows @ directions, axis=0), minlength=len(rows))
    winners = np.argsort(-wins, kind="stable")[: np.count_nonzero(wins)]
    radius = 0.5 * float(np.max(np.linalg.norm(rows[winners] - rows[winners[0]], axis=1)))
    while True:
        free, vertices = winners, []
        while len(free) and len(vertices) < K:
            near = np.linalg.norm(rows[free] - rows[free[0]], axis=1) <= radius
            ball = free[near]
            vertices.append(np.average(rows[ball], axis=0, weights=wins[ball]))
            free = free[~near]
        if len(vertices) == K:
            return np.array(vertices)
        if radius < 1e-9:  # fewer than K rows win anywhere: fall back on the projections that need no wins
            return smoothed_spa(rows, K)
        radius *= 0.8


HUNTERS: dict[str, Callable[[Array, int, int], Array]] = {"spa": smoothed_spa, "projections": projected_corners}
