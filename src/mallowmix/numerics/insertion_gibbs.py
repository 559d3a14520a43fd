"""Gibbs sampling of one person's ranking by insertion: take an item out, weigh all positions, put it back.

With the item i above an item j instead of below it, the log probability changes by

    ± log φ          (− where the reference has i above j: that agreement is a pair fewer of Kendall's distance)
    + λ · net_ij     (λ = log((1 − ε)/ε), net_ij = answers "i over j" less answers "j over i")

so one pass down the ranking weighs all positions. The conditional probability that i is above j, given
all other items, is the sum of the weights above j: averaged over sweeps it estimates P(i over j) with
far less noise than counting draws would.
"""

import numba as nb
import numpy as np

from mallowmix.numerics.randomness import uniforms


@nb.njit(cache=True, nogil=True)
def sweep(order, position, reference, log_phi, log_odds, net, above, key, step, user, draw):
    """Every item once. `order` and `position` are the ranking, changed in place; P(i above j | the rest) is added to `above`."""
    Q = len(order)
    weight, rest = np.empty(Q), np.empty(Q - 1, np.int64)
    for item in range(Q):
        n = 0
        for r in range(Q):
            if order[r] != item:
                rest[n] = order[r]
                n += 1
        weight[0] = 0.0
        for r in range(Q - 1):  # below one item more
            other = rest[r]
            agrees = reference[item] < reference[other]
            change = log_phi if agrees else -log_phi
            weight[r + 1] = weight[r] + change - log_odds * net[item, other]
        top = weight.max()
        for r in range(Q):
            weight[r] = np.exp(weight[r] - top)
        total = weight.sum()
        u, _ = uniforms(key, step, user, item, draw)
        limit, cumulative, at = u * total, 0.0, Q - 1
        chosen = False
        for r in range(Q):
            cumulative += weight[r]
            if r < Q - 1:
                above[item, rest[r]] += cumulative / total
            if not chosen and cumulative > limit:
                at, chosen = r, True
        for r in range(Q):
            order[r] = rest[r] if r < at else (item if r == at else rest[r - 1])
            position[order[r]] = r


@nb.njit(cache=True, nogil=True)
def kendall_distance(position, reference, order):
    """Pairs that the ranking and the reference order differently."""
    Q, count = len(order), 0
    for r in range(Q):
        for t in range(r + 1, Q):
            count += reference[order[r]] > reference[order[t]]
    return count


@nb.njit(cache=True, nogil=True)
def net_answers(pair, weight, Q, net):
    """Answers "i over j" less answers "j over i", written into `net`."""
    for row in range(len(pair)):
        i, j = pair[row] // Q, pair[row] % Q
        net[i, j] += weight[row]
        net[j, i] -= weight[row]


@nb.njit(cache=True, nogil=True)
def clear_answers(pair, Q, net):
    """`net` back to 0."""
    for row in range(len(pair)):
        i, j = pair[row] // Q, pair[row] % Q
        net[i, j] = 0.0
        net[j, i] = 0.0


@nb.njit(cache=True, nogil=True)
def draw_component(log_weight, u):
    """A component in proportion to exp(log_weight), by one uniform number."""
    weight = np.exp(log_weight - log_weight.max())
    limit, cumulative = u * weight.sum(), 0.0
    for k in range(len(weight)):
        cumulative += weight[k]
        if cumulative > limit:
            return k
    return len(weight) - 1


@nb.njit(cache=True, nogil=True)
def component_weights(order, position, sigma, log_phi, log_prior):
    """Log π_k − log Z(φ_k) + d(ranking, σ_k) log φ_k for each component."""
    out = log_prior.copy()
    for k in range(len(out)):
        out[k] += log_phi[k] * kendall_distance(position, sigma[k], order)
    return out


@nb.njit(cache=True, nogil=True)
def independent_weights(pair, weight, log_share, log_table):
    """Log π_k + Σ log β_k of the answers, taken as independent: where a chain's component begins."""
    out = log_share.copy()
    for row in range(len(pair)):
        for k in range(len(out)):
            out[k] += weight[row] * log_table[pair[row], k]
    return out
