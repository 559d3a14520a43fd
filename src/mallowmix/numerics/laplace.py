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
    V, scaled = np.empty((q, r)), np.empty((q, r))
    log_det = 0.0
    for x in range(q):
        V[x] = loadings[items[x]]
        scaled[x] = V[x] / variances[items[x]]
        log_det += np.log(variances[items[x]])
    B = V.T @ scaled
    for y in range(r):
        B[y, y] += 1.0
    factorise(B)
    log_det += log_determinant(B)
    B_inverse = inverse(B)
    R = scaled @ B_inverse
    precision = -(R @ scaled.T)
    for x in range(q):
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
def _log_joint(winner, loser, weight, offset, d, precision):
    """Σ w log σ(o + d_i − d_j) − ½ dᵀ S⁻¹ d."""
    total = -0.5 * np.dot(d, precision @ d)
    for row in range(len(winner)):
        total += weight[row] * _log_logistic(offset[row] + d[winner[row]] - d[loser[row]])
    return total


@compiled
def _derivatives(winner, loser, weight, offset, d, precision, g, P):
    """Compute g − S⁻¹ d and S⁻¹ + H at d."""
    g[:] = -(precision @ d)
    P[:] = precision
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
def posterior_mode(winner, loser, weight, offset, precision, log_det, d):
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
        Where to begin.

    Returns
    -------
    d : (q,) array
        The mode.
    factor : (q, q) array
        The Cholesky factor of S⁻¹ + H: its `inverse` is the posterior covariance.
    evidence : float
        The log evidence.
    """
    q = len(d)
    g, P = np.empty(q), np.empty((q, q))
    value = _log_joint(winner, loser, weight, offset, d, precision)
    for _ in range(MAX_ITER):
        _derivatives(winner, loser, weight, offset, d, precision, g, P)
        factorise(P)
        step, length = solve(P, g), 1.0
        for _ in range(12):
            new_d = d + length * step
            new = _log_joint(winner, loser, weight, offset, new_d, precision)
            if new >= value - 1e-10:
                break
            length *= 0.5
        d, value = new_d, new
        if np.max(np.abs(step)) < TOL:
            break
    return d, P, value - 0.5 * (log_determinant(P) + log_det)
