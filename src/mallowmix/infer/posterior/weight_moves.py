"""Moves of users' weights θ given the components and α.

Where all powers are whole numbers, every row is that many tokens: their components z are drawn
given θ, then anew by collapsed Gibbs sweeps with θ left out, then θ | z ~ Dirichlet(α + tokens).
α is drawn between the last two. Where some are not whole, θ moves as in `infer.tempered_draws`.
"""

import numpy as np

from mallowmix.infer.tempered_draws import tempered_moves
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, draw_log_dirichlet
from mallowmix.numerics.token_gibbs import sweep_tokens, token_count, user_stream

_TOKENS, _WEIGHTS = int(Step.POSTERIOR_TOKENS), int(Step.POSTERIOR_WEIGHTS)


@compiled
def draw_tokens(starts, pair, power, beta, alpha, theta, sweeps, key, step):
    """(M, K) how many tokens of each user each component has, after some sweeps.

    Parameters
    ----------
    starts, pair, power
        Of `PosteriorData`.
    beta : (Q², K) array
        β of every ordered pair.
    alpha : (K,) array
        The Dirichlet parameters.
    theta : (M, K) array
        Users' weights, given which the first components are drawn.
    sweeps : int
        Collapsed sweeps after that.
    key, step
        Of the random numbers.
    """
    M, K = len(starts) - 1, len(alpha)
    tokens, n, p = np.empty((M, K)), np.empty(K), np.empty(K)
    for m in range(M):
        state = user_stream(key, m, _TOKENS, step)
        codes, x = pair[starts[m] : starts[m + 1]], power[starts[m] : starts[m + 1]]
        z = np.zeros(token_count(x), np.int64)
        n[:] = alpha
        state = sweep_tokens(codes, x, 1.0, beta, theta[m], True, z, n, p, state)
        for _ in range(sweeps):
            state = sweep_tokens(codes, x, 1.0, beta, n, False, z, n, p, state)
        for k in range(K):
            tokens[m, k] = np.rint(n[k] - alpha[k])
    return tokens


@compiled
def draw_user_weights(tokens, alpha, theta, key, step):
    """Draw θ_m ~ Dirichlet(α + tokens of m), into `theta`."""
    for m in range(len(tokens)):
        state = user_stream(key, m, _WEIGHTS, step)
        draw_log_dirichlet(state, alpha + tokens[m], theta[m])
        theta[m] = np.exp(theta[m])


@compiled
def move_weights(starts, pair, power, beta, alpha, theta, key, step):
    """Move every user's θ by Metropolis's rule, where powers are not whole; in place."""
    for m in range(len(starts) - 1):
        state = user_stream(key, m, _WEIGHTS, step)
        rows = slice(starts[m], starts[m + 1])
        if starts[m] == starts[m + 1]:  # nothing is known of them but the prior
            draw_log_dirichlet(state, alpha, theta[m])
            theta[m] = np.exp(theta[m])
            continue
        columns = np.ascontiguousarray(beta[pair[rows]].T)
        tempered_moves(state, columns, power[rows], alpha, theta[m])
        theta[m] /= theta[m].sum()
