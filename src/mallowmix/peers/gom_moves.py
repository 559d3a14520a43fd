"""Moves of the grade of membership model: Gibbs for the choices, two moves for the components.

The two moves of a component complement each other. Metropolis–Hastings from the MM surrogate moves
far, but is rejected more and more often as items become many. Gibbs with an exponential time
Y_t ~ Exp(Σ_left λ) for each choice, λ_kj ~ Gamma(b + n_kj, 1 + Σ_t Y_t) (Caron and Doucet 2012),
moves less far, and always.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from mallowmix.engine import Engine, parallel_sum, reduce_step
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, log_gamma_draw, splitmix
from mallowmix.numerics.token_gibbs import user_stream
from mallowmix.peers.stages import Stages
from mallowmix.typing import Array

_STEP = int(Step.GOM_CHOICES)
_ALPHA_STEPS, _ALPHA_WIDTH = 5, 0.15


class State(NamedTuple):
    """What stays with a block: single choices (weights repeated), their components, counts."""

    stages: Stages
    z: NDArray[np.int8]  # (choices,)
    counts: Array  # (M, K)


@reduce_step("grade of membership sweep")
def sweep_choices(
    block: Stages, broadcast: tuple[Array, float, int, np.uint64], state: State
) -> tuple[tuple[Any, ...], State]:
    """New z of a block; sums for the components' move; Σ E θ over users; the log-likelihood."""
    lam, alpha, draw, key = broadcast
    s, z, counts = state.stages, state.z.copy(), state.counts.copy()
    data = (s.first_user, s.user, s.weight, s.starts, s.item, s.n_choices, s.user_weight)
    chosen, rate, waited, log_left, value = _draw_choices(*data, lam, alpha, draw, key, z, counts)
    theta = (counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True)
    return (chosen, rate, waited, log_left, s.user_weight @ theta, value), State(s, z, counts)


def move_components(
    engine: Engine,
    state: Any,
    lam: Array,
    n: Array,
    rate: Array,
    log_left: Array,
    random: Any,
) -> tuple[Array, NDArray[np.bool_]]:
    """Proposals for all components from the Gammas of the surrogate, accepted by min(1, ratio)."""
    other = random.standard_gamma(n) / (rate + 1.0)
    rate_back, log_left_other = parallel_sum(
        lambda part: surrogate_rates(part, other), state, engine.n_jobs
    )
    target = (
        ((n - 1) * (np.log(other) - np.log(lam)) - other + lam).sum(axis=1)
        - log_left_other
        + log_left
    )
    # log q(other | lam)
    forth = (n * np.log(rate + 1) + (n - 1) * np.log(other) - (rate + 1) * other).sum(axis=1)
    back = (n * np.log(rate_back + 1) + (n - 1) * np.log(lam) - (rate_back + 1) * lam).sum(axis=1)
    moved = np.log(random.random(len(lam))) < target + back - forth
    return np.where(moved[:, None], other, lam), moved


def surrogate_rates(state: State, lam: Array) -> tuple[Array, Array]:
    s = state.stages
    return _rates_of(s.user, s.weight, s.starts, s.item, s.n_choices, s.user_weight, lam, state.z)


def walk_alpha(alpha: float, state: list[State], random: Any) -> float:
    """Steps on log α, θ integrated out: Σ_m log DirichletMultinomial(n_m; α) − α + log α."""
    counts, weight = (
        np.concatenate([s.counts for s in state]),
        np.concatenate([s.stages.user_weight for s in state]),
    )
    K, n = counts.shape[1], counts.sum(axis=1)

    def value(a: float) -> float:
        each = gammaln(K * a) - gammaln(K * a + n) + (gammaln(a + counts) - gammaln(a)).sum(axis=1)
        return float(weight @ each) - a + float(np.log(a))

    for _ in range(_ALPHA_STEPS):
        other = float(np.clip(alpha * np.exp(_ALPHA_WIDTH * random.standard_normal()), 1e-4, 1e3))
        if np.log(random.random()) < value(other) - value(alpha):
            alpha = other
    return alpha


@compiled
def _draw_choices(
    first_user, user, weight, starts, item, n_choices, user_weight, lam, alpha, draw, key, z, counts
):
    """In place: z of every choice given the user's others, θ integrated out.

    Returns (K, Q) choices, rates, times; (K,) Σ log Σ_left λ; log-likelihood.
    """
    K, Q = lam.shape
    chosen, rate, waited = np.zeros((K, Q)), np.zeros((K, Q)), np.zeros((K, Q))
    log_left, value = np.zeros(K), 0.0
    left, p = np.empty((Q + 1, K)), np.empty(K)
    n, N, at = 0, len(n_choices), 0
    for m in range(len(user_weight)):
        state = user_stream(key, first_user + m, _STEP, draw)
        while n < N and user[n] == m:
            first, length, w = starts[n], starts[n + 1] - starts[n], weight[n] * user_weight[m]
            for k in range(K):
                left[length, k] = 0.0
                for e in range(length - 1, -1, -1):
                    left[e, k] = left[e + 1, k] + lam[k, item[first + e]]
            for t in range(n_choices[n]):
                counts[m, z[at]] -= weight[n]
                total, others = 0.0, 0.0
                for k in range(K):
                    p[k] = (counts[m, k] + alpha) * lam[k, item[first + t]] / left[t, k]
                    total, others = total + p[k], others + counts[m, k]
                value += w * np.log(total / (others + K * alpha))
                state, u = splitmix(state)
                k, below = 0, p[0]
                while k < K - 1 and below <= u * total:
                    k += 1
                    below += p[k]
                z[at] = k
                at += 1
                counts[m, k] += weight[n]
                chosen[k, item[first + t]] += w
                log_left[k] += w * np.log(left[t, k])
                state, log_time = log_gamma_draw(state, w) if w > 0.0 else (state, -np.inf)
                for e in range(t, length):
                    rate[k, item[first + e]] += w / left[t, k]
                    waited[k, item[first + e]] += np.exp(log_time) / left[t, k]
            n += 1
    return chosen, rate, waited, log_left, value


@compiled
def _rates_of(user, weight, starts, item, n_choices, user_weight, lam, z):
    """(K, Q) rates and (K,) Σ log Σ_left λ of other λ, for the same z."""
    K, Q = lam.shape
    rate, log_left, at = np.zeros((K, Q)), np.zeros(K), 0
    for n in range(len(n_choices)):
        first, length, w = starts[n], starts[n + 1] - starts[n], weight[n] * user_weight[user[n]]
        for t in range(n_choices[n]):
            k, total = z[at], 0.0
            at += 1
            for e in range(t, length):
                total += lam[k, item[first + e]]
            log_left[k] += w * np.log(total)
            for e in range(t, length):
                rate[k, item[first + e]] += w / total
    return rate, log_left
