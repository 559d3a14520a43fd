"""Laplace's approximation for one person's utilities: a Gaussian prior and logistic answers.

u = s + d with d ~ N(0, S), S = V Vᵀ + Ψ on the items that the person compared, and answers "i over
j" with probability σ(u_i − u_j). With g the gradient and H the negative Hessian of the
log-likelihood,

    mode        (S⁻¹ + H) step = g − S⁻¹ d                    (Newton)
    covariance  C = (S⁻¹ + H)⁻¹
    evidence    Σ log σ − ½ dᵀ S⁻¹ d − ½ log det(S⁻¹ + H) − ½ log det S

d = V z + e has factors z ~ N(0, I). Given d, z is Gaussian with mean Rᵀ d and covariance B⁻¹, where
B = I + Vᵀ Ψ⁻¹ V and R = Ψ⁻¹ V B⁻¹; and S⁻¹ = Ψ⁻¹ − R Vᵀ Ψ⁻¹ costs no inverse of S.
"""

import numpy as np

from mallowmix.numerics.cholesky import factorise, inverse, log_determinant, solve
from mallowmix.numerics.compiled import compiled

MAX_ITER = 30
TOL = 1e-4  # of a step of Newton's method, after which the next would change nothing


@compiled
def local_items(pair, n_items, number):
    """Number the items of one person.

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
    n = len(pair)
    items, winner, loser = np.empty(2 * n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    q = 0
    for row in range(n):
        for item in (pair[row] // n_items, pair[row] % n_items):
            if number[item] < 0:
                number[item] = q
                items[q] = item
                q += 1
        winner[row] = number[pair[row] // n_items]
        loser[row] = number[pair[row] % n_items]
    items = items[:q].copy()
    for item in items:
        number[item] = -1
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
    V : (q, r) array
        Their loadings.
    precision : (q, q) array
        S⁻¹.
    log_det : float
        log det S.
    R : (q, r) array
        The mean of z, given d, is Rᵀ d.
    B_inverse : (r, r) array
        The covariance of z, given d.
    """
    q, r = len(items), loadings.shape[1]
    V, scaled, R = np.empty((q, r)), np.empty((q, r)), np.zeros((q, r))
    B, precision, log_det = np.zeros((r, r)), np.zeros((q, q)), 0.0
    for x in range(q):
        log_det += np.log(variances[items[x]])
        for a in range(r):
            V[x, a] = loadings[items[x], a]
            scaled[x, a] = V[x, a] / variances[items[x]]
    for a in range(r):
        B[a, a] = 1.0
        for x in range(q):
            for b in range(r):
                B[a, b] += V[x, a] * scaled[x, b]
    factorise(B)
    log_det += log_determinant(B)
    B_inverse = inverse(B)
    for x in range(q):
        for a in range(r):
            for b in range(r):
                R[x, b] += scaled[x, a] * B_inverse[a, b]
        for y in range(q):
            for a in range(r):
                precision[x, y] -= R[x, a] * scaled[y, a]
        precision[x, x] += 1.0 / variances[items[x]]
    return V, precision, log_det, R, B_inverse


@compiled(inline="always")
def logistic(x):
    """σ(x), without overflow."""
    if x >= 0:
        return 1 / (1 + np.exp(-x))
    e = np.exp(x)
    return e / (1 + e)


@compiled(inline="always")
def _log_logistic(x):
    return -np.log1p(np.exp(-x)) if x > 0 else x - np.log1p(np.exp(x))


@compiled
def _log_joint(winner, loser, weight, offset, d, precision, pull):
    """Σ w log σ(o + d_i − d_j) − ½ dᵀ S⁻¹ d; S⁻¹ d is written into `pull`."""
    q, total = len(d), 0.0
    for x in range(q):
        pull[x] = 0.0
    for y in range(q):  # S⁻¹ is symmetric: by rows, which lie side by side in memory
        for x in range(q):
            pull[x] += precision[y, x] * d[y]
    for x in range(q):
        total -= 0.5 * d[x] * pull[x]
    for row in range(len(winner)):
        total += weight[row] * _log_logistic(offset[row] + d[winner[row]] - d[loser[row]])
    return total


@compiled
def _derivatives(winner, loser, weight, offset, d, precision, g, P):
    """Add the gradient of the log-likelihood at d to g; P becomes S⁻¹ + H."""
    q = len(d)
    for x in range(q):
        for y in range(q):
            P[x, y] = precision[x, y]
    for row in range(len(winner)):
        i, j, w = winner[row], loser[row], weight[row]
        p = logistic(offset[row] + d[i] - d[j])
        e, h = w * (1 - p), w * p * (1 - p)
        g[i] += e
        g[j] -= e
        P[i, i] += h
        P[j, j] += h
        P[i, j] -= h
        P[j, i] -= h


@compiled
def posterior_mode(winner, loser, weight, offset, precision, log_det, d, P, tol):
    """Find the posterior mode by Newton's method with halved steps.

    Parameters
    ----------
    winner, loser : (n,) arrays of int
        From `local_items`.
    weight : (n,) array
        What each answer counts for.
    offset : (n,) array
        s_i − s_j of each answer.
    precision, log_det
        S⁻¹ and log det S, from `local_prior`.
    d : (q,) array
        Where to begin; the mode is written into it.
    P : (q, q) array
        The Cholesky factor of S⁻¹ + H is written into it: its `inverse` is the posterior
        covariance.
    tol : float
        The step after which Newton's method ends. The mode is then off by about its square.

    Returns
    -------
    evidence : float
        The log evidence.
    """
    q = len(d)
    pull, g, new_d = np.empty(q), np.empty(q), np.empty(q)
    value = _log_joint(winner, loser, weight, offset, d, precision, pull)
    for _ in range(MAX_ITER):
        for x in range(q):
            g[x] = -pull[x]
        _derivatives(winner, loser, weight, offset, d, precision, g, P)
        factorise(P)
        step, length, longest, new = solve(P, g), 1.0, 0.0, value
        for _ in range(12):
            for x in range(q):
                new_d[x] = d[x] + length * step[x]
            new = _log_joint(winner, loser, weight, offset, new_d, precision, pull)
            if new >= value - 1e-10:
                break
            length *= 0.5
        value = new
        for x in range(q):
            d[x] = new_d[x]
            longest = max(longest, abs(step[x]))
        if longest < tol:
            break
    return value - 0.5 * (log_determinant(P) + log_det)
