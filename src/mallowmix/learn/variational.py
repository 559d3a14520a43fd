"""Variational EM with Mallows columns: a few steps from a start, and the bound (ELBO) that says which start is better."""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from mallowmix.engine import Block, LocalEngine
from mallowmix.learn.mstep import Columns, beta_table, update_columns
from mallowmix.special import digamma, log_gamma

FLOOR = 1e-4  # least β in EM
_INNER = 3  # fixed-point steps of one person's γ a pass
Array = NDArray[np.float64]


class Variational(NamedTuple):
    """The outcome of variational EM: columns, prior, each block's γ, and the bound after every iteration."""

    columns: Columns
    alpha: Array
    gamma: list[Array]
    elbo: list[float]


def variational_em(
    blocks: list[Block],
    columns: Columns,
    alpha: Array,
    engine: LocalEngine,
    *,
    n_iter: int = 8,
    gamma: list[Array] | None = None,
    inner: int = _INNER,
    move_sigma: bool = True,
    move_alpha: bool = False,
) -> Variational:
    """Alternate people (γ), then columns, then α if asked: it runs away to a flat prior while the columns are still wrong.

    The bound never falls: each step raises it or leaves it.
    """
    history: list[float] = []
    state: list[Any] = list(gamma) if gamma is not None else [None] * len(blocks)
    for _ in range(n_iter):
        table = beta_table(columns, FLOOR)
        (counts, elbo, sums), state = engine.reduce(_e_step, blocks, (table, alpha, inner), state)
        history.append(float(elbo + sums[-1] * _log_normaliser(alpha)))
        columns = update_columns(counts, columns, move_sigma=move_sigma, floor=FLOOR)
        if move_alpha:
            alpha = update_alpha(alpha, sums[:-1] / max(sums[-1], 1e-300))
    return Variational(columns, alpha, state, history)


def _log_normaliser(alpha: Array) -> float:
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum())


def update_alpha(alpha: Array, mean_log: Array, n_iter: int = 50) -> Array:
    """Dirichlet maximum likelihood for given means of log θ_k: Newton's method with Minka's O(K) inverse, kept from 1e-4 to 1e3.

    Where a limit binds, the step could end lower than it began: then α stays.
    """
    new = alpha
    for _ in range(n_iter):
        old = new
        gradient = psi(old.sum()) - psi(old) + mean_log
        z, q = polygamma(1, old.sum()), -polygamma(1, old)
        b = np.sum(gradient / q) / (1 / z + np.sum(1 / q))
        step = old - (gradient - b) / q
        new = np.clip(np.where(step > 0, step, old / 2), 1e-4, 1e3)
        if np.max(np.abs(new - old) / old) < 1e-6:
            break
    return max((alpha, new), key=lambda a: _log_normaliser(a) + float(a @ mean_log))


def _e_step(block: Block, broadcast: tuple[Array, Array, int], gamma: Array | None) -> tuple[tuple[Array, float, Array], Array]:
    table, alpha, inner = broadcast
    fresh = gamma is None
    K = len(alpha)
    gamma = np.empty((block.n_users, K)) if gamma is None else gamma.copy()
    counts, elbo, sums = _fold(block.starts, block.pair, block.weight, block.user_weight, table, alpha, gamma, inner, fresh)
    return (counts, elbo, sums), gamma


@nb.njit(cache=True, nogil=True, fastmath=True)
def _fold(starts, pair, weight, user_weight, table, alpha, gamma, inner, fresh):
    """γ of each person, expected counts (Q², K), the bound without its prior normaliser, and Σ E log θ_k with Σ u_m behind it."""
    K = len(alpha)
    counts = np.zeros(table.shape)
    sums = np.zeros(K + 1)
    scale, r, new = np.empty(K), np.empty(K), np.empty(K)
    elbo = 0.0
    for m in range(len(starts) - 1):
        first, last = starts[m], starts[m + 1]
        if fresh:
            n = 0.0
            for row in range(first, last):
                n += weight[row]
            for k in range(K):
                gamma[m, k] = alpha[k] + n / K
        for step in range(inner + 1):
            total_gamma = gamma[m].sum()
            psi_total = digamma(total_gamma)
            for k in range(K):
                scale[k] = np.exp(digamma(gamma[m, k]) - psi_total)
                new[k] = alpha[k]
            final = step == inner
            for row in range(first, last):
                code = pair[row]
                total = 0.0
                for k in range(K):
                    r[k] = table[code, k] * scale[k]
                    total += r[k]
                w = weight[row] / total
                if final:
                    w *= user_weight[m]
                    for k in range(K):
                        counts[code, k] += w * r[k]
                    elbo += user_weight[m] * weight[row] * np.log(total)
                else:
                    for k in range(K):
                        new[k] += w * r[k]
            if not final:
                gamma[m] = new
        # E log p(θ) − E log q(θ), without log Γ(Σα) − Σ log Γ(α)
        total_gamma = gamma[m].sum()
        psi_total = digamma(total_gamma)
        bound = -log_gamma(total_gamma)
        for k in range(K):
            e_log = digamma(gamma[m, k]) - psi_total
            bound += (alpha[k] - gamma[m, k]) * e_log + log_gamma(gamma[m, k])
            sums[k] += user_weight[m] * e_log
        elbo += user_weight[m] * bound
        sums[K] += user_weight[m]
    return counts, elbo, sums
