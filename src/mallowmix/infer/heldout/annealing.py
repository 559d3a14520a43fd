"""Annealing: a user's likelihood along its powers, from the prior (0) to the posterior (1).

Particles θ are drawn from the prior, weighed by each small step up in the power, resampled when
fewer than half are effective, and moved by Metropolis steps that leave the present power's
distribution unchanged. The product of the mean weights is p(w).
"""

import numpy as np

from mallowmix.infer.heldout.left_to_right import ancestors
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import draw_log_dirichlet, splitmix

_MOVES = 2  # Metropolis steps of a particle at each power, for each component
_KEPT = 0.9  # a step up in the power keeps this part of the particles effective


@compiled
def anneal(code, weight, beta, alpha, R, state):
    """Log ∫ Dir(θ; α) Π_n (Σ_k θ_k β_(w_n),k)^weight_n dθ by R particles, and the random state."""
    K = len(alpha)
    log_theta, L, W = np.empty((R, K)), np.empty(R), np.full(R, 1.0 / R)
    for i in range(R):
        state = draw_log_dirichlet(state, alpha, log_theta[i])
        L[i] = log_likelihood(np.exp(log_theta[i]), code, weight, beta)
    log_p, power = 0.0, 0.0
    while True:
        step = _step_up(W, L, 1.0 - power)
        top, total, squares = step * _largest(L), 0.0, 0.0
        for i in range(R):
            W[i] *= np.exp(step * L[i] - top)
            total += W[i]
        log_p += np.log(total) + top
        for i in range(R):
            W[i] /= total
            squares += W[i] * W[i]
        power += step
        if power >= 1.0:
            return log_p, state
        if R * squares > 2.0:
            source, state = ancestors(W, state)
            for i in range(R):
                W[i] = 1.0 / R
                if source[i] != i:
                    L[i] = L[source[i]]
                    for k in range(K):
                        log_theta[i, k] = log_theta[source[i], k]
        for i in range(R):
            L[i], state = _move(log_theta[i], code, weight, beta, alpha, power, state)


@compiled
def _largest(values):
    largest = values[0]
    for i in range(1, len(values)):
        largest = max(largest, values[i])
    return largest


@compiled
def log_likelihood(theta, code, weight, beta):
    """Σ_n weight_n log Σ_k θ_k β_(w_n),k."""
    return weighted_log(mixed(theta, code, beta), weight)


@compiled
def mixed(theta, code, beta):
    """Σ_k θ_k β_(w_n),k of each comparison."""
    p = np.zeros(len(code))
    for n in range(len(code)):
        for k in range(len(theta)):
            p[n] += theta[k] * beta[code[n], k]
    return p


@compiled
def weighted_log(p, weight):
    """Σ_n weight_n log p_n for p_n of at least 10⁻⁴."""
    total, product = 0.0, 1.0  # factors of weight 1 share a logarithm
    for n in range(len(p)):
        if weight[n] == 1.0:
            product *= p[n]
            if product < 1e-200:
                total += np.log(product)
                product = 1.0
        else:
            total += weight[n] * np.log(p[n])
    return total + np.log(product)


@compiled
def _step_up(W, L, most):
    """The largest step ≤ `most` with (Σ W w)² / Σ W w² ≥ 0.9 for w = exp(step · L)."""
    if _kept(W, L, most) >= _KEPT:
        return most
    low, high = 0.0, most
    for _ in range(50):
        middle = (low + high) / 2
        if _kept(W, L, middle) >= _KEPT:
            low = middle
        else:
            high = middle
        if low > 0 and high < 1.01 * low:
            break
    return high  # never 0


@compiled
def _kept(W, L, step):
    top, first, second = _largest(L), 0.0, 0.0
    for i in range(len(W)):
        w = np.exp(step * (L[i] - top))
        first += W[i] * w
        second += W[i] * w * w
    return first**2 / second


@compiled
def _move(log_theta, code, weight, beta, alpha, power, state):
    """Metropolis steps on x = θ_k / (θ_k + θ_j), whose prior is Beta(α_k, α_j).

    On y = log x / (1 − x) the prior is x^α_k (1 − x)^α_j. Returns the new log-likelihood.
    """
    K, p = len(alpha), mixed(np.exp(log_theta), code, beta)
    new, L = np.empty(len(p)), weighted_log(p, weight)
    for _ in range(_MOVES * K if K > 1 else 0):
        state, u = splitmix(state)
        state, v = splitmix(state)
        k = int(u * K)
        j = (k + 1 + int(v * (K - 1))) % K
        y, state = _proposal(log_theta[k] - log_theta[j], state)
        both = np.logaddexp(log_theta[k], log_theta[j])
        log_k, log_j = both - np.logaddexp(0.0, -y), both - np.logaddexp(0.0, y)
        change = np.exp(log_k) - np.exp(log_theta[k])
        for n in range(len(p)):
            new[n] = p[n] + change * (beta[code[n], k] - beta[code[n], j])
        L_new = weighted_log(new, weight)
        log_ratio = (
            power * (L_new - L)
            + alpha[k] * (log_k - log_theta[k])
            + alpha[j] * (log_j - log_theta[j])
        )
        state, u = splitmix(state)
        if np.log(1.0 - u) < log_ratio:
            log_theta[k], log_theta[j], L = log_k, log_j, L_new
            p, new = new, p
    return L, state


@compiled
def _proposal(y, state):
    """−y (the two swap) or y + uniform(−s, s), log s uniform: for α near 0, y spreads like 1/α."""
    state, u = splitmix(state)
    state, v = splitmix(state)
    return (-y if u < 0.2 else y + (2 * v - 1) * 0.1 * 300.0 ** ((u - 0.2) / 0.8)), state
