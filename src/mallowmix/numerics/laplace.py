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
have no zeros; with them the factor U of P has few (`cholesky.elimination`), if items that were
compared seldom come first and z last, and most persons compare most of their items once or twice.

An answer that is improbable where Newton's method begins has next to no curvature there, and the
step is far too long. The first step takes the curvature of a bound on log σ for it (Jaakkola and
Jordan 2000), (σ(x) − ½) / x at x < 0, which cannot be too small.
"""

import numpy as np

from mallowmix.numerics.cholesky import (
    back_substitute,
    factorise,
    log_determinant,
    no_zeros,
    solve,
)
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import (
    empty,
    empty_integers,
    empty_rows,
    zero_integers,
    zero_rows,
    zeros,
)

MAX_ITER = 30
MAX_SHORTER = 12  # times that a step is shortened
LEAST_GAIN = 1e-10  # a step is not shortened for a smaller loss, which may be rounding
MUCH_BELOW = -1e-3  # a gap of utilities where the bound has another curvature
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
    found, times = empty_integers(2 * n), zero_integers(2 * n)
    for row in range(n):
        for item in (pair[row] // n_items, pair[row] % n_items):
            if number[item] < 0:
                number[item] = q
                found[q] = item
                q += 1
            times[number[item]] += 1
    first = zero_integers(n + 2)  # where the items that were compared so often begin
    for x in range(q):
        first[times[x] + 1] += 1
    for t in range(1, n + 2):
        first[t] += first[t - 1]
    items, winner, loser = empty_integers(q), empty_integers(n), empty_integers(n)
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
        Its factor (`numerics.cholesky`).
    log_det : float
        log det Ψ.
    """
    q, r = len(items), loadings.shape[1]
    precision, F, B, root = empty(q), empty_rows(q, r), zero_rows(r, r), empty_rows(r, r)
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
    factorise(root, *no_zeros())
    return precision, F, B, root, log_det


@compiled(inline="always")
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


@compiled
def joint_density(winner, loser, weight, offset, x, prior, bounded, g, h):
    """Σ w log σ(o + d_i − d_j) − ½ dᵀ S⁻¹ d at x = (d, z), with z the mean given d.

    The gradient is written into `g`, the curvature of each answer, w σ (1 − σ), into `h`; where
    the gap of utilities is below `bounded`, a number below 0, that of the bound.
    """
    precision, F, _, _, _ = prior
    (q, r), total, product = F.shape, 0.0, 1.0
    for i in range(q):
        pull = precision[i] * x[i]
        for a in range(r):
            pull -= F[i, a] * x[q + a]
        g[i] = -pull
        total -= 0.5 * x[i] * pull
    for row in range(len(winner)):
        i, j, w = winner[row], loser[row], weight[row]
        t = offset[row] + x[i] - x[j]
        e = np.exp(-abs(t))
        larger = 1 / (1 + e)  # of σ(t) and σ(−t)
        rest, h[row] = w * (larger if t < 0 else e * larger), w * e * larger * larger
        g[i] += rest
        g[j] -= rest
        if t < 0:
            total += w * t
            if t < bounded:
                h[row] = w * (e * larger - 0.5) / t
        if w == 1:
            product *= 1 + e  # one logarithm for many answers
            if product > 1e100:
                total -= np.log(product)
                product = 1.0
        else:
            total -= w * np.log1p(e)
    return total - np.log(product)


@compiled(inline="always")
def write_precision(winner, loser, h, prior, pattern, g, P):
    """Write the upper triangle of P, where it can have numbers, and the gradient beside it."""
    precision, F, B, _, _ = prior
    (q, r), (starts, columns) = F.shape, pattern
    m = len(starts) - 1
    for k in range(m):
        for t in range(starts[k], starts[k + 1]):
            P[k, columns[t]] = 0.0
    for k in range(m, q):
        for x in range(np.uint64(k + 1), np.uint64(q)):
            P[k, x] = 0.0
    for k in range(q):
        P[k, k], P[k, q + r] = precision[k], g[k]
        for a in range(r):
            P[k, q + a] = -F[k, a]
    for a in range(r):
        P[q + a, q + r] = 0.0
        for b in range(a, r):
            P[q + a, q + b] = B[a, b]
    for row in range(len(winner)):
        i, j = winner[row], loser[row]
        P[i, i] += h[row]
        P[j, j] += h[row]
        P[min(i, j), max(i, j)] -= h[row]


@compiled
def posterior_mode(winner, loser, weight, offset, prior, pattern, x, P, tol):
    """Find the posterior mode by Newton's method with shortened steps.

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
    pattern : tuple
        Where the factor of P has numbers, from `cholesky.elimination`.
    x : (q + r,) array
        Begins with the d where to begin; the mode of (d, z) is written into it.
    P : (q + r, q + r + 1) array
        The factor of the precision of (d, z) is written into it: its `inverse` is the posterior
        covariance.
    tol : float
        The step after which Newton's method ends. The mode is then off by about its square.

    Returns
    -------
    evidence : float
        The log evidence.
    """
    (starts, columns), q, n = pattern, len(prior[0]), len(x)
    room = np.empty((3, n))
    new_x, step, g, h = room[0], room[1], room[2], empty(len(winner))
    cold = begin_factors(x, q, prior)
    bounded = MUCH_BELOW if cold else -np.inf
    value = joint_density(winner, loser, weight, offset, x, prior, bounded, g, h)
    for _ in range(MAX_ITER):
        write_precision(winner, loser, h, prior, pattern, g, P)
        factorise(P, starts, columns)
        back_substitute(P, starts, columns, step)
        longest, slope = 0.0, 0.0
        for i in range(q):
            longest = max(longest, abs(step[i]))
            slope += g[i] * step[i]
        value = _move(winner, loser, weight, offset, prior, x, step, slope, value, new_x, g, h)
        if longest < tol and not cold:
            break
        cold = False
    return value - 0.5 * (log_determinant(P) + prior[4])


@compiled(inline="always")
def begin_factors(x, q, prior):
    """Put the mean of z given d beside d; whether d is 0 throughout."""
    cold = True
    for i in range(len(x)):
        if i >= q:
            x[i] = 0.0
        cold = cold and x[i] == 0
    if not cold:
        z = mean_factors(x[:q], prior[1], prior[3])
        for a in range(len(z)):
            x[q + a] = z[a]
    return cold


@compiled(inline="always")
def _move(winner, loser, weight, offset, prior, x, step, slope, value, new_x, g, h):
    """Go a step, shortened until the density does not fall; the new density."""
    q, n, length, new = len(prior[0]), len(x), 1.0, value
    for _ in range(MAX_SHORTER):
        for i in range(n):
            new_x[i] = x[i] + length * step[i]
        new = joint_density(winner, loser, weight, offset, new_x, prior, -np.inf, g, h)
        if new >= value - LEAST_GAIN:
            break
        new_slope = 0.0
        for i in range(q):
            new_slope += g[i] * step[i]
        # to where the slope would be 0 if it fell evenly
        length *= min(0.5, max(0.1, slope / (slope - new_slope)))
    for i in range(n):
        x[i] = new_x[i]
    return new
