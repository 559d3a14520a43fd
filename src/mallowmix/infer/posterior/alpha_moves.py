"""Moves of the Dirichlet parameters α: random walks on their logarithms, one by one and all at
once.

Given tokens, with θ left out, the likelihood is Dirichlet–multinomial,

    Π_m Γ(A) / Γ(A + N_m) Π_k Γ(α_k + n_mk) / Γ(α_k)
        = exp( Σ_k Σ_s T_k(s) log(α_k + s) − Σ_s T(s) log(A + s) ),

T_k(s) the number of users with n_mk > s, T(s) of those with N_m > s, and A = Σ α_k. Given θ it is
Π_m Dirichlet(θ_m | α).
"""

import math

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, splitmix
from mallowmix.numerics.token_gibbs import user_stream

_ALPHA = int(Step.POSTERIOR_ALPHA)


@compiled
def normal_draw(state):
    """A new state and a standard normal draw (Box and Muller)."""
    state, u = splitmix(state)
    state, v = splitmix(state)
    return state, np.sqrt(-2.0 * np.log(1.0 - u)) * np.cos(2.0 * np.pi * v)


@compiled
def tail_counts(tokens):
    """(K + 1, sizes) the number of users with more than s tokens: T_k(s), and T(s) at the end."""
    M, K = tokens.shape
    most = 0.0
    for m in range(M):
        most = max(most, tokens[m].sum())
    tails = np.zeros((K + 1, int(most) + 1))
    for m in range(M):
        for k in range(K):
            tails[k, int(tokens[m, k])] += 1.0
        tails[K, int(tokens[m].sum())] += 1.0
    for k in range(K + 1):  # users with exactly s tokens become users with more than s
        above = 0.0
        for s in range(tails.shape[1] - 1, -1, -1):
            exactly = tails[k, s]
            tails[k, s] = above
            above += exactly
    return tails


@compiled
def _given_tokens(alpha, tails):
    """The logarithm of the Dirichlet–multinomial likelihood."""
    K, total, A = len(alpha), 0.0, alpha.sum()
    for k in range(K + 1):
        shift, sign = (alpha[k], 1.0) if k < K else (A, -1.0)
        for s in range(tails.shape[1]):
            if tails[k, s] == 0.0:
                break
            total += sign * tails[k, s] * np.log(shift + s)
    return total


@compiled
def log_weight_sums(theta):
    """(K + 1,) Σ_m log θ_mk, and M."""
    M, K = theta.shape
    sums = np.zeros(K + 1)
    for m in range(M):
        for k in range(K):
            sums[k] += np.log(max(theta[m, k], 1e-300))
    sums[K] = M
    return sums


@compiled
def _given_weights(alpha, sums):
    """The logarithm of the Dirichlet likelihood."""
    K = len(alpha)
    total = sums[K] * math.lgamma(alpha.sum())
    for k in range(K):
        total += (alpha[k] - 1.0) * sums[k] - sums[K] * math.lgamma(alpha[k])
    return total


@compiled
def _log_target(alpha, tails, sums, whole, centre, spread):
    """The log posterior of log α; the prior is Normal(centre, spread²) for each."""
    total = _given_tokens(alpha, tails) if whole else _given_weights(alpha, sums)
    for k in range(len(alpha)):
        total -= 0.5 * ((np.log(alpha[k]) - centre) / spread) ** 2
    return total


@compiled
def move_alpha(alpha, tails, sums, whole, prior, scales, rounds, key, step):
    """Move α in place, `rounds` times each; (K + 1,) the mean probabilities of acceptance.

    Parameters
    ----------
    alpha : (K,) array
        Changed in place.
    tails, sums, whole
        From `tail_counts` where `whole`, from `log_weight_sums` where not.
    prior : (2,) array
        Centre and spread of log α.
    scales : (K + 1,) array
        Standard deviations of the steps, the last of the step of all at once.
    rounds : int
        How often.
    key, step
        Of the random numbers.
    """
    K = len(alpha)
    accepted, new = np.zeros(K + 1), alpha.copy()
    state = user_stream(key, 0, _ALPHA, step)
    now = _log_target(alpha, tails, sums, whole, prior[0], prior[1])
    for _ in range(rounds):
        for k in range(K + 1):
            state, walk = normal_draw(state)
            factor = np.exp(scales[k] * walk)
            new[:] = alpha
            if k < K:
                new[k] *= factor
            else:
                new *= factor
            there = _log_target(new, tails, sums, whole, prior[0], prior[1])
            accepted[k] += min(1.0, np.exp(min(there - now, 0.0))) / rounds
            state, coin = splitmix(state)
            if np.log(1.0 - coin) < there - now:
                alpha[:], now = new, there
    return accepted
