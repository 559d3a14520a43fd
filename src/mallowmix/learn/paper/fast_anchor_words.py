"""FastAnchorWords (Arora et al., ICML 2013): corners as the rows furthest from those found so far.

A greedy search, then one pass in which each corner is replaced by the row furthest from the affine
span of the others. On ordered pairs, the rows are those of Q̄ = E diag(p), each summing to one: how
likely every other choice is beside this one.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.learn.paper.pair_moments import Moments
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_STEP = Step.ANCHOR_WORDS
_WIDTH = 300  # coordinates that rows are projected to at random, where they have more


def furthest_rows(points: Array, K: int) -> NDArray[np.int64]:
    """Rows that are far apart, found greedily.

    The first is furthest from 0, the second furthest from the first, then each is furthest from the
    affine span of those before; a second pass chooses every corner anew, given the others.

    Parameters
    ----------
    points : (n, d) array
        The rows.
    K : int
        How many.

    Returns
    -------
    (K,) array of int
        Their indices.
    """
    chosen = [int(np.argmax(np.einsum("ij,ij->i", points, points)))]
    while len(chosen) < K:
        chosen.append(_furthest(points, chosen))
    for k in range(K if K > 1 else 0):
        chosen[k] = _furthest(points, chosen[:k] + chosen[k + 1 :])
    return np.array(chosen, np.int64)


def _furthest(points: Array, chosen: list[int]) -> int:
    """The row furthest from the affine span of the chosen ones."""
    rest = points - points[chosen[0]]
    directions = rest[chosen[1:]]
    if len(directions):
        _, size, axes = np.linalg.svd(directions, full_matrices=False)
        axes = axes[size > 1e-9 * max(float(size.max()), 1e-300)]
        rest = rest - (rest @ axes.T) @ axes
    return int(np.argmax(np.einsum("ij,ij->i", rest, rest)))


def fast_anchor_words(rows: Array, K: int, seed: int = 0) -> Array:
    """(K, K−1) corners of a cloud, each a row of it: not smoothed, so noise moves them outwards."""
    return rows[furthest_rows(rows, K)]


def anchor_pairs(
    E: Moments, candidates: NDArray[np.int64], K: int, *, seed: int = 0
) -> NDArray[np.int64]:
    """Novel pairs by FastAnchorWords on the candidate rows of Q̄.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    candidates : (n,) array of int
        Codes of the pairs to choose from.
    K : int
        How many.
    seed : int
        Rows with more than 300 coordinates are projected to 300 random ones.

    Returns
    -------
    (K,) array of int
        Codes of ordered pairs.
    """
    W = len(E.counts)
    p = (E.counts / E.counts.sum())[:, None]
    D = (
        np.eye(W)
        if W <= _WIDTH
        else generator(seed, _STEP).standard_normal((W, _WIDTH)) / np.sqrt(_WIDTH)
    )
    return candidates[furthest_rows(E.apply(p * D)[candidates], K)]
