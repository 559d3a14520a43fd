"""One person's items, numbered from 0, and the prior and the offsets of answers that go with them.

For `numerics.laplace`, which has the notation.
"""

import numpy as np

from mallowmix.numerics.cholesky import factorise, no_zeros
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import (
    empty,
    empty_integers,
    empty_rows,
    zero_integers,
    zero_rows,
)


@compiled
def local_items(pair, n_items, number):
    """Number the items of one person, those compared least often first.

    Parameters
    ----------
    pair : (n,) array of int
        The person's ordered pairs, winner · Q + loser.
    n_items : int
        Q.
    number : (Q,) array of int
        Work space, −1 everywhere before and after.

    Returns
    -------
    items : (q,) array of int
        The person's items.
    winner, loser : (n,) arrays of int
        The rows, as indices into `items`.
    """
    n, q = len(pair), 0
    winner, loser = empty_integers(n), empty_integers(n)
    found, times = empty_integers(2 * n), zero_integers(2 * n)
    for row in range(n):
        i = pair[row] // n_items
        for item in (i, pair[row] - i * n_items):
            if number[item] < 0:
                number[item] = q
                found[q] = item
                q += 1
            times[number[item]] += 1
        winner[row], loser[row] = number[i], number[pair[row] - i * n_items]
    first = zero_integers(n + 2)  # where the items that were compared so often begin
    for x in range(q):
        first[times[x] + 1] += 1
    for t in range(1, n + 2):
        first[t] += first[t - 1]
    items = empty_integers(q)
    for x in range(q):
        at = first[times[x]]
        first[times[x]] += 1
        items[at], number[found[x]] = found[x], -1
        times[x] = at
    for row in range(n):
        winner[row], loser[row] = times[winner[row]], times[loser[row]]
    return items, winner, loser


@compiled
def local_prior(loadings, variances, items):
    """Compute what a person's prior needs.

    Parameters
    ----------
    loadings : (Q, r) array
        V of all items.
    variances : (Q,) array
        Ψ of all items, above 0.
    items : (q,) array of int
        The person's items.

    Returns
    -------
    precision : (q,) array
        Ψ⁻¹.
    F : (q, r) array
        Ψ⁻¹ V.
    B : (r, r) array
        I + Vᵀ Ψ⁻¹ V, the precision of z, given d.
    root : (r, r) array
        Its factor (`numerics.cholesky`).
    log_det : float
        log det Ψ.
    """
    q, r = len(items), loadings.shape[1]
    precision, F, B, root = empty(q), empty_rows(q, r), zero_rows(r, r), empty_rows(r, r)
    log_det, product = 0.0, 1.0
    for x in range(q):
        variance = variances[items[x]]
        precision[x] = 1 / variance
        product *= variance  # one logarithm for many items
        if not 1e-100 < product < 1e100:
            log_det += np.log(product)
            product = 1.0
        for a in range(r):
            F[x, a] = loadings[items[x], a] * precision[x]
    for x in range(q):
        for a in range(r):
            v = loadings[items[x], a]
            for b in range(a, r):
                B[a, b] += v * F[x, b]
    for a in range(r):
        B[a, a] += 1.0
        for b in range(a, r):
            root[a, b] = B[b, a] = B[a, b]
    factorise(root, *no_zeros())
    return precision, F, B, root, log_det + np.log(product)


@compiled
def component_offsets(winner, loser, weight, items, means, log_shares, own, offset):
    """Write s_ki − s_kj of each answer into `offset`; the component that explains them best.

    In a rough way: the one with the largest log π_k + Σ w min(s_ki − s_kj, 0). `own` is room for
    s_k of the items.
    """
    best, likeliest = -np.inf, 0
    for k in range(len(means)):
        for x in range(len(items)):
            own[x] = means[k, np.uint64(items[x])]
        total = log_shares[k]
        for row in range(len(winner)):
            gap = own[np.uint64(winner[row])] - own[np.uint64(loser[row])]
            offset[k, row] = gap
            total += weight[row] * min(gap, 0.0)
        if total > best:
            best, likeliest = total, k
    return likeliest
