"""The marginal likelihood of a user's comparisons by assumed-density filtering.

    log ∫ Π_t (Σ_k θ_k β_tk)^x_t Dirichlet(θ; α) dθ

Tokens come one by one. After each, the posterior is a mixture of K Dirichlets, which is replaced by
one Dirichlet with its means and the sum of its variances (Minka 2001), and the probabilities of the
tokens are multiplied. It errs by some tenths of a nat either way, where the usual variational bound
is low by half a nat (K = 2) to six (K = 5). The tokens are taken from the least informative one up
and back again, in an order that does not depend on the labels of items, and the two results are
averaged.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled


@compiled
def log_marginal(b, x, alpha):
    """The logarithm of the integral above, for token probabilities b (n, K) and powers x."""
    key = np.empty(len(x))
    for t in range(len(x)):
        farthest, tie = 0.0, 0.0
        for k in range(len(alpha)):
            farthest, tie = max(farthest, abs(b[t, k] - 0.5)), tie + np.sqrt(k + 2.0) * b[t, k]
        # distance from a coin; ties by a rule that does not depend on the items
        key[t] = farthest + 1e-7 * tie
    order = np.argsort(key)
    return 0.5 * (_filtered(b, x, alpha, order, False) + _filtered(b, x, alpha, order, True))


@compiled
def _filtered(b, x, alpha, order, backwards):
    gamma, total = alpha.copy(), 0.0
    for i in range(len(order)):
        t = order[len(order) - 1 - i if backwards else i]
        rest = x[t]
        while rest > 0.0:
            total += _absorb(b[t], min(rest, 1.0), gamma)
            rest -= 1.0
    return total


@compiled
def _absorb(b, x, gamma):
    """Log E (Σ θ_k b_k)^x for θ ~ Dirichlet(γ); γ is moved to the moments of θ given the token."""
    A, p, square, spread, variance = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(gamma)):
        A += gamma[k]
    for k in range(len(gamma)):
        p += gamma[k] / A * b[k]
        square += gamma[k] / A * b[k] * b[k]
    for k in range(len(gamma)):
        mean, w = gamma[k] / A, gamma[k] / A * b[k] / p  # w: the token's probability of component k
        before = mean * (gamma[k] + 1) / (A + 1)  # E θ_k²
        after = (w * (gamma[k] + 2) + (1 - w) * gamma[k]) * (gamma[k] + 1) / ((A + 1) * (A + 2))
        mean += x * ((gamma[k] + w) / (A + 1) - mean)
        moment = before + x * (after - before)
        spread, variance = spread + mean - moment, variance + moment - mean * mean
        gamma[k] = mean
    # Σ E θ_k − E θ_k² = s Σ var θ_k for a Dirichlet of sum s
    scale = spread / variance if variance > 1e-300 else A + x
    for k in range(len(gamma)):
        gamma[k] *= scale
    relative = (square - p * p) / ((A + 1) * p * p)  # var p / p²
    return x * np.log(p) - np.log1p(0.5 * x * (1 - x) * max(relative, 0.0))
