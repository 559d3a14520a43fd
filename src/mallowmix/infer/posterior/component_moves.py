"""Moves of one component, given users' weights: its ranking σ_k by insertions, its dispersion φ_k.

The likelihood is direct, without tokens: Π_rows (base + θ_k β_k)^power, base = Σ_{j≠k} θ_j β_j. An
insertion takes an item to another position and shifts those between; next to each other it is a
swap. Only rows of pairs whose gap changes are looked at: rows are in the order of pairs.
"""

import numpy as np

from mallowmix.infer.posterior.alpha_moves import normal_draw
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, splitmix
from mallowmix.numerics.token_gibbs import user_stream

_COMPONENTS = int(Step.POSTERIOR_COMPONENTS)
_LEAST = 1e-12  # β, so that the probability of a row is never 0
_FAR = 0.2  # the share of insertions whose distance may be any


@compiled
def fill_gaps(phi, gaps):
    """Fill `gaps` with β by gap, from −(Q − 1) to Q − 1: that an item so far above another wins."""
    Q = (len(gaps) + 1) // 2
    power, h, up, down = 1.0, 1.0, 0.0, 0.0  # φ^{g−1}, h(g), Σ_{l<g} (l+1) φ^l, Σ_{l≤g} h(l)
    gaps[Q - 1] = 0.5
    for g in range(1, Q):
        up += g * power
        down += h
        power *= phi
        both = h * (h + power)  # h(g) h(g + 1)
        gaps[Q - 1 + g] = min(up / both, 1.0 - _LEAST)
        gaps[Q - 1 - g] = max(power * down / both, _LEAST)
        h += power


@compiled
def fill_beta(sigma, gaps, beta):
    """Fill `beta` (Q²,) with β of every ordered pair."""
    Q = len(sigma)
    for i in range(Q):
        for j in range(Q):
            beta[i * Q + j] = gaps[Q - 1 + sigma[j] - sigma[i]]


@compiled(fastmath=True, inline="always")
def _add_rows(sums, first, last, base, own, power, old, new):
    """Add Σ power · log((base + θ_k β')/(base + θ_k β)) over the rows of one ordered pair.

    `sums` is what is added up so far, a product whose logarithm is not taken yet, and its power.
    """
    total, product, now = sums
    for row in range(first, last):
        # factors with one power are multiplied up before a logarithm is taken
        if power[row] != now or not 1e-200 < product < 1e200:
            total += now * np.log(product)
            product, now = 1.0, power[row]
        product *= (base[row] + own[row] * new) / (base[row] + own[row] * old)
    return total, product, now


@compiled
def _insertion_ratio(pair_starts, base, own, power, gaps, order, r, s):
    """The log ratio of the likelihoods after and before the item at position r goes to s."""
    Q, sums = len(order), (0.0, 1.0, 1.0)
    low, high = min(r, s), max(r, s)
    shift = -1 if s > r else 1
    for q in range(low, high + 1):
        new_q = s if q == r else q + shift
        for p in range(Q):
            inside = low <= p <= high
            new_p = s if p == r else p + shift if inside else p
            if (inside and p <= q) or new_p - new_q == p - q:
                continue  # counted already, or the same gap
            a, b = order[q], order[p]
            for code, sign in ((a * Q + b, 1), (b * Q + a, -1)):
                first, last = pair_starts[code], pair_starts[code + 1]
                if first < last:
                    old, new = gaps[Q - 1 + sign * (p - q)], gaps[Q - 1 + sign * (new_p - new_q)]
                    sums = _add_rows(sums, first, last, base, own, power, old, new)
    return sums[0] + sums[2] * np.log(sums[1])


@compiled
def distance_change(reference, order, r, s):
    """How Kendall's distance to the reference changes when the item at r goes to s."""
    change, item = 0, order[r]
    for p in range(min(r, s), max(r, s) + 1):
        if p != r:
            above = reference[item] < reference[order[p]]
            change += 1 if above == (s > r) else -1
    return change


@compiled
def propose_insertion(state, Q, reach):
    """A new state, the item's position r and the new one s; s may lie outside, which is refused.

    The distance |s − r| is uniform from 1 to `reach` in most proposals; in the others it is about
    as often from 1 to 2 as from 2 to 4 and so on.
    """
    state, u = splitmix(state)
    state, far = splitmix(state)
    state, v = splitmix(state)
    state, side = splitmix(state)
    r = min(int(u * Q), Q - 1)
    distance = int(np.exp(v * np.log(Q))) if far < _FAR else 1 + int(v * reach)
    return state, r, r + distance if side < 0.5 else r - distance


@compiled
def move_item(order, sigma, r, s):
    """Take the item at position r to s, in both arrays."""
    item, shift = order[r], 1 if s > r else -1
    p = r
    while p != s:
        order[p] = order[p + shift]
        sigma[order[p]] = p
        p += shift
    order[s] = item
    sigma[item] = s


