"""Position bias: how often the left one of two equally good items wins.

The log-odds that left wins are b + s_left − s_right (Bradley–Terry with one number for the side),
so that better items on one side are not taken for bias. b's standard error is a sandwich over
users: choices of one user are not independent.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, ndtri, stdtrit

from mallowmix.readers.reading import Reading, Sides

# beyond this the information matrix is too large, and sides are taken to be random
_MOST_ITEMS = 1000
_RIDGE = 1e-3  # holds scores of items that always or never win
_STEPS = 30
_LEVEL = 0.975  # both ends of an interval leave out 2.5 %


@dataclass(frozen=True)
class PositionBias:
    """How often the left one of two equally good items wins.

    Attributes
    ----------
    left_wins, low, high : float
        The estimate and its 95 % interval.
    share_left : float
        The plain fraction of left wins.
    n_battles : float
        Comparisons whose sides are known.
    """

    left_wins: float
    low: float
    high: float
    share_left: float
    n_battles: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves one half out."""
        return not self.low <= 0.5 <= self.high


def position_bias(reading: Reading) -> PositionBias | None:
    """Estimate the bias in what was read; None where sides are not known."""
    sides = reading.sides
    if sides is None or not len(sides.user):
        return None
    n_items = reading.comparisons.n_items if reading.comparisons.n_items <= _MOST_ITEMS else 0
    b, reach = _fitted(sides, n_items, reading.comparisons.n_users)
    share = float(sides.weight @ sides.left_won / sides.weight.sum())
    low, estimate, high = expit([b - reach, b, b + reach])
    return PositionBias(float(estimate), float(low), float(high), share, float(sides.weight.sum()))


def side_correction(reading: Reading) -> NDArray[np.float64] | None:
    """How much each item's win rate changes when the side is taken into account.

    Parameters
    ----------
    reading : Reading
        Comparisons with their sides.

    Returns
    -------
    (Q,) array or None
        Win rates by the scores s of the model with b, minus those of the model without it; None
        where sides are not known.
    """
    sides, Q = reading.sides, reading.comparisons.n_items
    if sides is None or not len(sides.user) or Q > _MOST_ITEMS:
        return None
    X, ridge = _design(sides, Q), _ridges(Q)
    with_side, without = _best(X, sides, ridge)[1:], _best(X[:, 1:], sides, ridge[1:])
    return _win_rates(with_side) - _win_rates(without)


def _win_rates(scores: NDArray[Any]) -> NDArray[np.float64]:
    table = 1 / (1 + np.exp(scores[None] - scores[:, None]))
    return (table.sum(axis=1) - 0.5) / max(len(scores) - 1, 1)


def _fitted(sides: Sides, n_items: int, n_users: int) -> tuple[float, float]:
    """B and how far its interval reaches to either side."""
    X, ridge = _design(sides, n_items), _ridges(n_items)
    beta = _best(X, sides, ridge)
    residual, information = _moments(X, beta, sides, ridge)
    return float(beta[0]), _reach(X, residual, information, sides, n_users)


def _ridges(n_items: int) -> NDArray[np.float64]:
    return np.r_[1e-9, np.full(n_items, _RIDGE)]


def _best(X: csr_array, sides: Sides, ridge: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients, by Newton's method."""
    beta = np.zeros(len(ridge))
    for _ in range(_STEPS):
        residual, information = _moments(X, beta, sides, ridge)
        step = np.linalg.solve(information, X.T @ residual - ridge * beta)
        beta += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    return beta


def _design(sides: Sides, n_items: int) -> csr_array:
    """A column of ones, then +1 for the item on the left and −1 for the one on the right."""
    n = len(sides.user)
    rows = np.arange(n)
    if not n_items:
        return csr_array(np.ones((n, 1)))
    values = np.r_[np.ones(n), np.ones(n), -np.ones(n)]
    columns = np.r_[np.zeros(n, np.int64), sides.left + 1, sides.right + 1]
    return csr_array((values, (np.r_[rows, rows, rows], columns)), shape=(n, n_items + 1))


def _moments(
    X: csr_array, beta: NDArray[Any], sides: Sides, ridge: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weighted residuals y − p, and the information Xᵀ diag(w p (1 − p)) X + ridge."""
    p = 1 / (1 + np.exp(-np.clip(X @ beta, -30, 30)))
    information = (X.T @ (X * (sides.weight * p * (1 - p))[:, None])).toarray() + np.diag(ridge)
    return sides.weight * (sides.left_won - p), information


def _reach(
    X: csr_array, residual: NDArray[Any], information: NDArray[Any], sides: Sides, n_users: int
) -> float:
    """Half the interval's width: t₍G₋₁₎ √(G/(G−1) × the first entry of H⁻¹ (Σ_m u_m u_mᵀ) H⁻¹).

    u_m is the score of user m, G the number of users: of few, the sum alone is too small, and
    t widens it. The scores of a single user sum to 0, so theirs is the entry of H⁻¹, as if battles
    were independent.
    """
    one = np.zeros(len(information))
    one[0] = 1
    direction = np.linalg.solve(information, one)  # the first row of H⁻¹
    G = len(np.unique(sides.user))
    if G == 1:
        return float(ndtri(_LEVEL) * np.sqrt(direction[0]))
    by_user = np.bincount(sides.user, residual * (X @ direction), n_users)
    return float(stdtrit(G - 1, _LEVEL) * np.sqrt(G / (G - 1) * np.sum(by_user**2)))
