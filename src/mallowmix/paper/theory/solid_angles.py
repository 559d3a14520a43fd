"""Normalised solid angles: the probability that a point is the most extreme in a random direction.

q_i = Pr(⟨x_i, d⟩ > ⟨x_j, d⟩ for all j ≠ i) with d isotropic. It is positive exactly at the corners
of the convex hull, sums to one, and is how the paper measures whether a row of E is a corner.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mallowmix.errors import DataError, check_at_least
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_DIRECTIONS_AT_ONCE = 4096


class SolidAngles(NamedTuple):
    """Solid angles of n points.

    Parameters
    ----------
    q : (n,) array of float
        The solid angles.
    standard_error : (n,) array of float
        Their Monte-Carlo standard errors, 0 where they are exact.
    """

    q: Array
    standard_error: Array


def solid_angles(points: ArrayLike, *, n_directions: int = 100_000, seed: int = 0) -> SolidAngles:
    """Estimate solid angles from random directions.

    A direction's part outside the points' affine hull moves all of them alike, so directions are
    drawn inside it: K points in any number of dimensions need K − 1 coordinates.

    Parameters
    ----------
    points : (n, dimensions) array of float
        The points; of equal ones the first takes all.
    n_directions : int
        The number of directions.
    seed : int
        Of the directions.

    Returns
    -------
    SolidAngles
        The estimates and their standard errors.

    Examples
    --------
    >>> solid_angles([[0.0], [1.0], [3.0]], n_directions=1000).q.round(1).tolist()
    [0.5, 0.0, 0.5]
    """
    check_at_least("n_directions", n_directions, 1)
    coordinates = hull_coordinates(points)
    wins = np.zeros(len(coordinates))
    for start in range(0, n_directions, _DIRECTIONS_AT_ONCE):
        size = (min(_DIRECTIONS_AT_ONCE, n_directions - start), coordinates.shape[1])
        random = generator(seed, Step.SOLID_ANGLES, start // _DIRECTIONS_AT_ONCE)
        d = random.standard_normal(size)
        wins += np.bincount((d @ coordinates.T).argmax(axis=1), minlength=len(wins))
    q = wins / n_directions
    return SolidAngles(q, np.sqrt(q * (1 - q) / n_directions))


def hull_coordinates(points: ArrayLike) -> Array:
    """The points in an orthonormal basis of their affine hull; distances and angles are kept.

    Parameters
    ----------
    points : (n, dimensions) array of float
        The points.

    Returns
    -------
    (n, rank) array of float
        Their coordinates.
    """
    points = _as_points(points)
    U, S, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    rank = int(np.count_nonzero(S / S[0] > 1e-12)) if S[0] > 0 else 0
    return U[:, :rank] * S[:rank]


def triangle_solid_angles(points: ArrayLike) -> Array:
    """Exact solid angles of three points.

    Parameters
    ----------
    points : (3, dimensions) array of float
        The corners, no two equal.

    Returns
    -------
    (3,) array of float
        (π − interior angle) / 2π at each corner.

    Examples
    --------
    >>> triangle_solid_angles([[0, 0], [1, 0], [0, 1]]).tolist()
    [0.25, 0.375, 0.375]
    """
    points = _as_points(points)
    if len(points) != 3:
        raise DataError(f"A triangle has three corners; got {len(points)} points.")
    to_next, to_previous = np.roll(points, -1, axis=0) - points, np.roll(points, 1, axis=0) - points
    lengths = np.linalg.norm(to_next, axis=1) * np.linalg.norm(to_previous, axis=1)
    if not lengths.all():
        raise DataError("Two of the triangle's corners are the same point, so it has no angles.")
    interior = np.arccos(np.clip(np.sum(to_next * to_previous, axis=1) / lengths, -1, 1))
    return (np.pi - interior) / (2 * np.pi)


def corner_solid_angles(
    points: ArrayLike, *, n_directions: int = 100_000, seed: int = 0
) -> SolidAngles:
    """Solid angles of a few distinct points, exact for up to three, sampled for more.

    Parameters
    ----------
    points : (n, dimensions) array of float
        The points.
    n_directions, seed : int
        Of the directions, where they are sampled.

    Returns
    -------
    SolidAngles
        The solid angles: 1 for one point, ½ each for two.
    """
    points = _as_points(points)
    if len(points) > 3:
        return solid_angles(points, n_directions=n_directions, seed=seed)
    q = triangle_solid_angles(points) if len(points) == 3 else np.full(len(points), 1 / len(points))
    return SolidAngles(q, np.zeros(len(points)))


def _as_points(points: ArrayLike) -> Array:
    array = np.asarray(points, np.float64)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise DataError(
            f"points must be a matrix of finite numbers, one point a row; got shape {array.shape}."
        )
    return array