@compiled
def _split_rows(pair_starts, row_user, theta, beta, k, base, own):
    """Fill base = Σ_{j≠k} θ_j β_j and own = θ_k of every row."""
    K = theta.shape[1]
    for code in range(len(pair_starts) - 1):
        for row in range(pair_starts[code], pair_starts[code + 1]):
            m, total = row_user[row], 0.0
            for j in range(K):
                if j != k:
                    total += theta[m, j] * beta[code, j]
            base[row], own[row] = total, theta[m, k]


@compiled
def _dispersion_ratio(pair_starts, base, own, power, sigma, old, new):
    """The log ratio of the likelihoods with β by gap `new` and `old`."""
    Q, sums = len(sigma), (0.0, 1.0, 1.0)
    for i in range(Q):
        for j in range(Q):
            first, last = pair_starts[i * Q + j], pair_starts[i * Q + j + 1]
            if first < last:
                gap = Q - 1 + sigma[j] - sigma[i]
                sums = _add_rows(sums, first, last, base, own, power, old[gap], new[gap])
    return sums[0] + sums[2] * np.log(sums[1])


@compiled
def log_beta_density(phi, prior):
    """The log density of logit φ for φ ~ Beta(a, b), but for a constant."""
    return prior[0] * np.log(phi) + prior[1] * np.log(1.0 - phi)


@compiled
def walk_on_logit(state, phi, scale):
    """A new state and a proposal for φ, strictly between 0 and 1."""
    state, walk = normal_draw(state)
    logit = np.log(phi) - np.log(1.0 - phi) + scale * walk
    return state, min(max(1.0 / (1.0 + np.exp(-logit)), 1e-12), 1.0 - 1e-12)


@compiled
def move_component(
    pair_starts,
    row_user,
    power,
    theta,
    beta,
    sigma,
    phi,
    k,
    reference,
    log_crowd_phi,
    prior,
    reach,
    scale,
    n_insertions,
    rounds,
    heat,
    key,
    step,
):
    """Move σ_k and φ_k in place; the mean probabilities of acceptance of both.

    Parameters
    ----------
    pair_starts, row_user, power
        Of `PosteriorData`.
    theta : (M, K) array
        Users' weights.
    beta : (Q², K) array
        β of every ordered pair; the column k is changed in place.
    sigma, phi : (K, Q) and (K,) arrays
        Changed in place, at k.
    reference, log_crowd_phi
        Positions of the crowd's ranking and log φ_0; 0 is the uniform prior of rankings.
    prior : (2,) array
        a and b of φ ~ Beta(a, b).
    reach : float
        How far most insertions go at most.
    scale : float
        Of the walk on the logit of φ.
    n_insertions, rounds : int
        How many proposals for σ, and for φ.
    heat : float
        The power of the likelihood in moves of σ: 1, less while a chain warms up.
    key, step
        Of the random numbers.
    """
    Q, n = sigma.shape[1], len(row_user)
    base, own = np.empty(n), np.empty(n)
    _split_rows(pair_starts, row_user, theta, beta, k, base, own)
    gaps, new_gaps = np.empty(2 * Q - 1), np.empty(2 * Q - 1)
    fill_gaps(phi[k], gaps)
    order = np.argsort(sigma[k])
    state = user_stream(key, k, _COMPONENTS, step)
    inserted, proposed, accepted = 0.0, 0, 0.0
    for _ in range(n_insertions if Q > 1 else 0):
        state, r, s = propose_insertion(state, Q, reach)
        state, coin = splitmix(state)
        if 0 <= s < Q:
            ratio = heat * _insertion_ratio(pair_starts, base, own, power, gaps, order, r, s)
            if log_crowd_phi != 0.0:
                ratio += log_crowd_phi * distance_change(reference, order, r, s)
            inserted, proposed = inserted + np.exp(min(ratio, 0.0)), proposed + 1
            if np.log(1.0 - coin) < ratio:
                move_item(order, sigma[k], r, s)
    for _ in range(rounds):
        state, new = walk_on_logit(state, phi[k], scale)
        fill_gaps(new, new_gaps)
        ratio = _dispersion_ratio(pair_starts, base, own, power, sigma[k], gaps, new_gaps)
        ratio += log_beta_density(new, prior) - log_beta_density(phi[k], prior)
        accepted += np.exp(min(ratio, 0.0)) / rounds
        state, coin = splitmix(state)
        if np.log(1.0 - coin) < ratio:
            phi[k], gaps[:] = new, new_gaps
    fill_beta(sigma[k], gaps, beta[:, k])
    return inserted / max(proposed, 1), accepted


@compiled
def total_log_likelihood(starts, pair, power, theta, beta):
    """Σ power · log Σ_k θ_k β_k over all rows."""
    total = 0.0
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            p = 0.0
            for k in range(theta.shape[1]):
                p += theta[m, k] * beta[pair[row], k]
            total += power[row] * np.log(p)
    return total
