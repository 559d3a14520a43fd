"""Variational EM with Mallows components, and its bound (ELBO), which compares initialisations."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine, reduce_step
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table, update_components
from mallowmix.model import least_beta
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.dirichlet import dirichlet_from_mean_log, log_normaliser
from mallowmix.numerics.special import digamma, log_gamma
from mallowmix.typing import Array

_INNER = 3  # fixed-point steps of one user's γ in a pass

_LEAST_SCALE = np.float32(1e-30)


class Variational(NamedTuple):
    """The outcome of variational EM: components, prior, each block's γ, the bound by iteration."""

    components: MallowsComponents
    alpha: Array
    gamma: list[Array]
    elbo: list[float]


def variational_em(
    blocks: list[Block],
    components: MallowsComponents,
    alpha: Array,
    engine: Engine,
    *,
    n_iter: int = 8,
    gamma: list[Array] | None = None,
    inner: int = _INNER,
    move_sigma: bool = True,
    move_alpha: bool = False,
) -> Variational:
    """Alternate: users' γ, then components, then α.

    The bound never falls.

    Parameters
    ----------
    blocks : list of Block
        The users.
    components : MallowsComponents
        Where to begin.
    alpha : (K,) array
        The prior.
    engine : Engine
        Where the passes run.
    n_iter : int
        How many iterations.
    gamma : list of (users, K) arrays, optional
        Each block's γ to begin with.
    inner : int
        Fixed-point steps of γ in an iteration.
    move_sigma, move_alpha : bool
        Whether rankings, and α, change. While the components are still wrong, α diverges to a flat
        prior.

    Returns
    -------
    Variational
        Components, prior, γ and the bound after every iteration.
    """
    history: list[float] = []
    state: list[Any] = list(gamma) if gamma is not None else [None] * len(blocks)
    for _ in range(n_iter):
        table = beta_table(components, least_beta.EXPECTED_COUNTS).astype(np.float32)
        (counts, elbo, sums), state = engine.reduce(_e_step, blocks, (table, alpha, inner), state)
        history.append(float(elbo + sums[-1] * log_normaliser(alpha)))
        components = update_components(
            counts, components, move_sigma=move_sigma, floor=least_beta.EXPECTED_COUNTS
        )
        if move_alpha:
            alpha = dirichlet_from_mean_log(alpha, sums[:-1] / max(sums[-1], 1e-300))
    return Variational(
        components, alpha, [np.asarray(gamma, np.float64) for gamma in state], history
    )


def expected_counts(
    blocks: list[Block],
    table: Array,
    alpha: Array,
    engine: Engine,
    gamma: list[Array] | None = None,
    *,
    inner: int = _INNER,
) -> tuple[Array, list[Array]]:
    """Expected counts of each ordered pair from each component, for any table of β.

    Parameters
    ----------
    blocks : list of Block
        The users.
    table : (Q², K) array
        β of every ordered pair.
    alpha : (K,) array
        The prior.
    engine : Engine
        Where the pass runs.
    gamma : list of (users, K) arrays, optional
        Each block's γ to begin with.
    inner : int
        Fixed-point steps of γ.

    Returns
    -------
    counts : (Q², K) array
        The expected counts.
    gamma : list of (users, K) arrays
        Each block's γ.
    """
    state: list[Any] = list(gamma) if gamma is not None else [None] * len(blocks)
    (counts, _, _), state = engine.reduce(
        _e_step, blocks, (table.astype(np.float32), alpha, inner), state
    )
    return counts, state


def fold(block: Block, table: NDArray[np.float32], alpha: Array, inner: int) -> Array:
    """Infer γ of a block's users for given components.

    Parameters
    ----------
    block : Block
        The users.
    table : (Q², K) array of float32
        β of every ordered pair.
    alpha : (K,) array
        The prior.
    inner : int
        Fixed-point steps.

    Returns
    -------
    (users, K) array
        γ; the mean of the weights is γ / Σ_k γ_k.
    """
    return _e_step(block, (table, alpha, inner), None)[1]


