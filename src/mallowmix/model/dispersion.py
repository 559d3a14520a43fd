"""Estimators of a dispersion φ: from counts by gap, from distances, from a table of β.

They differ in what they are given, not in what they estimate. Three grids are in use, each for
its reason:

- `BRACKETS`, coarse and down to 1e-12: brackets for a bounded search, exact to nine digits
  (`fit_phi`);
- `EM_GRID`, 198 points from .005 to .99: every M-step evaluates all of it, tabulated once
  (`phi_of_counts`);
- `TABLE_GRID`, 100 points: every point costs spline weights for all gaps
  (`learn.spectral.likelihood_tables`).
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.model.mallows import (
    MAX_PHI,
    expected_distance,
    gap_probabilities,
    log_gap_probabilities,
)
from mallowmix.model.permutations import order_of
from mallowmix.typing import Array

LEAST_PHI, MOST_PHI = 0.005, 0.99  # at φ = 0 or 1 an EM step could not move a ranking
BRACKETS = np.r_[np.geomspace(1e-12, 1e-3, 10), np.linspace(0.01, 0.99, 34), 0.999, MAX_PHI]
EM_GRID = np.r_[LEAST_PHI, np.linspace(0.01, MOST_PHI, 197)]
TABLE_GRID = np.r_[LEAST_PHI, np.linspace(0.01, MOST_PHI, 99)]
_TINY = 1e-300


def fit_phi(wins: ArrayLike, losses: ArrayLike) -> float:
    """Maximum likelihood of φ from counts by gap.

    Parameters
    ----------
    wins, losses : (Q,) arrays
        wins[g] counts how often the item g positions higher was preferred, losses[g] how often not.
    """
    won, lost = np.asarray(wins, np.float64), np.asarray(losses, np.float64)
    if not lost[1:].any():
        return 0.0 if won[1:].any() else MAX_PHI  # no counts: the order is unknown

    def cost(phi: float) -> float:
        log_win, log_lose = log_gap_probabilities(len(won), phi)
        return -float(won[1:] @ log_win[1:] + lost[1:] @ log_lose[1:])

    best = int(np.argmin([cost(phi) for phi in BRACKETS]))
    low, high = BRACKETS[max(0, best - 1)], BRACKETS[min(len(BRACKETS) - 1, best + 1)]
    options = {"xatol": 1e-9 * high}
    from scipy.optimize import minimize_scalar  # here, as SciPy is slow to import

    found: Any = minimize_scalar(cost, bounds=(low, high), method="bounded", options=options)
    return min(float(found.x), float(BRACKETS[best]), key=cost)


def phi_from_distance(n_items: int, mean_distance: float) -> float:
    """The φ with E d(σ, σ₀) = `mean_distance`: maximum likelihood of rankings around a known σ₀."""
    if mean_distance <= 0:
        return 0.0
    if mean_distance >= expected_distance(n_items, MAX_PHI):
        return MAX_PHI
    from scipy.optimize import brentq

    root: Any = brentq(
        lambda phi: expected_distance(n_items, phi) - mean_distance, 0.0, MAX_PHI, xtol=1e-15
    )
    return float(root)


def phi_of_counts(counts: Array, sigma: NDArray[np.int32], *, floor: float = 0.0) -> float:
    """The most likely φ for (Q, Q) counts of wins around σ, on `EM_GRID` and between its points.

    Parameters
    ----------
    counts : (Q, Q) array
        counts[i, j] is how often i was preferred to j; need not be whole.
    sigma : (Q,) array of int
        Positions.
    floor : float
        The least β (`model.least_beta`).
    """
    return phi_by_gap(wins_by_gap(counts, sigma), floor=floor)


def wins_by_gap(counts: Array, sigma: NDArray[np.int32]) -> Array:
    """(2Q − 1,) wins over items g positions below, g = −(Q−1) … Q−1.

    Parameters
    ----------
    counts : (Q, Q) array
        counts[i, j] is how often i was preferred to j.
    sigma : (Q,) array of int
        Positions.
    """
    Q = len(sigma)
    gap = (sigma[None, :] - sigma[:, None] + (Q - 1)).ravel()
    return np.asarray(np.bincount(gap, counts.ravel(), 2 * Q - 1), np.float64)


def phi_by_gap(by_gap: Array, *, floor: float = 0.0) -> float:
    """The same as `phi_of_counts`, from `wins_by_gap`.

    Parameters
    ----------
    by_gap : (2Q − 1,) array
        Wins by gap.
    floor : float
        The least β (`model.least_beta`).
    """
    Q = len(by_gap) // 2 + 1
    wins, losses = by_gap[Q - 1 :], by_gap[Q - 1 :: -1]
    log_win, log_lose = _log_beta_by_phi(Q, floor)
    return best_phi(EM_GRID, log_win[:, 1:] @ wins[1:] + log_lose[:, 1:] @ losses[1:])


@lru_cache(maxsize=8)
def _log_beta_by_phi(n_items: int, floor: float) -> tuple[Array, Array]:
    """(grid, Q) log β(g) and log(1 − β(g)) for every φ of `EM_GRID`."""
    tables = [gap_probabilities(n_items, phi) for phi in EM_GRID]
    win, lose = np.array([t.win for t in tables]), np.array([t.lose for t in tables])
    logs = np.log(np.minimum(win, 1 - floor)), np.log(np.maximum(lose, max(floor, _TINY)))
    for each in logs:
        each.setflags(write=False)  # kept for the next call
    return logs


def best_phi(grid: Array, value: Array) -> float:
    """The argmax of a curve given on a grid of φ, by a parabola through its three best points.

    For a flat curve, that of a component which no user follows, it is the largest φ.
    """
    best = int(np.argmax(value)) if value.max() > value.min() else len(grid) - 1
    if best in (0, len(grid) - 1):
        return float(grid[best])
    x, y = grid[best - 1 : best + 2], value[best - 1 : best + 2]
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    curve = (right - left) / (x[2] - x[0])
    if curve >= 0:
        return float(x[1])
    return float(np.clip((x[0] + x[1]) / 2 - left / (2 * curve), x[0], x[2]))


def phi_of_curve(beta: Array, sigma: NDArray[np.int32]) -> float:
    """The φ whose β(g) is nearest to the mean β of all pairs g positions apart, in a (Q, Q) table.

    A mean of noisy β that were not clipped to [0, 1] is right where single ones are not.
    """
    Q, order = len(sigma), order_of(sigma)
    ranked = beta[np.ix_(order, order)]
    curve = np.array([np.mean(np.diagonal(ranked, g)) for g in range(1, Q)])
    pairs = np.arange(Q - 1, 0, -1)
    return best_phi(TABLE_GRID, -((curve - _curves(Q)) ** 2 @ pairs))


@lru_cache(maxsize=4)
def _curves(n_items: int) -> Array:
    """(grid, Q−1) β(g) by φ."""
    curves = np.array([gap_probabilities(n_items, phi).win[1:] for phi in TABLE_GRID])
    curves.setflags(write=False)  # kept for the next call
    return curves


def phi_of_beta(beta: Array, sigma: NDArray[np.int32]) -> float:
    """Maximum likelihood of φ for a (Q, Q) table of pairwise probabilities as counts."""
    order = order_of(sigma)
    ranked, gaps = beta[np.ix_(order, order)], range(len(order))
    return fit_phi([np.trace(ranked, g) for g in gaps], [np.trace(ranked, -g) for g in gaps])


def phi_of_neighbours(beta: Array, sigma: NDArray[np.int32], *, printed: bool = False) -> float:
    """φ from the β of neighbours in the ranking, for which 1/β = 1 + φ.

    Parameters
    ----------
    beta : (Q, Q) array
        Pairwise probabilities.
    sigma : (Q,) array of int
        Positions.
    printed : bool
        The paper's mean of 1/β, minus one, which explodes when one β is near 0; otherwise
        (1 − β̄)/β̄ from their mean β̄.
    """
    order = order_of(sigma)
    neighbours = np.diagonal(beta[np.ix_(order, order)], 1)
    if printed:
        with np.errstate(divide="ignore"):
            return float(np.clip(np.mean(1 / neighbours) - 1, 0, 1))
    mean = float(neighbours.mean())
    return float(np.clip((1 - mean) / max(mean, 1e-12), 0, MAX_PHI))
