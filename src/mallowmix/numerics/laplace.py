"""Laplace's approximation for one person's utilities: a Gaussian prior and logistic answers.

u = s + d with d = V z + e on the items that the person compared, z ~ N(0, I), e ~ N(0, Ψ), and
answers "i over j" with probability σ(u_i − u_j). With F = Ψ⁻¹ V, B = I + Vᵀ F, and h = w σ (1 − σ)
of each answer in H, the negative Hessian of the log-likelihood, the precision of (d, z) is

    P = [ Ψ⁻¹ + H   −F ]
        [ −Fᵀ        B ]

    mode        of d by Newton's method, P (step, ·) = (g − S⁻¹ d, 0), where S = V Vᵀ + Ψ,
                S⁻¹ d = Ψ⁻¹ (d − V z) at z = B⁻¹ Fᵀ d, the mean of the factors given d
    covariance  of (d, z): P⁻¹
    evidence    Σ log σ − ½ dᵀ S⁻¹ d − ½ log det P − ½ log det Ψ

H has numbers only where the person compared two items. Without the factors, z, the matrix would
have no zeros; with them the factor U of P has few, if items that were compared seldom come first
and z last, and most persons compare most of their items once or twice.
"""

import numpy as np

from mallowmix.numerics.cholesky import factorise, log_determinant, solve
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import zero_rows, zeros

MAX_ITER = 30
MAX_HALVINGS = 12  # of a step
LEAST_GAIN = 1e-10  # a step is not halved for a smaller loss, which may be rounding
TOL = 1e-4  # of a step of Newton's method, after which the next would change nothing


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
    found, times = np.empty(2 * n, np.int64), np.zeros(2 * n, np.int64)
    for row in range(n):
        for item in (pair[row] // n_items, pair[row] % n_items):
            if number[item] < 0:
                number[item] = q
                found[q] = item
                q += 1
            times[number[item]] += 1
    first = np.zeros(n + 2, np.int64)  # where the items that were compared so often begin
    for x in range(q):
        first[times[x] + 1] += 1
    for t in range(1, n + 2):
        first[t] += first[t - 1]
    items, winner, loser = np.empty(q, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for x in range(q):
        at = first[times[x]]
        first[times[x]] += 1
        items[at], number[found[x]] = found[x], at
    for row in range(n):
        winner[row] = number[pair[row] // n_items]
        loser[row] = number[pair[row] % n_items]
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
    precision : (q,) array
        Ψ⁻¹.
    F : (q, r) array
        Ψ⁻¹ V.
    B : (r, r) array
        I + Vᵀ Ψ⁻¹ V, the precision of z, given d.
    root : (r, r) array
        Its Cholesky factor.
    log_det : float
        log det Ψ.
    """
    q, r = len(items), loadings.shape[1]
    precision, F, B, root = np.empty(q), np.empty((q, r)), zero_rows(r, r), np.empty((r, r))
    log_det = 0.0
    for x in range(q):
        precision[x] = 1 / variances[items[x]]
        log_det += np.log(variances[items[x]])
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
    factorise(root)
    return precision, F, B, root, log_det


@compiled
def mean_factors(d, F, root):
    """Return the mean of z, given d: B⁻¹ Fᵀ d."""
    z = zeros(F.shape[1])
    for x in range(len(d)):
        for a in range(len(z)):
            z[a] += F[x, a] * d[x]
    return solve(root, z)


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
def _log_joint(winner, loser, weight, offset, d, prior, pull):
    """Σ w log σ(o + d_i − d_j) − ½ dᵀ S⁻¹ d; S⁻¹ d is written into `pull`."""
    precision, F, _, root, _ = prior
    z, total = mean_factors(d, F, root), 0.0
    for x in range(len(d)):
        pull[x] = precision[x] * d[x]
        for a in range(len(z)):
            pull[x] -= F[x, a] * z[a]
        total -= 0.5 * d[x] * pull[x]
    for row in range(len(winner)):
        total += weight[row] * _log_logistic(offset[row] + d[winner[row]] - d[loser[row]])
    return total


@compiled
def _derivatives(winner, loser, weight, offset, d, prior, g, P):
    """Add the gradient of the log-likelihood at d to g; the upper triangle of P is written."""
    precision, F, B, _, _ = prior
    q, r = F.shape
    for x in range(q):
        for y in range(np.uint64(x + 1), np.uint64(q)):
            P[x, y] = 0.0
        P[x, x] = precision[x]
        for a in range(r):
            P[x, q + a] = -F[x, a]
    for a in range(r):
        for b in range(a, r):
            P[q + a, q + b] = B[a, b]
    for row in range(len(winner)):
        i, j, w = winner[row], loser[row], weight[row]
        p = logistic(offset[row] + d[i] - d[j])
        e, h = w * (1 - p), w * p * (1 - p)
        g[i] += e
        g[j] -= e
        P[i, i] += h
        P[j, j] += h
        P[min(i, j), max(i, j)] -= h


@compiled
def posterior_mode(winner, loser, weight, offset, prior, d, P, tol):
    """Find the posterior mode by Newton's method with halved steps.

    Parameters
    ----------
    winner, loser : (n,) arrays of int
        From `local_items`.
    weight : (n,) array
        What each answer counts for.
    offset : (n,) array
        s_i − s_j of each answer.
    prior : tuple
        From `local_prior`.
    d : (q,) array
        Where to begin; the mode is written into it.
    P : (q + r, q + r) array
        The Cholesky factor of the precision of (d, z) is written into it: its `inverse` is the
        posterior covariance.
    tol : float
        The step after which Newton's method ends. The mode is then off by about its square.

    Returns
    -------
    evidence : float
        The log evidence.
    """
    q = len(d)
    pull, g, new_d = np.empty(q), zeros(len(P)), np.empty(q)
    value = _log_joint(winner, loser, weight, offset, d, prior, pull)
    for _ in range(MAX_ITER):
        for x in range(q):
            g[x] = -pull[x]
        _derivatives(winner, loser, weight, offset, d, prior, g, P)
        factorise(P)
        step, length, longest, new = solve(P, g), 1.0, 0.0, value
        for _ in range(MAX_HALVINGS):
            for x in range(q):
                new_d[x] = d[x] + length * step[x]
            new = _log_joint(winner, loser, weight, offset, new_d, prior, pull)
            if new >= value - LEAST_GAIN:
                break
            length *= 0.5
        value = new
        for x in range(q):
            d[x] = new_d[x]
            longest = max(longest, abs(step[x]))
        if longest < tol:
            break
    return value - 0.5 * (log_determinant(P) + prior[4])