@reduce_step("variational E-step")
def _e_step(
    block: Block, broadcast: tuple[NDArray[np.float32], Array, int], gamma: Array | None
) -> tuple[tuple[Array, float, Array], Array]:
    table, alpha, inner = broadcast
    fresh = gamma is None
    K = len(alpha)
    gamma = np.empty((block.n_users, K)) if gamma is None else gamma.copy()
    rows = (block.starts, block.pair, block.weight, block.user_weight)
    longest = int(np.diff(block.starts).max(initial=0))
    room = (np.empty(shape, np.float32) for shape in ((K, longest), longest, K))
    counts, sums = np.zeros((len(table), K)), np.zeros(K + 1)
    elbo = _fold(*rows, table, alpha, gamma, inner, fresh, *room, counts, sums)
    return (counts, elbo, sums), gamma


@compiled(fastmath=True)
def _fold(
    starts,
    pair,
    weight,
    user_weight,
    table,
    alpha,
    gamma,
    inner,
    fresh,
    beta,
    total,
    scale,
    counts,
    sums,
):
    """The bound without its prior normaliser; γ, expected counts (Q², K), Σ E log θ_k and Σ u_m."""
    # r_k = β_k scale_k / Σ_l β_l scale_l is what a row gives component k, scale_k = exp E log θ_k.
    # A user's rows of the table are gathered once, component by component, so that the loops over
    # rows run on neighbouring numbers.
    K, elbo = len(alpha), 0.0
    for m in range(len(starts) - 1):
        first, n = starts[m], starts[m + 1] - starts[m]
        for i in range(n):
            row = table[np.uint64(pair[first + i])]  # unsigned: no check for a negative index
            for k in range(K):
                beta[k, i] = row[k]
        if fresh:
            even = 0.0
            for i in range(n):
                even += weight[first + i]
            for k in range(K):
                gamma[m, k] = alpha[k] + even / K
        for step in range(inner + 1):
            _scale(gamma[m], scale)
            for i in range(n):
                total[i] = 0
            for k in range(K):
                for i in range(n):
                    total[i] += beta[k, i] * scale[k]
            if step == inner:
                break
            for i in range(n):
                total[i] = weight[first + i] / total[i]
            for k in range(K):
                share = np.float32(0)
                for i in range(n):
                    share += beta[k, i] * total[i]
                gamma[m, k] = alpha[k] + scale[k] * share
        for i in range(n):
            w = user_weight[m] * weight[first + i]
            elbo += w * np.log(np.float64(total[i]))
            w /= total[i]
            for k in range(K):
                counts[pair[first + i], k] += w * scale[k] * beta[k, i]
        elbo += user_weight[m] * _prior_term(gamma[m], alpha, user_weight[m], sums)
    return elbo


@compiled
def _scale(gamma, scale):
    """Exp E log θ_k; where all underflow (of users who say next to nothing), one stays above 0."""
    total, top = 0.0, 0
    for k in range(len(gamma)):
        total += gamma[k]
        top = k if gamma[k] > gamma[top] else top
    psi_total = digamma(total)
    for k in range(len(gamma)):
        scale[k] = np.exp(digamma(gamma[k]) - psi_total)
    scale[top] = scale[top] if scale[top] > _LEAST_SCALE else _LEAST_SCALE


@compiled
def _prior_term(gamma, alpha, weight, sums):
    """E log p(θ) − E log q(θ), without log Γ(Σα) − Σ log Γ(α); adds E log θ to the sums."""
    total = 0.0
    for k in range(len(gamma)):
        total += gamma[k]
    psi_total, bound = digamma(total), -log_gamma(total)
    for k in range(len(gamma)):
        e_log = digamma(gamma[k]) - psi_total
        bound += (alpha[k] - gamma[k]) * e_log + log_gamma(gamma[k])
        sums[k] += weight * e_log
    sums[len(gamma)] += weight
    return bound
