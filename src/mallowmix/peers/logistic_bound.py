"""The quadratic bound of Jaakkola and Jordan on the logistic likelihood: its E-step."""

import numpy as np

from mallowmix.numerics.cholesky import factorise, inverse, log_determinant, no_zeros, solve
from mallowmix.numerics.compiled import compiled


@compiled
def _curvature(xi):
    """λ(ξ) = tanh(ξ/2) / (4ξ), ⅛ at 0."""
    return 0.125 if xi < 1e-6 else np.tanh(xi / 2) / (4 * xi)


@compiled
def user_posteriors(starts, pair, weight, user_weight, W, xi, likelihood_weight, precision, inner):
    """Each user's mean and covariance of u, ξ in place, and the bound on the log-likelihood."""
    M, r, Q = len(starts) - 1, W.shape[1] - 1, len(W)
    mean, spread, bound = np.zeros((M, r)), np.zeros((M, r, r)), 0.0
    x, H, g, none = np.empty(r + 1), np.empty((r, r)), np.empty(r), no_zeros()
    for m in range(M):
        for step in range(inner):
            for a in range(r):
                g[a] = 0.0
                for b in range(r):
                    H[a, b] = precision if a == b else 0.0
            for n in range(starts[m], starts[m + 1]):
                _apart(W, pair[n] // Q, pair[n] % Q, x)
                w, curve = likelihood_weight * weight[n], _curvature(xi[n])
                for a in range(r):
                    g[a] += w * x[a] * (0.5 - 2 * curve * x[r])
                    for b in range(r):
                        H[a, b] += 2 * w * curve * x[a] * x[b]
            factorise(H, *none)
            covariance, solution, likely = inverse(H, *none), solve(H, g), 0.0
            for a in range(r):
                mean[m, a] = solution[a]
                for b in range(r):
                    spread[m, a, b] = covariance[a, b]
            for n in range(starts[m], starts[m + 1]):
                _apart(W, pair[n] // Q, pair[n] % Q, x)
                eta, second = x[r], 0.0
                for a in range(r):
                    eta += mean[m, a] * x[a]
                    for b in range(r):
                        second += x[a] * spread[m, a, b] * x[b]
                xi[n] = np.sqrt(eta * eta + max(second, 0.0))  # ξ² = E η²
                if step == inner - 1:
                    likely += (
                        likelihood_weight
                        * weight[n]
                        * (-np.log1p(np.exp(-xi[n])) + (eta - xi[n]) / 2)
                    )
        own = 0.5 * (-log_determinant(H) + r * np.log(precision) + r)  # −KL(q(u) ‖ prior)
        for a in range(r):
            own -= 0.5 * precision * (mean[m, a] * mean[m, a] + spread[m, a, a])
        bound += user_weight[m] * (own + likely)
    return mean, spread, bound


@compiled(inline="always")
def _apart(W, i, j, x):
    """Write w_i − w_j into x."""
    for a in range(len(x)):
        x[a] = W[i, a] - W[j, a]


@compiled
def sums_of_pairs(starts, pair, weight, user_weight, W, xi, mean, spread):
    """Σ λ T of every pair, (Q, Q, R, R), and ½ Σ ±ũ of every item, (Q, R)."""
    Q, R = W.shape
    curve, pull = np.zeros((Q, Q, R, R)), np.zeros((Q, R))
    u, T = np.ones(R), np.empty((R, R))  # the last of u is 1
    for m in range(len(starts) - 1):
        for a in range(R - 1):
            u[a] = mean[m, a]
        for a in range(R):
            for b in range(R):
                T[a, b] = u[a] * u[b]
                if a < R - 1 and b < R - 1:
                    T[a, b] += spread[m, a, b]
        for n in range(starts[m], starts[m + 1]):
            i, j, w = pair[n] // Q, pair[n] % Q, user_weight[m] * weight[n]
            scale = w * _curvature(xi[n])
            for a in range(R):
                pull[i, a] += 0.5 * w * u[a]
                pull[j, a] -= 0.5 * w * u[a]
                for b in range(R):
                    curve[i, j, a, b] += scale * T[a, b]
    return curve, pull
