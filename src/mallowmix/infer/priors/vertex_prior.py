"""A prior with a vertex part and a Dirichlet part: the most likely α and vertex share v.

    p(w_m) = v Σ_k a_k p(w_m | component k) + (1 − v) ∫ p(w_m | θ) Dir(θ; α) dθ,      a = α / Σ α.

The integral is a mean over draws of θ made once, near where it is large; changing α changes only
their weights. So the likelihood is a smooth function of α and v, with a gradient.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp, psi

from mallowmix.engine import Block, Engine, map_step, parallel_sum
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, draw_log_dirichlet
from mallowmix.numerics.special import log_gamma
from mallowmix.numerics.token_gibbs import user_stream
from mallowmix.typing import Array

_STEP = int(Step.VERTEX_PRIOR)
_SCALES = np.array([1.0, 0.25, 0.1, 0.0])  # proposals Dir(α + s(γ − α)), and last Dir(1)
_BOUNDS, _LOGIT = (np.log(1e-4), np.log(1e3)), (-14.0, 14.0)


class Draws(NamedTuple):
    """Draws for a block of users, made once."""

    weight: Array  # (M,) how much each user counts
    single: Array  # (M, K) log p(w | component k)
    log_theta: Array  # (M, S, K) draws of θ
    log_ratio: Array  # (M, S) log p(w | θ) / q(θ) / S


def fit_both(
    prepared: PreparedModel,
    blocks: list[Block],
    engine: Engine,
    *,
    n_draws: int = 200,
    seed: int = 0,
) -> tuple[Array, float]:
    """Learn α and the vertex share v, by L-BFGS on log α and the logit of v.

    Parameters
    ----------
    prepared : PreparedModel
        The components, and α to begin with; v begins at ½.
    blocks : list of Block
        The users.
    engine : Engine
        Where passes over users run.
    n_draws : int
        Draws of θ for each user.
    seed : int
        The seed of the draws.

    Returns
    -------
    alpha, vertex_share : (K,) array, float
    """
    draws = engine.map(make_draws, blocks, (prepared, n_draws, as_key(seed)))
    start = np.r_[np.clip(np.log(prepared.alpha), *_BOUNDS), 0.0]

    def loss(x: Array) -> tuple[float, Array]:
        value, gradient = parallel_sum(partial(log_marginal_likelihood, x=x), draws, engine.n_jobs)
        total = sum(float(part.weight.sum()) for part in draws)
        return -value / total, -gradient / total

    bounds = [_BOUNDS] * len(prepared.alpha) + [_LOGIT]
    x = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500, "ftol": 1e-10},
    ).x
    return np.exp(x[:-1]), float(expit(x[-1]))


@map_step("draws for a prior")
def make_draws(block: Block, broadcast: tuple[PreparedModel, int, np.uint64]) -> Draws:
    """Draws for a block; users without a comparison get the weight 0."""
    prepared, n_draws, key = broadcast
    plain = prepared._replace(vertex_share=0.0)
    theta, _ = fold_in(block, plain, max_iter=200, tol=1e-4)
    tokens = np.add.reduceat(np.r_[block.weight, 0.0], block.starts[:-1]) * (
        np.diff(block.starts) > 0
    )
    gamma = theta * (prepared.alpha.sum() + prepared.likelihood_weight * tokens)[:, None]
    data = (
        block.starts,
        block.pair,
        block.weight,
        prepared.beta,
        prepared.alpha,
        prepared.likelihood_weight,
    )
    single, log_theta, log_ratio = _draw(*data, gamma, n_draws, block.first_user, key)
    return Draws(block.user_weight * (tokens > 0), single, log_theta, log_ratio)


def log_marginal_likelihood(part: Draws, x: Array) -> tuple[float, Array]:
    """Σ_m weight_m log p(w_m) of a block, and its gradient in (log α, logit v)."""
    alpha, logit = np.exp(x[:-1]), x[-1]
    share, v = alpha / alpha.sum(), expit(logit)
    log_single = part.single + np.log(share)
    # (M, S)
    log_density = part.log_theta @ (alpha - 1) + gammaln(alpha.sum()) - gammaln(alpha).sum()
    log_mixed = part.log_ratio + log_density
    one, mixed = np.asarray(logsumexp(log_single, axis=1)), np.asarray(logsumexp(log_mixed, axis=1))
    log_one, log_both = one - np.logaddexp(0, -logit), mixed - np.logaddexp(0, logit)
    log_p = np.logaddexp(log_one, log_both)
    at_vertex = part.weight * np.exp(log_one - log_p)
    elsewhere = part.weight - at_vertex
    which = np.exp(log_single - one[:, None])  # (M, K)
    importance = np.exp(log_mixed - mixed[:, None]) * elsewhere[:, None]
    by_theta = np.einsum("ms,msk->k", importance, part.log_theta) + elsewhere.sum() * (
        psi(alpha.sum()) - psi(alpha)
    )
    in_alpha = at_vertex @ which - at_vertex.sum() * share + alpha * by_theta
    gradient = np.r_[in_alpha, at_vertex.sum() - v * part.weight.sum()]
    return float(part.weight @ log_p), gradient


@compiled
def _draw(starts, pair, weight, beta, alpha, likelihood_weight, gamma, n_draws, first_user, key):
    """Log p(w | component), log θ of draws from a mixture q, and log p(w | θ) / q(θ) / S."""
    M, K = gamma.shape
    P = len(_SCALES) + 1
    single, log_theta, log_ratio = (
        np.zeros((M, K)),
        np.empty((M, n_draws, K)),
        np.empty((M, n_draws)),
    )
    shapes, log_norm, log_q = np.ones((P, K)), np.empty(P), np.empty(P)
    for m in range(M):
        state = user_stream(key, first_user + m, _STEP, 0)
        for row in range(starts[m], starts[m + 1]):
            single[m] += likelihood_weight * weight[row] * np.log(beta[pair[row]])
        for j in range(P):
            if j < P - 1:
                shapes[j] = alpha + _SCALES[j] * np.maximum(gamma[m] - alpha, 0.0)
            log_norm[j] = log_gamma(shapes[j].sum())
            for k in range(K):
                log_norm[j] -= log_gamma(shapes[j, k])
        for s in range(n_draws):
            state = draw_log_dirichlet(state, shapes[s % P], log_theta[m, s])
            for j in range(P):
                log_q[j] = log_norm[j] + np.sum((shapes[j] - 1.0) * log_theta[m, s])
            top, theta, log_p = log_q.max(), np.exp(log_theta[m, s]), 0.0
            for row in range(starts[m], starts[m + 1]):
                log_p += likelihood_weight * weight[row] * np.log(np.sum(beta[pair[row]] * theta))
            log_ratio[m, s] = log_p - (top + np.log(np.mean(np.exp(log_q - top)))) - np.log(n_draws)
    return single, log_theta, log_ratio
