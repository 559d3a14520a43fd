"""The token loop of collapsed Gibbs sampling, for one user.

It draws which component each token came from, given the others. A row of weight 2.5 stands for
three tokens, of 1, 1 and ½. With n_k = α_k + what the user's other tokens add to component k,
p(z = k | rest) ∝ β_(w),k n_k.

Monte-Carlo EM, the draws of a user's weights and the chains of a prior all use `sweep_tokens`. Two
kernels have loops of their own and share `component_at`: users' scores add up every token's
probabilities on the way (`learn.spectral.user_scores`), and the filter of left-to-right holds
many particles at once (`infer.heldout.left_to_right`).
"""

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import philox, splitmix


@compiled(inline="always")
def user_stream(key, user, step, draw):
    """The first state of the random numbers of a user, a step and a draw."""
    x0, x1, _, _ = philox(0, user, step, draw, key)
    return (x0 << np.uint64(32)) | x1


@compiled(fastmath=True, inline="always")
def pick_component(beta, share, u, p):
    """Draw a component k with probability ∝ β_k share_k.

    Parameters
    ----------
    beta, share : (K,) arrays
        The two factors.
    u : float
        A uniform on [0, 1): the component is the first whose running sum is above u · total.
    p : (K,) array
        Becomes the running sums.
    """
    total, k = 0.0, 0
    for j in range(len(p)):
        total += beta[j] * share[j]
        p[j] = total
    u *= total
    while k < len(p) - 1 and u >= p[k]:
        k += 1
    return k


@compiled(inline="always")
def component_at(p, total, u):
    """Draw a component k with probability p_k / total.

    Parameters
    ----------
    p : (K,) array
        Not normalised.
    total : float
        Their sum.
    u : float
        A uniform on [0, 1); what is left of u · total after each p_k decides.
    """
    rest, k = u * total, 0
    while k < len(p) - 1 and rest >= p[k]:
        rest -= p[k]
        k += 1
    return k


@compiled(fastmath=True, inline="always")
def sweep_tokens(codes, weight, unit, beta, share, fresh, z, n, p, state):
    """Sweep once over a user's tokens and return the new state.

    Parameters
    ----------
    codes, weight : (rows,) arrays
        Rows of the user, as in a block; a token of weight w counts unit · w.
    unit : float
        What a whole token counts.
    beta : (Q², K) array
        β of every ordered pair.
    share : (K,) array
        What β is multiplied with: `n`, or the initial weights in a first sweep.
    fresh : bool
        Whether the tokens have no component yet.
    z : (tokens,) array of int
        The component of each token; changed in place.
    n : (K,) array
        α plus the weights of the tokens in each component; changed in place.
    p : (K,) array
        Work space.
    state : uint64
        Of the random numbers.
    """
    token = 0
    for row in range(len(codes)):
        left = weight[row]
        while left > 0.0:
            token_weight = left if left < 1.0 else 1.0
            w = unit * token_weight
            if not fresh:
                n[z[token]] -= w
            state, u = splitmix(state)
            z[token] = pick_component(beta[codes[row]], share, u, p)
            n[z[token]] += w
            left -= token_weight
            token += 1
    return state


@compiled
def longest_run(starts):
    """The most rows of one user."""
    longest = 0
    for m in range(len(starts) - 1):
        longest = max(longest, starts[m + 1] - starts[m])
    return longest


@compiled
def token_count(weight):
    """How many tokens rows of these weights stand for; a fractional rest is one token."""
    n = 0
    for row in range(len(weight)):
        n += int(np.ceil(weight[row]))
    return n


@compiled(inline="always")
def count_tokens(weight, unit, z, n):
    """Add the weights of a user's tokens to `n`, by their components `z`."""
    token = 0
    for row in range(len(weight)):
        left = weight[row]
        while left > 0.0:
            w = left if left < 1.0 else 1.0
            n[z[token]] += unit * w
            left -= w
            token += 1
