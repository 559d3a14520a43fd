"""Laplace's approximation for one person's utilities: a Gaussian prior and logistic answers.

u = s + d with d ~ N(0, S) on the items that the person compared, and answers "i over j" with
probability σ(u_i − u_j). With g the gradient and H the negative Hessian of the log-likelihood,

    mode        d = S a, where (I + H S) a = H d + g          (Newton; at the mode a = g)
    covariance  S − S W S, where W = (I + H S)⁻¹ H
    evidence    Σ log σ − ½ aᵀ d − ½ log det(I + H S)

Nothing inverts S, so a covariance of low rank will do.
"""

import numba as nb
import numpy as np

MAX_ITER = 30
TOL = 1e-5


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
def local_covariance(covariance, items):
    """(q, q) the rows and columns of a person's items."""
    q = len(items)
    S = np.empty((q, q))
    for x in range(q):
        for y in range(q):
            S[x, y] = covariance[items[x], items[y]]
    return S


@nb.njit(cache=True, nogil=True, inline="always")
def logistic(x):
    """σ(x), without overflow."""
    if x >= 0:
        return 1 / (1 + np.exp(-x))
    e = np.exp(x)
    return e / (1 + e)


@nb.njit(cache=True, nogil=True, inline="always")
def _log_logistic(x):
    return -np.log1p(np.exp(-x)) if x > 0 else x - np.log1p(np.exp(x))


@nb.njit(cache=True, nogil=True)
def _log_joint(winner, loser, weight, offset, a, d):
    """Σ w log σ(o + d_i − d_j) − ½ aᵀ d."""
    total = -0.5 * np.dot(a, d)
    for row in range(len(winner)):
        total += weight[row] * _log_logistic(offset[row] + d[winner[row]] - d[loser[row]])
    return total


@nb.njit(cache=True, nogil=True)
def _derivatives(winner, loser, weight, offset, d, S, g, H, HS):
    """g, H and I + H S at d; H S is summed over rows, which is cheaper than a matrix product."""
    g[:], H[:], HS[:] = 0.0, 0.0, 0.0
    q = len(d)
    for row in range(len(winner)):
        i, j, w = winner[row], loser[row], weight[row]
        p = logistic(offset[row] + d[i] - d[j])
        e, h = w * (1 - p), w * p * (1 - p)
        g[i] += e
        g[j] -= e
        H[i, i] += h
        H[j, j] += h
        H[i, j] -= h
        H[j, i] -= h
        for x in range(q):
            change = h * (S[i, x] - S[j, x])
            HS[i, x] += change
            HS[j, x] -= change
    for x in range(q):
        HS[x, x] += 1.0


@nb.njit(cache=True, nogil=True)
def posterior_mode(winner, loser, weight, offset, S, a):
    """Find the posterior mode by Newton's method with halved steps.

    Parameters
    ----------
    winner, loser : (n,) arrays of int
        From `local_items`.
    weight : (n,) array
        What each answer counts for.
    offset : (n,) array
        s_i − s_j of each answer.
    S : (q, q) array
        The prior covariance.
    a : (q,) array
        Where to begin.

    Returns
    -------
    a, g : (q,) arrays
        The mode is d = S a; g is the gradient there.
    W : (q, q) array
        The posterior covariance is S − S W S.
    evidence : float
        The log evidence.
    """
    q = len(S)
    g, H, HS = np.empty(q), np.empty((q, q)), np.empty((q, q))
    d = S @ a
    value = _log_joint(winner, loser, weight, offset, a, d)
    for _ in range(MAX_ITER):
        _derivatives(winner, loser, weight, offset, d, S, g, H, HS)
        if np.max(np.abs(g - a)) < TOL:
            break
        step_a = np.linalg.solve(HS, H @ d + g) - a
        step_d, length = S @ step_a, 1.0
        for _ in range(12):
            new_a, new_d = a + length * step_a, d + length * step_d
            new = _log_joint(winner, loser, weight, offset, new_a, new_d)
            if new >= value - 1e-10:
                break
            length *= 0.5
        a, d, value = new_a, new_d, new
    else:
        _derivatives(winner, loser, weight, offset, d, S, g, H, HS)
    W = np.linalg.solve(HS, H)
    _, log_det = np.linalg.slogdet(HS)
    return a, g, W, value - 0.5 * log_det
