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

A kernel that makes no array and calls none that does counts no references to its arrays, each of
which is a locked instruction: what runs at every step is given its room.

An answer that is improbable where Newton's method begins has next to no curvature there, and the
step is far too long. The first step takes the curvature of a bound on log σ for it (Jaakkola and
Jordan 2000), (σ(x) − ½) / x at x < 0, which cannot be too small.
"""

import numpy as np

from mallowmix.numerics.cholesky import (
    back_substitute,
    factorise,
    log_determinant,
    solve_into,
)
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import empty

MAX_ITER = 30
MAX_SHORTER = 12  # times that a step is shortened
LEAST_GAIN = 1e-10  # a step is not shortened for a smaller loss, which may be rounding
MUCH_BELOW = -1e-3  # a gap of utilities where the bound has another curvature
TOL = 1e-4  # of a step of Newton's method, after which the next would change nothing
UNLIKELY = 0.01  # times the odds against a component: how much longer its last step may be,
SHORT = 0.1  # up to this
MOST_LOG_ODDS = 100.0  # beyond which more changes nothing


@compiled
def mean_factors(x, F, root):
    """Put the mean of z given d, B⁻¹ Fᵀ d, beside d; x = (d, z)."""
    q, r = F.shape
    for a in range(r):
        x[q + a] = 0.0
        for i in range(q):
            x[q + a] += F[i, a] * x[i]
    solve_into(root, x, q)


@compiled(inline="always")
def logistic(x):
    """σ(x), without overflow."""
    e = np.exp(-abs(x))
    return (1.0 if x >= 0 else e) / (1 + e)


@compiled
def newton_room(n_answers, size):
    """Work space of `posterior_mode`, for persons of so many answers, items and factors at most."""
    return empty(size), empty(size), empty(size), empty(n_answers)


@compiled
def joint_density(winner, loser, weight, offset, x, precision, F, bounded, g, h):
    """Σ w log σ(o + d_i − d_j) − ½ dᵀ S⁻¹ d at x = (d, z), with z the mean given d.

    The gradient is written into `g`, the curvature of each answer, w σ (1 − σ), into `h`; where
    the gap of utilities is below `bounded`, a number below 0, that of the bound.
    """
    (q, r), total, product = F.shape, 0.0, 1.0
    for i in range(q):
        pull = precision[i] * x[i]
        for a in range(r):
            pull -= F[i, a] * x[q + a]
        g[i] = -pull
        total -= 0.5 * x[i] * pull
    for row in range(len(winner)):
        i, j, w = np.uint64(winner[row]), np.uint64(loser[row]), weight[row]
        t = offset[row] + x[i] - x[j]
        e = np.exp(-abs(t))
        larger = 1 / (1 + e)  # of σ(t) and σ(−t)
        rest, h[row] = w * (larger if t < 0 else e * larger), w * e * larger * larger
        g[i] += rest
        g[j] -= rest
        total += w * min(t, 0.0)
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


@compiled
def write_precision(winner, loser, h, precision, F, B, starts, columns, g, P):
    """Write the upper triangle of P, where it can have numbers, and the gradient beside it."""
    (q, r), m = F.shape, len(starts) - 1
    for k in range(m):
        for t in range(starts[k], starts[k + 1]):
            P[k, np.uint64(columns[t])] = 0.0
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
        i, j = np.uint64(winner[row]), np.uint64(loser[row])
        P[i, i] += h[row]
        P[j, j] += h[row]
        P[min(i, j), max(i, j)] -= h[row]


@compiled
def posterior_mode(winner, loser, weight, offset, prior, pattern, x, P, room, tol, top):
    """Find the posterior mode by Newton's method with shortened steps.

    Parameters
    ----------
    winner, loser : (n,) arrays of int
        From `own_items.local_items`.
    weight : (n,) array
        What each answer counts for.
    offset : (n,) array
        s_i − s_j of each answer.
    prior : tuple
        From `own_items.local_prior`.
    pattern : tuple
        Where the factor of P has numbers, from `cholesky.elimination`.
    x : (q + r,) array
        Begins with the d where to begin; the mode of (d, z) is written into it.
    P : (q + r, q + r + 1) array
        The factor of the precision of (d, z) is written into it: its `inverse` is the posterior
        covariance.
    room : tuple
        From `newton_room`.
    tol : float
        The step after which Newton's method ends. The mode is then off by about its square.
    top : float
        The log evidence of a likelier component, with the logarithm of the ratio of the prior
        shares added; −∞ for none. A component that counts for less may be off by more.

    Returns
    -------
    evidence : float
        The log evidence.
    """
    (starts, columns), (precision, F, B, root, log_det) = pattern, prior
    new_x, step, g, h = room
    q, n, cold = len(precision), len(P), begin_factors(x, F, root)
    bounded, evidence = MUCH_BELOW if cold else -np.inf, 0.0
    value = joint_density(winner, loser, weight, offset, x, precision, F, bounded, g, h)
    for _ in range(MAX_ITER):
        write_precision(winner, loser, h, precision, F, B, starts, columns, g, P)
        factorise(P, starts, columns)
        back_substitute(P, starts, columns, step)
        longest, slope = 0.0, 0.0
        for i in range(n):
            new_x[i] = x[i] + step[i]
        for i in range(q):
            longest = max(longest, abs(step[i]))
            slope += g[i] * step[i]
        # a step from where the slope is P · step to where it is 0 gains ½ slope · step
        evidence = value + 0.5 * (slope - log_determinant(P) - log_det)
        enough = tol * max(1.0, UNLIKELY * np.exp(min(top - evidence, MOST_LOG_ODDS)))
        short = longest < min(enough, max(tol, SHORT)) and not cold
        if not short:
            new = joint_density(winner, loser, weight, offset, new_x, precision, F, -np.inf, g, h)
            if new < value - LEAST_GAIN:
                new = shorten(
                    winner, loser, weight, offset, precision, F, x, step, slope, value, new_x, g, h
                )
            value = new
        for i in range(n):
            x[i] = new_x[i]
        if short:
            break
        cold = False
    return evidence


@compiled
def begin_factors(x, F, root):
    """Put the mean of z given d beside d; whether d is 0 throughout."""
    cold = True
    for i in range(len(F)):
        cold = cold and x[i] == 0
    mean_factors(x, F, root)
    return cold


@compiled
def shorten(winner, loser, weight, offset, precision, F, x, step, slope, value, new_x, g, h):
    """Shorten a step until the density does not fall; the density there, at `new_x`."""
    length, new = 1.0, value
    for _ in range(MAX_SHORTER):
        new_slope = 0.0
        for i in range(len(F)):
            new_slope += g[i] * step[i]
        # to where the slope would be 0 if it fell evenly
        length *= min(0.5, max(0.1, slope / (slope - new_slope)))
        for i in range(len(x)):
            new_x[i] = x[i] + length * step[i]
        new = joint_density(winner, loser, weight, offset, new_x, precision, F, -np.inf, g, h)
        if new >= value - LEAST_GAIN:
            break
    return new
