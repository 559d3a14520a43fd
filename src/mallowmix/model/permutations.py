"""Rankings: positions and orders, Kendall's distance, matching of components.

Two words, never a third: `sigma[k, i]` is the **position** of item i (0 is best), `order[k, r]`
is the **item** at position r.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError


def as_permutations(rankings: ArrayLike, name: str = "sigma") -> NDArray[np.int32]:
    """Rankings as int32; a DataError unless every row is a permutation of 0 … Q−1."""
    try:
        array = np.asarray(rankings, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{name} must hold permutations of 0 … Q-1, one a row; "
            "got rows of unequal length, or no numbers."
        ) from None
    if (
        array.ndim == 0
        or array.size == 0
        or not np.all(np.sort(array, axis=-1) == np.arange(array.shape[-1]))
    ):
        raise DataError(
            f"{name} must hold permutations of 0 … Q-1, one a row; "
            f"an array of shape {array.shape} does not."
        )
    return array.astype(np.int32)


def order_of(sigma: ArrayLike) -> NDArray[np.int32]:
    """The items by position, σ⁻¹; being an inverse, it also turns orders into positions."""
    return np.argsort(np.asarray(sigma), axis=-1, kind="stable").astype(np.int32)


sigma_of = order_of


def discordant_pairs(sigma: ArrayLike, other: ArrayLike) -> int:
    """Kendall's distance: the number of unordered pairs in different order in two rankings."""
    a, b = as_permutations(sigma), as_permutations(other, "other")
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(
            "Two single rankings of the same items are needed; "
            f"got the shapes {a.shape} and {b.shape}."
        )
    return _discordant(_above(a), _above(b))


def _above(sigma: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(Q, Q) which items are above which."""
    return sigma[:, None] < sigma[None, :]


def _discordant(above_a: NDArray[np.bool_], above_b: NDArray[np.bool_]) -> int:
    """How many pairs: each is once above in the first and not in the other."""
    return int(np.count_nonzero(above_a > above_b))


def kendall(sigma: ArrayLike, other: ArrayLike) -> float:
    """Kendall's distance of two rankings as the **fraction** of unordered pairs in different order.

    Parameters
    ----------
    sigma, other : (Q,) arrays of int
        Positions of the items in either ranking.

    Returns
    -------
    float
        0 for the same ranking, 1 for its reverse, ½ on average for random ones.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.kendall([0, 1, 2], [0, 2, 1]), mm.kendall([0, 1, 2], [2, 1, 0])
    (0.3333333333333333, 1.0)
    """
    discordant, n_items = discordant_pairs(sigma, other), np.size(sigma)
    return discordant / max(1, n_items * (n_items - 1) // 2)


class Matching(NamedTuple):
    """Which estimated component is matched to which true one.

    Attributes
    ----------
    found, truth : (n,) arrays of int
        Component found[n] of the estimate is matched to truth[n], ascending.
    kendall : (n,) array of float
        The fraction of discordant pairs of each matched couple.
    unmatched_found, unmatched_truth : lists of int
        Components without a match, where the numbers of components differ.
    """

    found: NDArray[np.intp]
    truth: NDArray[np.intp]
    kendall: NDArray[np.float64]
    unmatched_found: list[int]
    unmatched_truth: list[int]


def match_components(found: ArrayLike, truth: ArrayLike) -> Matching:
    """Match two sets of rankings so that the total Kendall distance is least, as in the paper.

    Parameters
    ----------
    found, truth : (K, Q) arrays of int
        Positions, one row a component; the numbers of rows may differ.

    Returns
    -------
    Matching

    Examples
    --------
    >>> import mallowmix as mm
    >>> match = mm.match_components([[2, 1, 0], [0, 1, 2]], [[0, 1, 2], [2, 1, 0]])
    >>> match.found.tolist(), match.kendall.tolist()
    ([1, 0], [0.0, 0.0])
    """
    found, truth = (
        np.atleast_2d(as_permutations(found, "found")),
        np.atleast_2d(as_permutations(truth, "truth")),
    )
    if found.shape[-1] != truth.shape[-1]:
        raise DataError(
            f"The rankings have {found.shape[-1]} and {truth.shape[-1]} items; "
            "they must be of the same items."
        )
    n_pairs, above = max(1, found.shape[1] * (found.shape[1] - 1) // 2), [_above(b) for b in truth]
    cost = np.array([[_discordant(_above(a), b) for b in above] for a in found]) / n_pairs
    from scipy.optimize import linear_sum_assignment  # here, as SciPy is slow to import

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
