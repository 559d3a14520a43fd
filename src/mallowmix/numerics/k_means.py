"""K-means of weighted points: Lloyd's steps from k-means++, the best of a few runs.

The steps and the random numbers are those of scikit-learn's `KMeans`, whose import takes a second.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array

_MOST_STEPS = 300
_TOLERANCE = 1e-4  # of the points' mean variance: smaller moves of all centres together end a run
_LEAST_GAIN = 1e-9  # of the inertia: below it, two runs found the same clusters


def k_means(
    points: Array, weight: Array, n_clusters: int, *, seed: int, n_runs: int = 3
) -> NDArray[np.int64]:
    """Find the cluster of each point.

    Parameters
    ----------
    points : (M, r) array
        Where they lie.
    weight : (M,) array
        How much each counts, at least one above 0.
    n_clusters : int
        At most M; of points that coincide, some clusters stay empty.
    seed : int
        Below 2**32.
    n_runs : int
        From how many initial centres.

    Returns
    -------
    (M,) array of int64
        The clustering of the least inertia, the weighted sum of squares to the centres.
    """
    random = np.random.RandomState(seed)
    X = points - points.mean(axis=0)
    enough, size = _TOLERANCE * float(X.var(axis=0).mean()), np.sum(X**2, axis=1)
    best, least = np.zeros(len(X), np.int64), np.inf
    for _ in range(n_runs):
        first = _initial_centres(X, size, weight, n_clusters, random)
        label, centres = _lloyd(X, weight, first, enough)
        inertia = float(weight @ np.sum((X - centres[label]) ** 2, axis=1))
        if inertia < least * (1 - _LEAST_GAIN):
            best, least = label, inertia
    return best


def _initial_centres(
    X: Array, size: Array, weight: Array, n_clusters: int, random: np.random.RandomState
) -> Array:
    """K-means++: of a few points drawn by their squared distance, the one that leaves the least."""
    n_tries = 2 + int(np.log(n_clusters))
    centres = [random.choice(len(X), p=weight / weight.sum())]
    nearest = _squares(X, size, X[centres])[:, 0]
    for _ in range(1, n_clusters):
        total = random.uniform(size=n_tries) * float(nearest @ weight)
        drawn = np.searchsorted(np.cumsum(weight * nearest), total).clip(max=len(X) - 1)
        distance = np.minimum(nearest[:, None], _squares(X, size, X[drawn]))
        best = int(np.argmin(weight @ distance))
        nearest = distance[:, best]
        centres.append(drawn[best])
    return X[centres]


def _squares(X: Array, size: Array, Y: Array) -> Array:
    """(M, n) squared distances, `size` being ‖x‖²."""
    distance = X @ (-2 * Y.T)
    distance += size[:, None]
    distance += np.sum(Y**2, axis=1)
    return np.maximum(distance, 0, out=distance)


def _lloyd(
    X: Array, weight: Array, centres: Array, enough: float
) -> tuple[NDArray[np.int64], Array]:
    """Labels and centres, in turns, until no label changes or the centres hardly move."""
    label, moments = np.full(len(X), -1), np.ascontiguousarray((weight[:, None] * X).T)
    for _ in range(_MOST_STEPS):
        before, label = label, _nearest(X, centres)
        old, centres = centres, _means(X, weight, moments, label, centres)
        if np.array_equal(label, before):
            return label, centres
        if np.sum((centres - old) ** 2) <= enough:
            break
    return _nearest(X, centres), centres


def _nearest(X: Array, centres: Array) -> NDArray[np.int64]:
    distance = X @ (-2 * centres.T)  # without ‖x‖², which all centres have alike
    distance += np.sum(centres**2, axis=1)
    return np.argmin(distance, axis=1)


def _means(
    X: Array, weight: Array, moments: Array, label: NDArray[np.int64], centres: Array
) -> Array:
    """(n, r) the clusters' means; an empty one takes the point farthest from its own centre."""
    n = len(centres)
    mass = np.bincount(label, weight, n)
    sums = np.column_stack([np.bincount(label, x, n) for x in moments])
    empty = np.flatnonzero(mass == 0)
    if len(empty):
        distance = np.sum((X - centres[label]) ** 2, axis=1)
        far = np.argpartition(distance, -len(empty))[: -len(empty) - 1 : -1]
        if distance.max() > 0:
            for cluster, point in zip(empty, far, strict=True):
                share, own = weight[point] * X[point], label[point]
                sums[own] -= share
                mass[own] -= weight[point]
                sums[cluster], mass[cluster] = share, weight[point]
    return np.where(mass[:, None] > 0, sums / np.where(mass > 0, mass, 1)[:, None], sums)
