"""Importance sampling over a user's weights: p(w) = ∫ p(w | θ) Dir(θ; α) dθ.

Draws come in equal parts from Dir(α + s(γ − α)), s = 1, ¼, 1/10 and 0 (the prior), with γ from a
variational fit, which alone is too narrow. Each has the weight p(w | θ) Dir(θ; α) / q(θ), q being
the mixture of the four.
"""

from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, map_step
from mallowmix.engine.selection import EngineName, using
from mallowmix.infer.heldout.annealing import anneal, log_likelihood
from mallowmix.infer.heldout.heldout_options import ImportanceOptions
from mallowmix.infer.heldout.heldout_scores import (
    NOBODY,
    Heldout,
    floored_beta,
    log_mu_by_user,
    map_users,
    summary,
)
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, draw_log_dirichlet, philox
from mallowmix.numerics.special import digamma, log_gamma
from mallowmix.typing import Array, Progress

_SCALES = np.array([1.0, 0.25, 0.1, 0.0])
_DRAW, _ANNEAL = int(Step.IMPORTANCE), int(Step.ANNEALING)
_FITTING = 50  # steps of the variational fit: a proposal need not be exact


def importance(
    model: ComponentModel,
    comparisons: Comparisons,
    options: ImportanceOptions | None = None,
    *,
    include_mu: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Heldout:
    """The likelihood of each user's comparisons with θ integrated out over the Dirichlet prior.

    A comparison of weight w, whole or not, enters as p(w | θ)^w. `user_weight` is not used.
    `details` holds the least and the median effective sample size of users who were not annealed,
    the number of those who were, and the Monte-Carlo error of the result. The parameters are those
    of `heldout`.
    """
    chosen = options or ImportanceOptions()
    comparisons = comparisons.with_items(model.items)
    n, least = comparisons.per_user(), float(chosen.min_ess)
    sizes = (chosen.n_draws, chosen.max_draws, least, chosen.n_particles)
    broadcast = (floored_beta(model), model.alpha, *sizes, as_key(seed))
    with using(engine, n_jobs) as run:
        found = map_users(
            _score, comparisons, broadcast, run, name="importance", width=4, progress=progress
        )
    score = found[:, 0] + (log_mu_by_user(comparisons) if include_mu else 0.0)
    details = _details(found[n > 0], float(n.sum()), least)
    return summary(np.column_stack([score, n]), NOBODY, details)


def _details(found: Array, n_comparisons: float, least_ess: float) -> dict[str, Any]:
    variance, ess, draws = found[:, 1:].T
    sampled = ess >= least_ess
    return {
        "draws": int(draws.max(initial=0)),
        "least_ess": float(ess[sampled].min()) if sampled.any() else None,
        "median_ess": float(np.median(ess[sampled])) if sampled.any() else None,
        "annealed": int(np.sum(~sampled)),
        "monte_carlo_error": float(np.sqrt(variance.sum())) / max(n_comparisons, 1e-300),
    }


@map_step("importance sampling")
def _score(block: Block, broadcast: tuple[Array, Array, int, int, float, int, np.uint64]) -> Array:
    """(users, 4) log p(w), the variance of its estimate, the effective sample size, the draws."""
    beta, alpha, draws, max_draws, least_ess, particles, key = broadcast
    data = (block.starts, block.pair, block.weight, beta, alpha)
    return log_evidence(*data, draws, max_draws, least_ess, particles, block.first_user, key)


@compiled
def log_evidence(
    starts, pair, weight, beta, alpha, draws, max_draws, least_ess, particles, first_user, key
):
    """(users, 4) log p(w) of each user; the variance of that, the effective sample size, the draws.

    Draws are doubled up to `max_draws` while the effective sample size is below `least_ess`; users
    for whom that does not help are annealed with so many particles.
    """
    out = np.zeros((len(starts) - 1, 4))
    for m in range(len(starts) - 1):
        code, w = pair[starts[m] : starts[m + 1]], weight[starts[m] : starts[m + 1]]
        if len(code) == 0:
            continue
        gamma = _fit(code, w, beta, alpha)
        out[m, 0], out[m, 1], out[m, 2], out[m, 3] = _sample(
            code, w, beta, alpha, gamma, draws, max_draws, least_ess, first_user + m, key
        )
        if out[m, 2] < least_ess:
            a, _ = anneal(code, w, beta, alpha, particles, _stream(_ANNEAL, first_user + m, 0, key))
            b, _ = anneal(code, w, beta, alpha, particles, _stream(_ANNEAL, first_user + m, 1, key))
            out[m, 0], out[m, 1] = np.logaddexp(a, b) - np.log(2.0), (a - b) ** 2 / 4
    return out


@compiled
def _stream(step, user, draw, key):
    x0, x1, _, _ = philox(0, user, step, draw, key)
    return (x0 << np.uint64(32)) | x1


@compiled
def _fit(code, weight, beta, alpha):
    """γ_k = α_k + Σ_n weight_n r_nk with r_nk ∝ β_(w_n),k exp ψ(γ_k), a few times over."""
    K, mass = len(alpha), 0.0
    gamma, scale, part = np.empty(K), np.empty(K), np.empty(K)
    for n in range(len(weight)):
        mass += weight[n]
    for k in range(K):
        gamma[k] = alpha[k] + mass / K
    for _ in range(_FITTING):
        largest = gamma[0]
        for k in range(1, K):
            largest = max(largest, gamma[k])
        top = digamma(largest)
        for k in range(K):
            scale[k] = np.exp(digamma(gamma[k]) - top)
            gamma[k] = alpha[k]
        for n in range(len(code)):
            total = 0.0
            for k in range(K):
                part[k] = beta[code[n], k] * scale[k]
                total += part[k]
            for k in range(K):
                gamma[k] += weight[n] * part[k] / total
    return gamma


@compiled
def _sample(code, weight, beta, alpha, gamma, draws, max_draws, least_ess, user, key):
    """Log mean weight, the variance of that, the effective sample size, the number of draws.

    Dir(θ; α + s(γ − α)) / Dir(θ; α) = exp(c_s + s Σ_k (γ_k − α_k) log θ_k), and the weight is
    p(w | θ) over the mean of these.
    """
    J, K, state = len(_SCALES), len(alpha), _stream(_DRAW, user, 0, key)
    shapes, c, log_theta, theta = np.empty((J, K)), np.empty(J), np.empty(K), np.empty(K)
    for j in range(J):
        for k in range(K):
            shapes[j, k] = alpha[k] + _SCALES[j] * (gamma[k] - alpha[k])
        c[j] = _log_beta(alpha) - _log_beta(shapes[j])
    # Σw and Σw² are exp(top) · first and exp(2 top) · second
    top, first, second = (-np.inf, 0.0, 0.0)
    made, wanted = 0, draws
    while True:
        for i in range(made, wanted):
            state = draw_log_dirichlet(state, shapes[i % J], log_theta)
            d = 0.0
            for k in range(K):
                theta[k] = np.exp(log_theta[k])
                d += (gamma[k] - alpha[k]) * log_theta[k]
            log_w = log_likelihood(theta, code, weight, beta) - _log_mean(c, d)
            if log_w > top:
                shrink = np.exp(top - log_w)
                top, first, second = log_w, first * shrink, second * shrink * shrink
            first += np.exp(log_w - top)
            second += np.exp(2 * (log_w - top))
        made, ess = wanted, first * first / second
        if ess >= least_ess or made >= max_draws:
            return top + np.log(first / made), 1 / ess - 1 / made, ess, float(made)
        wanted = min(2 * made, max_draws)


@compiled
def _log_beta(a):
    """Log B(a) = Σ_k log Γ(a_k) − log Γ(Σ_k a_k)."""
    mass = 0.0
    for k in range(len(a)):
        mass += a[k]
    total = -log_gamma(mass)
    for k in range(len(a)):
        total += log_gamma(a[k])
    return total


@compiled
def _log_mean(c, d):
    """Log ¼ Σ_s exp(c_s + s d)."""
    top, total = c[0] + _SCALES[0] * d, 0.0
    for j in range(1, len(c)):
        top = max(top, c[j] + _SCALES[j] * d)
    for j in range(len(c)):
        total += np.exp(c[j] + _SCALES[j] * d - top)
    return top + np.log(total / len(c))
