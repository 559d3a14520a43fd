"""Gibbs sampling of one person's ranking by insertion.

A step takes an item out, weighs all positions, and puts it back at one of them. With the item i
above an item j instead of below it, the log probability changes by

    ± log φ          (− where the reference has i above j: Kendall's distance is then one less)
    + λ · net_ij     (λ = log((1 − ε)/ε), net_ij = answers "i over j" less answers "j over i")

so one pass down the ranking weighs all positions. The conditional probability that i is above j,
given all other items, is the sum of the weights above j: averaged over sweeps it estimates
P(i over j) with far less noise than counting draws would.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import uniforms
from mallowmix.numerics.work_arrays import empty, empty_integers


@compiled(inline="always")
def _weigh(item, rest, reference, phi, log_odds, net, weight):
    """The weight of each position, by products; False where they would over- or underflow."""
    down, up = phi, 1 / phi
    now = 1.0
    weight[0] = now
    for r in range(len(rest)):  # below one item more
        other = rest[r]
        now *= down if reference[item] < reference[other] else up
        answers = net[item, other]
        if answers != 0:
            now *= np.exp(-log_odds * answers)
        weight[r + 1] = now
        if not 1e-150 < now < 1e150:
            return False
    return True


@compiled(inline="always")
def _weigh_by_logarithms(item, rest, reference, phi, log_odds, net, weight):
    """The same, up to a factor, in any range."""
    log_phi = np.log(phi)
    weight[0] = 0.0
    for r in range(len(rest)):
        other = rest[r]
        change = log_phi if reference[item] < reference[other] else -log_phi
        weight[r + 1] = weight[r] + change - log_odds * net[item, other]
    top = -np.inf
    for r in range(len(weight)):
        top = max(top, weight[r])
    for r in range(len(weight)):
        weight[r] = np.exp(weight[r] - top)


@compiled
def sweep(order, position, reference, log_phi, log_odds, net, above, key, step, user, draw):
    """Take out and put back every item once.

    Parameters
    ----------
    order, position : (Q,) arrays of int
        The ranking: items, best first, and each item's position; both are changed in place.
    reference : (Q,) array of int
        Positions of the items in the reference, 0 is best.
    log_phi, log_odds : float
        log φ and λ.
    net : (Q, Q) array
        From `net_answers`.
    above : (Q, Q) array
        P(i above j | all other items) is added to it.
    key, step, user, draw
        Counters of the random numbers (`numerics.randomness.uniforms`).
    """
    Q, phi = len(order), np.exp(log_phi)
    weight, rest = empty(Q), empty_integers(Q - 1)
    for item in range(Q):
        n = 0
        for r in range(Q):
            if order[r] != item:
                rest[n] = order[r]
                n += 1
        if not _weigh(item, rest, reference, phi, log_odds, net, weight):
            _weigh_by_logarithms(item, rest, reference, phi, log_odds, net, weight)
        total = 0.0
        for r in range(Q):
            total += weight[r]
        u, _ = uniforms(key, step, user, item, draw)
        cumulative, at, scale = 0.0, 0, 1 / total
        for r in range(Q - 1):
            cumulative += weight[r] * scale
            above[item, rest[r]] += cumulative
            at += cumulative <= u
        for r in range(Q):
            order[r] = rest[r] if r < at else (item if r == at else rest[r - 1])
            position[order[r]] = r


@compiled
def kendall_distance(position, reference, order):
    """Pairs that the ranking and the reference order differently."""
    Q, count = len(order), 0
    for r in range(Q):
        for t in range(r + 1, Q):
            count += reference[order[r]] > reference[order[t]]
    return count


@compiled
def net_answers(pair, weight, Q, net):
    """Answers "i over j" less answers "j over i", written into `net`."""
    for row in range(len(pair)):
        i, j = pair[row] // Q, pair[row] % Q
        net[i, j] += weight[row]
        net[j, i] -= weight[row]


@compiled
def clear_answers(pair, Q, net):
    """`net` back to 0."""
    for row in range(len(pair)):
        i, j = pair[row] // Q, pair[row] % Q
        net[i, j] = 0.0
        net[j, i] = 0.0


@compiled
def draw_component(log_weight, u):
    """A component in proportion to exp(log_weight), by one uniform number."""
    K, top, total, cumulative = len(log_weight), -np.inf, 0.0, 0.0
    for k in range(K):
        top = max(top, log_weight[k])
    for k in range(K):
        total += np.exp(log_weight[k] - top)
    for k in range(K):
        cumulative += np.exp(log_weight[k] - top)
        if cumulative > u * total:
            return k
    return K - 1


@compiled
def component_weights(order, position, sigma, log_phi, log_prior):
    """Log π_k − log Z(φ_k) + d(ranking, σ_k) log φ_k for each component."""
    out = empty(len(log_prior))
    for k in range(len(out)):
        out[k] = log_prior[k] + log_phi[k] * kendall_distance(position, sigma[k], order)
    return out


@compiled
def independent_weights(pair, weight, log_share, log_table):
    """Log π_k + Σ log β_k of the answers, taken as independent: for a chain's first component."""
    out = empty(len(log_share))
    for k in range(len(out)):
        out[k] = log_share[k]
    for row in range(len(pair)):
        for k in range(len(out)):
            out[k] += weight[row] * log_table[pair[row], k]
    return out
