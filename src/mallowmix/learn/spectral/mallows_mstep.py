"""The M-step: Mallows columns from expected counts. σ by insertion search, φ by maximum likelihood over gaps."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.model.mallows import gap_probabilities
from mallowmix.model.permutations import order_of, sigma_of
from mallowmix.numerics.kemeny import insertion_search

Array = NDArray[np.float64]
LEAST_PHI, MOST_PHI = 0.005, 0.99
_TINY = 1e-300


class Columns(NamedTuple):
    """K Mallows columns: what refinement moves."""

    sigma: NDArray[np.int32]  # (K, Q)
    phi: Array  # (K,)


def beta_table(columns: Columns, floor: float) -> Array:
    """(Q², K) β of every ordered pair, kept away from 0 and 1 by `floor`."""
    K, Q = columns.sigma.shape
    table = np.empty((Q * Q, K))
    for k in range(K):
        win, lose = gap_probabilities(Q, columns.phi[k])
        by_gap = np.clip(np.concatenate([lose[:0:-1], win]), floor, 1 - floor)  # gaps −(Q−1) … Q−1
        gap = columns.sigma[k][None, :] - columns.sigma[k][:, None]
        table[:, k] = by_gap[gap + Q - 1].ravel()
    return table


@lru_cache(maxsize=8)
def _phi_grid(n_items: int, floor: float) -> tuple[Array, Array, Array]:
    """φ on a grid, and log β(g), log(1 − β(g)) for each: (grid,), (grid, Q), (grid, Q)."""
    grid = np.r_[LEAST_PHI, np.linspace(0.01, MOST_PHI, 197)]
    tables = [gap_probabilities(n_items, phi) for phi in grid]
    win, lose = np.array([t.win for t in tables]), np.array([t.lose for t in tables])
    return grid, np.log(np.minimum(win, 1 - floor)), np.log(np.maximum(lose, max(floor, _TINY)))


def fit_column_phi(counts: Array, sigma: NDArray[np.int32], *, floor: float = 0.0) -> float:
    """The most likely φ for (Q, Q) counts in the order σ: the best of a grid, then the peak of a parabola there.

    floor : as in `beta_table`
    """
    Q = len(sigma)
    gap = (sigma[None, :] - sigma[:, None] + (Q - 1)).ravel()  # of j below i, from −(Q−1) on
    by_gap = np.bincount(gap, counts.ravel(), 2 * Q - 1)
    wins, losses = by_gap[Q - 1 :], by_gap[Q - 1 :: -1]
    grid, log_win, log_lose = _phi_grid(Q, floor)
    value = log_win[:, 1:] @ wins[1:] + log_lose[:, 1:] @ losses[1:]
    return peak(grid, value)


def peak(grid: Array, value: Array) -> float:
    """Where a curve known on a grid is largest, by a parabola through the best point and its neighbours.

    A flat curve, that of a component nobody follows, says nothing: then the last point, where φ is largest.
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


def expected_log_likelihood(
    counts: Array, sigma: NDArray[np.int32], phi: float, *, floor: float = 0.0
) -> float:
    """Σ C_ij log β_ij: what the M-step of EM must not lower."""
    win, lose = gap_probabilities(len(sigma), phi)
    win, lose = np.minimum(win, 1 - floor), np.maximum(lose, max(floor, _TINY))
    gap = sigma[None, :] - sigma[:, None]
    return float(np.sum(counts * np.log(np.where(gap >= 0, win[np.abs(gap)], lose[np.abs(gap)]))))


def update_columns(
    counts: Array, columns: Columns, *, move_sigma: bool = True, floor: float = 0.0
) -> Columns:
    """New columns from (Q², K) expected counts; a column changes only if that raises its expected log-likelihood."""
    K, Q = columns.sigma.shape
    sigma, phi = columns.sigma.copy(), columns.phi.copy()
    for k in range(K):
        C = np.ascontiguousarray(counts[:, k].reshape(Q, Q))
        rankings = (
            [sigma[k], sigma_of(insertion_search(C, order_of(sigma[k])))]
            if move_sigma
            else [sigma[k]]
        )
        choices = [
            (sigma[k], phi[k]),
            *((row, fit_column_phi(C, row, floor=floor)) for row in rankings),
        ]
        value = [expected_log_likelihood(C, row, phi_k, floor=floor) for row, phi_k in choices]
        sigma[k], phi[k] = choices[int(np.argmax(value))]
    return Columns(sigma, phi)
