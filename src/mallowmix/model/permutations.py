"""Rankings: positions and orders, Kendall's distance, matching of components.

Two words, never a third: `sigma[k, i]` is the **position** of item i (0 is best), `order[k, r]` is the **item** in position r.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from mallowmix.errors import DataError


def as_permutations(rankings: ArrayLike, name: str = "sigma") -> NDArray[np.int32]:
    """Check that every row is a permutation of 0 … Q−1 and give it back as int32."""
    try:
        array = np.asarray(rankings, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{name} must hold permutations of 0 … Q-1, one a row; got rows of unequal length, or no numbers."
        ) from None
    if (
        array.ndim == 0
        or array.size == 0
        or not np.all(np.sort(array, axis=-1) == np.arange(array.shape[-1]))
    ):
        raise DataError(
            f"{name} must hold permutations of 0 … Q-1, one a row; an array of shape {array.shape} does not."
        )
    return array.astype(np.int32)


def order_of(sigma: ArrayLike) -> NDArray[np.int32]:
    """The items by position, σ⁻¹; being an inverse, it also turns orders into positions."""
    return np.argsort(np.asarray(sigma), axis=-1, kind="stable").astype(np.int32)


sigma_of = order_of


def discordant_pairs(sigma: ArrayLike, other: ArrayLike) -> int:
    """Kendall's distance: the number of unordered pairs that the two rankings put in different order."""
    a, b = np.asarray(sigma), np.asarray(other)
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(
            f"Two single rankings of the same items are needed; got the shapes {a.shape} and {b.shape}."
        )
    above_a, above_b = a[:, None] < a[None, :], b[:, None] < b[None, :]
    # (i above j) in a, not in b: once for each discordant pair
    return int(np.count_nonzero(above_a & ~above_b))


def kendall(sigma: ArrayLike, other: ArrayLike) -> float:
    """The **fraction** of unordered pairs in different order: 0 the same ranking, 1 its reverse, ½ on average at random."""
    n_items = len(np.asarray(sigma))
    return discordant_pairs(sigma, other) / max(1, n_items * (n_items - 1) // 2)


class Matching(NamedTuple):
    """Which estimated component answers to which true one."""

    found: NDArray[np.intp]  # component numbers among the estimated, matched to …
    truth: NDArray[np.intp]  # … these among the true, ascending
    kendall: NDArray[np.float64]  # fraction of discordant pairs of each matched couple
    unmatched_found: list[int]
    unmatched_truth: list[int]


def match_components(found: ArrayLike, truth: ArrayLike) -> Matching:
    """Match two sets of rankings by the assignment with the least total distance (bipartite matching, as in the paper)."""
    found, truth = (
        np.atleast_2d(as_permutations(found, "found")),
        np.atleast_2d(as_permutations(truth, "truth")),
    )
    if found.shape[-1] != truth.shape[-1]:
        raise DataError(
            f"The rankings have {found.shape[-1]} and {truth.shape[-1]} items; they must be of the same items."
        )
    cost = np.array([[kendall(a, b) for b in truth] for a in found])
    rows, columns = linear_sum_assignment(cost)
    by_truth = np.argsort(columns)
    rows, columns = rows[by_truth], columns[by_truth]
    return Matching(
        rows,
        columns,
        cost[rows, columns],
        sorted(set(range(len(found))) - set(rows.tolist())),
        sorted(set(range(len(truth))) - set(columns.tolist())),
    )
