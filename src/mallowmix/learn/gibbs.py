"""Monte-Carlo EM over people's weights: Gibbs sweeps draw every θ, then the columns climb the direct likelihood."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, LocalEngine
from mallowmix.learn.mstep import Columns, beta_table
from mallowmix.learn.polish import polish_columns
from mallowmix.learn.tables import NODES, pair_codes, tabulate
from mallowmix.randomness import as_key, philox
from mallowmix.special import digamma

FLOOR = 1e-3
_STEP = 40
_FRESH = 255  # a token that has no component yet
Array = NDArray[np.float64]


class Chain(NamedTuple):
    """A block's state: the component of each token, and everybody's weights, drawn anew in every pass."""

    z: NDArray[np.uint8]
    theta: Array  # (users, K)


class MonteCarlo(NamedTuple):
    """Where Monte-Carlo EM ended."""

    columns: Columns
    alpha: Array
    chains: list[Chain]
    moved: list[int]  # items that changed place, a number an iteration


def start_chains(blocks: list[Block], theta: list[Array]) -> list[Chain]:
    """No token has a component yet: the first sweep draws it from the given weights."""
    return [Chain(np.full(len(block.pair), _FRESH, np.uint8), t) for block, t in zip(blocks, theta, strict=True)]


def monte_carlo_em(
    blocks: list[Block],
    columns: Columns,
    alpha: Array,
    chains: list[Chain],
    engine: LocalEngine,
    *,
    n_iter: int = 20,
    sweeps: int = 2,
    seed: int = 0,
    settle: int = 5,
    progress: Callable[[str, int, int], None] | None = None,
) -> MonteCarlo:
    """Alternate: draw θ given the columns, move the columns given θ.

    θ is drawn, not estimated, so at rest the columns maximise the marginal likelihood. After `settle` iterations the tables of
    successive draws are averaged with weights 1/(i+1) (stochastic approximation), which removes the noise of single draws.
    """
    key, index, forward = as_key(seed), *pair_codes(blocks[0].n_items)
    moved: list[int] = []
    mean: Any = None
    for i in range(n_iter):
        broadcast = (beta_table(columns, FLOOR), alpha, sweeps, i * sweeps, key, index, forward)
        (tables, slope, rate), chains = engine.reduce(_step, blocks, broadcast, chains)
        gain = 1.0 if i < settle else 1 / (i - settle + 1)
        mean = (tables, slope / rate) if mean is None or gain == 1 else tuple(m + gain * (n - m) for m, n in zip(mean, (tables, slope / rate), strict=True))
        new = polish_columns(mean[0], columns)
        moved.append(int(np.count_nonzero(new.sigma != columns.sigma)))
        columns = new
        alpha = np.clip(alpha * slope / max(rate, 1e-300), 1e-4, 1e3)  # Minka's fixed point
        if progress:
            progress("refining", i + 1, n_iter)
    return MonteCarlo(columns, alpha, chains, moved)


def _step(block: Block, broadcast: Any, chain: Chain) -> tuple[tuple[Array, Array, float], Chain]:
    beta, alpha, sweeps, sweep, key, index, forward = broadcast
    z = chain.z.copy()
    theta, slope, rate = _sweep(
        block.starts, block.pair, block.weight, block.user_weight, beta, alpha, z, chain.theta, sweeps, sweep, key, block.first_user
    )
    tables = tabulate(block.starts, block.pair, block.weight, block.user_weight, index, forward, beta, theta, NODES)
    return (tables, slope, rate), Chain(z, theta)


@nb.njit(cache=True, nogil=True, inline="always")
def _next(state):
    """splitmix64: a new state and a uniform on [0, 1)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return state, (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True, nogil=True)
def _log_gamma_draw(shape, state):
    """log of a Gamma(shape) draw (Marsaglia and Tsang), by way of shape + 1 so that tiny shapes do not underflow."""
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        state, u1 = _next(state)
        state, u2 = _next(state)
        x = np.sqrt(-2.0 * np.log(1.0 - u1)) * np.cos(2.0 * np.pi * u2)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = _next(state)
        if np.log(1.0 - u) < 0.5 * x * x + d - d * v + d * np.log(v):
            state, u = _next(state)
            return np.log(d * v) + np.log(1.0 - u) / shape, state


@nb.njit(cache=True, nogil=True, fastmath=True)
def _sweep(starts, pair, weight, user_weight, beta, alpha, z, theta, sweeps, sweep, key, first_user):
    """p(z = k | rest) ∝ β_(w),k (n_k + α_k); then θ ~ Dirichlet(α + n). One Philox word keys a person's stream in each pass.

    Also returns Σ_m ψ(n_mk + α_k) − ψ(α_k) and Σ_m ψ(n_m + α₀) − ψ(α₀), for the fixed point of α.
    """
    K = len(alpha)
    slope, rate = np.zeros(K), 0.0
    alpha0 = alpha.sum()
    psi_alpha, psi_alpha0 = np.empty(K), digamma(alpha0)
    for k in range(K):
        psi_alpha[k] = digamma(alpha[k])
    drawn = np.empty((len(starts) - 1, K))
    n, p = np.empty(K), np.empty(K)
    for m in range(len(starts) - 1):
        first, last = starts[m], starts[m + 1]
        x0, x1, _, _ = philox(0, first_user + m, _STEP, sweep, key)
        state = (x0 << np.uint64(32)) | x1
        fresh = last > first and z[first] == _FRESH
        n[:] = alpha
        total_n = 0.0
        for row in range(first, last):
            total_n += weight[row]
            if not fresh:
                n[z[row]] += weight[row]
        for s in range(sweeps):
            start = fresh and s == 0
            for row in range(first, last):
                code, w = pair[row], weight[row]
                total = 0.0
                if start:
                    for k in range(K):
                        total += beta[code, k] * theta[m, k]
                        p[k] = total
                else:
                    n[z[row]] -= w
                    for k in range(K):
                        total += beta[code, k] * n[k]
                        p[k] = total
                state, u = _next(state)
                u *= total
                k = 0
                while k < K - 1 and u >= p[k]:
                    k += 1
                z[row] = k
                n[k] += w
        top = -np.inf
        for k in range(K):
            slope[k] += user_weight[m] * (digamma(n[k]) - psi_alpha[k])
            p[k], state = _log_gamma_draw(n[k], state)
            top = max(top, p[k])
        rate += user_weight[m] * (digamma(total_n + alpha0) - psi_alpha0)
        total = 0.0
        for k in range(K):
            drawn[m, k] = np.exp(p[k] - top)
            total += drawn[m, k]
        drawn[m] /= total
    return drawn, slope, rate
