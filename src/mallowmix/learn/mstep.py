"""The M-step: Mallows columns from expected counts. σ by insertion search, φ by maximum likelihood over gaps."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.consensus import insertion_search
from mallowmix.mallows import gap_probabilities
from mallowmix.rankings import order_of, sigma_of

Array = NDArray[np.float64]
LEAST_PHI, MOST_PHI = 0.005, 0.99


class Columns(NamedTuple):
    """K Mallows columns: what refinement moves."""

    sigma: NDArray[np.int32]  # (K, Q)
    phi: Array  # (K,)


def beta_table(columns: Columns, floor: float) -> Array:
    """(Q², K) β of every ordered pair, kept away from 0 and 1 by `floor`."""
    K, Q = columns.sigma.shape
    table = np.empty((K, Q, Q))
    for k in range(K):
        win, lose = gap_probabilities(Q, columns.phi[k])
        by_gap = np.concatenate([lose[:0:-1], win])  # gaps −(Q−1) … Q−1
        gap = columns.sigma[k][None, :] - columns.sigma[k][:, None]
        table[k] = by_gap[gap + Q - 1]
    return np.ascontiguousarray(np.clip(table, floor, 1 - floor).reshape(K, Q * Q).T)


@lru_cache(maxsize=8)
def _phi_grid(n_items: int) -> tuple[Array, Array, Array]:
    """φ on a grid, and log β(g), log(1 − β(g)) for each: (grid,), (grid, Q), (grid, Q)."""
    grid = np.r_[LEAST_PHI, np.linspace(0.01, MOST_PHI, 197)]
    tables = [gap_probabilities(n_items, phi) for phi in grid]
    with np.errstate(divide="ignore"):
        return grid, np.log([t.win for t in tables]), np.maximum(np.log([t.lose for t in tables]), -700)


def fit_column_phi(counts: Array, sigma: NDArray[np.int32]) -> float:
    """The most likely φ for (Q, Q) counts in the order σ: the best of a grid, then the peak of a parabola there."""
    Q = len(sigma)
    order = order_of(sigma)
    ranked = counts[np.ix_(order, order)]
    wins = np.array([np.trace(ranked, g) for g in range(Q)])
    losses = np.array([np.trace(ranked, -g) for g in range(Q)])
    grid, log_win, log_lose = _phi_grid(Q)
    value = log_win[:, 1:] @ wins[1:] + log_lose[:, 1:] @ losses[1:]
    return peak(grid, value)


def peak(grid: Array, value: Array) -> float:
    """Where a curve known on a grid is largest, by a parabola through the best point and its neighbours."""
    best = int(np.argmax(value))
    if best in (0, len(grid) - 1):
        return float(grid[best])
    x, y = grid[best - 1 : best + 2], value[best - 1 : best + 2]
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    curve = (right - left) / (x[2] - x[0])
    if curve >= 0:
        return float(x[1])
    return float(np.clip((x[0] + x[1]) / 2 - left / (2 * curve), x[0], x[2]))


def expected_log_likelihood(counts: Array, sigma: NDArray[np.int32], phi: float) -> float:
    """Σ C_ij log β_ij: what the M-step of EM must not lower."""
    Q = len(sigma)
    win, lose = gap_probabilities(Q, phi)
    gap = sigma[None, :] - sigma[:, None]
    with np.errstate(divide="ignore"):
        log_beta = np.log(np.where(gap >= 0, win[np.abs(gap)], np.maximum(lose[np.abs(gap)], 1e-300)))
    return float(np.sum(counts * log_beta))


def update_columns(counts: Array, columns: Columns, *, move_sigma: bool = True) -> Columns:
    """New columns from (Q², K) expected counts; a component's ranking changes only if that raises its expected log-likelihood."""
    K, Q = columns.sigma.shape
    sigma, phi = columns.sigma.copy(), columns.phi.copy()
    for k in range(K):
        C = np.ascontiguousarray(counts[:, k].reshape(Q, Q))
        phi[k] = fit_column_phi(C, sigma[k])
        if not move_sigma:
            continue
        new = sigma_of(insertion_search(C, order_of(sigma[k])))
        if not np.array_equal(new, sigma[k]):
            new_phi = fit_column_phi(C, new)
            if expected_log_likelihood(C, new, new_phi) > expected_log_likelihood(C, sigma[k], phi[k]):
                sigma[k], phi[k] = new, new_phi
    return Columns(sigma, phi)
