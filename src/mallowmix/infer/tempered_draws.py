"""Draws of a user's weights where a comparison counts for less than one.

The posterior is p(θ) Π_t (Σ_k θ_k β_tk)^x_t with any powers x.

With whole powers the components z of the tokens can be drawn one by one and θ left out
(`infer.gibbs_draws`); with others they cannot. So θ itself moves, two components i and j at a
time, by Metropolis's rule. Their common weight stays, u = θ_i / (θ_i + θ_j) is proposed, and one
of two proposals is taken at random:

- by the prior, u ~ Beta(α_i, α_j), accepted with Π_t (L'_t / L_t)^x_t, L_t = Σ_k θ_k β_tk: from
  one end to the other at once;
- by the tokens, z_t ~ θ_k β_tk / L_t and u ~ Beta(α_i + Σ_{z=i} x_t, α_j + Σ_{z=j} x_t),
  accepted with Π_t (L'_t / L_t)^(x_t − 1) Π_{z_t = i or j} (θ'_z / θ_z)^(1 − x_t), which is one
  where the powers are: near where θ is.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import log_gamma_draw, splitmix

_BURN_IN, _MOVES = 40, 2  # draws of the burn-in; moves for each draw and component


@compiled
def tempered_draws(state, b, x, alpha, out):
    """Draw `out` (draws, K) for one user, tokens with probabilities b (n, K) and powers x."""
    K, total = len(alpha), alpha.sum()
    columns, theta = np.empty((K, len(b))), np.empty(K)
    for k in range(K):
        theta[k] = alpha[k] / total
        for t in range(len(b)):
            columns[k, t] = b[t, k]
    for s in range(-_BURN_IN, len(out)):
        state = tempered_moves(state, columns, x, alpha, theta)
        if s >= 0:
            total = theta.sum()
            for k in range(K):
                out[s, k] = theta[k] / total
    return state


@compiled
def tempered_moves(state, columns, x, alpha, theta):
    """Move θ of one user in place, two proposals for each component; the new state.

    Parameters
    ----------
    state : uint64
        Of the random numbers.
    columns : (K, n) array
        Probabilities of the tokens under each component.
    x : (n,) array
        Powers of the tokens.
    alpha : (K,) array
        The prior.
    theta : (K,) array
        The weights; changed in place.
    """
    K, n = columns.shape
    old, new, taken = np.empty(2), np.empty(2), np.empty(n, np.int64)
    likelihood = np.zeros(n)  # afresh, so that rounding does not add up
    for k in range(K):
        for t in range(n):
            likelihood[t] += theta[k] * columns[k, t]
    for _ in range(_MOVES * K if K > 1 else 0):
        state, i, j = _two(state, K)
        state, by_tokens = splitmix(state)
        old[0], old[1] = theta[i], theta[j]
        for t in range(n):
            taken[t] = -1
        if by_tokens < 0.5:
            state = _take(state, columns[i], columns[j], old, likelihood, taken)
        state = _propose(state, alpha[i], alpha[j], x, taken, old, new)
        ratio = _log_ratio(columns[i], columns[j], x, taken, old, new, likelihood, by_tokens < 0.5)
        state, coin = splitmix(state)
        if np.log(1.0 - coin) < ratio:
            for t in range(n):
                likelihood[t] += columns[i, t] * (new[0] - old[0]) + columns[j, t] * (
                    new[1] - old[1]
                )
            theta[i], theta[j] = new[0], new[1]
    return state


@compiled
def _two(state, K):
    """Two different components."""
    state, u = splitmix(state)
    state, v = splitmix(state)
    i = min(int(u * K), K - 1)
    return state, i, (i + 1 + min(int(v * (K - 1)), K - 2)) % K


@compiled
def _take(state, bi, bj, old, likelihood, taken):
    """Which tokens come from the first of the two components (0) or the second (1)."""
    for t in range(len(taken)):
        state, u = splitmix(state)
        u *= likelihood[t]
        first = old[0] * bi[t]
        taken[t] = 0 if u < first else 1 if u < first + old[1] * bj[t] else -1
    return state


@compiled
def _propose(state, a0, a1, x, taken, old, new):
    """Divide the common weight of the two by Beta(a₀ + n₀, a₁ + n₁), n the tokens taken by each."""
    for t in range(len(taken)):
        a0 += x[t] * (taken[t] == 0)
        a1 += x[t] * (taken[t] == 1)
    state, g0 = log_gamma_draw(state, a0)
    state, g1 = log_gamma_draw(state, a1)
    share = 1.0 / (1.0 + np.exp(min(g1 - g0, 700.0)))
    new[0] = max((old[0] + old[1]) * share, 1e-300)
    new[1] = max((old[0] + old[1]) * (1.0 - share), 1e-300)
    return state


@compiled
def _log_ratio(bi, bj, x, taken, old, new, likelihood, by_tokens):
    """The logarithm of the probability of acceptance, for either kind of proposal."""
    total, less = 0.0, 1.0 if by_tokens else 0.0
    up = np.log(new[0] / old[0]), np.log(new[1] / old[1])
    # factors with one power are multiplied up before a logarithm is taken
    power, product = (x[0] - less, 1.0)
    for t in range(len(x)):
        if x[t] - less != power or not 1e-200 < product < 1e200:
            total += power * np.log(product)
            power, product = x[t] - less, 1.0
        product *= (
            likelihood[t] + bi[t] * (new[0] - old[0]) + bj[t] * (new[1] - old[1])
        ) / likelihood[t]
        if taken[t] >= 0:
            total += (1.0 - x[t]) * up[taken[t]]
    return total + power * np.log(product)
