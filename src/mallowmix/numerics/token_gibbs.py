"""The token loop of collapsed Gibbs sampling, for one user.

It draws which component each token came from, given the others. A row of weight 2.5 stands for
three tokens, of 1, 1 and ½. With n_k = α_k + what the user's other tokens add to component k,
p(z = k | rest) ∝ β_(w),k n_k.

The draws of a user's weights and the chains of a prior use `sweep_tokens`. Monte-Carlo EM uses
`sweep_active`, which visits only the components that the user's tokens are in: where n_k = α_k +
c_k, Σ β_k n_k = Σ β_k α_k + Σ β_k c_k; the first sum is the same for all users, the second has few
terms. Two kernels have loops of their own and share `pick_component` alone: users' scores add up
every token's probabilities on the way (`assess.intervals.user_scores`), and the filter of
left-to-right holds many particles at once (`infer.heldout.left_to_right`).
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
            w = unit * min(left, 1.0)
            if not fresh:
                n[z[token]] -= w
            state, u = splitmix(state)
            z[token] = pick_component(beta[codes[row]], share, u, p)
            n[z[token]] += w
            left -= min(left, 1.0)
            token += 1
    return state


@compiled
def longest_run(starts):
    """The most rows of one user."""
    longest = 0
    for m in range(len(starts) - 1):
        longest = max(longest, starts[m + 1] - starts[m])
    return longest


@compiled(fastmath=True, inline="always")
def sweep_active(codes, weight, beta, alpha, prior, z, counts, held, active, p, state):
    """Sweep once over a user's tokens, by the components that they are in; the new state.

    Parameters
    ----------
    codes, weight : (rows,) arrays
        Rows of the user, as in a block.
    beta : (Q², K) array of float32
        β of every ordered pair.
    alpha : (K,) array of float32
        The prior.
    prior : (Q²,) array of float32
        Σ_k β_k α_k of every ordered pair.
    z : (tokens,) array of int
        The component of each token; changed in place.
    counts : (K,) array of float32
        The weights of the tokens in each component; changed in place.
    held : (K,) array of int
        How many tokens are in each; changed in place.
    active : (K + 1,) array of uint64
        Components with tokens, in any order, and their number at the end; changed in place.
    p : (K,) array of float32
        Work space.
    state : uint64
        Of the random numbers.
    """
    # unsigned indices need no check for negative ones
    K, n_active, one, token = len(alpha), active[-1], np.uint64(1), 0
    for row in range(len(codes)):
        b, of_prior, left = beta[codes[row]], prior[codes[row]], weight[row]
        while left > 0.0:
            w = np.float32(min(left, 1.0))
            left -= 1.0
            k = np.uint64(z[token])
            counts[k] -= w
            held[k] -= 1
            if held[k] == 0:
                counts[k], j = 0, np.uint64(0)  # what rounding leaves of broken weights
                while active[j] != k:
                    j += one
                n_active -= one
                active[j] = active[n_active]
            total, j = np.float32(0), np.uint64(0)
            for i in range(n_active):
                total += b[active[i]] * counts[active[i]]
                p[i] = total
            state, u = splitmix(state)
            rest = np.float32(u) * (total + of_prior)
            for i in range(n_active):  # a search that ends early would guess wrong half the time
                j += np.uint64(p[i] <= rest)
            if j < n_active:
                k = active[j]
            else:
                rest -= total
                k, total = np.uint64(0), b[0] * alpha[0]
                while k < np.uint64(K - 1) and rest >= total:
                    k += one
                    total += b[k] * alpha[k]
            if held[k] == 0:
                active[n_active] = k
                n_active += one
            held[k] += 1
            counts[k] += w
            z[token] = k
            token += 1
    active[-1] = n_active
    return state


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
            w = min(left, 1.0)
            n[z[token]] += unit * w
            left -= w
            token += 1
