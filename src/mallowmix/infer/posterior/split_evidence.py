"""The probability of a user's answers with the split between two components left out.

A user gives two components j and k the weights s·r and s·(1 − r), r ~ Beta(α_j, α_k) given the
other weights. The n answers of the user have the probability

    ∫ Beta(r; α_j, α_k) Π_i (a_i r + b_i (1 − r)) dr,    a = base + s β_j, b = base + s β_k.

The product is Σ_t c_t r^t (1 − r)^(n−t), so that the integral is a sum without an error,
Σ_t c_t B(α_j + t, α_k + n − t) / B(α_j, α_k), and given the answers r is a mixture of
Beta(α_j + t, α_k + n − t).
"""

import math

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, log_gamma_draw, splitmix
from mallowmix.numerics.token_gibbs import user_stream

_SPLITS = int(Step.POSTERIOR_SPLITS)
MOST_ANSWERS = 500  # of a user: with more, c_t would leave the range of numbers


@compiled
def answer_counts(starts, power):
    """(M,) the number of answers of each user."""
    counts = np.zeros(len(starts) - 1, np.int64)
    for m in range(len(counts)):
        for row in range(starts[m], starts[m + 1]):
            counts[m] += int(power[row])
    return counts


@compiled
def beta_ratios(counts, first, second):
    """(most + 1, most + 1) the ratios B(first + t, second + n − t) / B(first, second), at [n, t].

    Only rows of a number n of answers that some user has are filled.
    """
    most = 0
    for n in counts:
        most = max(most, n)
    ratios = np.zeros((most + 1, most + 1))
    for n in counts:
        if ratios[n, 0] == 0.0:
            log_none = math.lgamma(second + n) - math.lgamma(second)
            log_none += math.lgamma(first + second) - math.lgamma(first + second + n)
            ratios[n, 0] = np.exp(log_none)
            for t in range(n):
                ratios[n, t + 1] = ratios[n, t] * (first + t) / (second + n - t - 1)
    return ratios


@compiled(fastmath=True)
def _coefficients(codes, power, theta, beta, j, k, left, right, c):
    """Fill `c` with c_0 … c_n of one user, but for a factor whose logarithm is returned.

    Parameters
    ----------
    codes, power : (rows,) arrays
        The user's pairs, and how often each was answered.
    theta : (K,) array
        The user's weights.
    beta : (Q², K) array
        β of the components that are neither j nor k.
    j, k : int
        The two components.
    left, right : (Q²,) arrays
        β of j and of k.
    c : (n + 1,) array
    """
    n, log_factor, factor, share = 0, 0.0, 1.0, theta[j] + theta[k]
    c[0] = 1.0
    for row in range(len(codes)):
        base = 0.0
        for h in range(len(theta)):
            if h != j and h != k:
                base += theta[h] * beta[codes[row], h]
        a, b = base + share * left[codes[row]], base + share * right[codes[row]]
        top = max(a, b)
        a, b = a / top, b / top
        for _ in range(int(power[row])):  # times a r + b (1 − r)
            n += 1
            c[n] = a * c[n - 1]
            for t in range(n - 1, 0, -1):
                c[t] = a * c[t - 1] + b * c[t]
            c[0] *= b
            factor *= top
            if factor < 1e-200:
                log_factor, factor = log_factor + np.log(factor), 1.0
    return log_factor + np.log(factor)


@compiled
def user_evidence(codes, power, theta, beta, j, k, left, right, ratios, c):
    """The log probability of one user's answers; `ratios` is the row of `beta_ratios` for n."""
    log_factor = _coefficients(codes, power, theta, beta, j, k, left, right, c)
    total = 0.0
    for t in range(len(c)):
        total += c[t] * ratios[t]
    return log_factor + np.log(max(total, 1e-300))


@compiled
def _concerned(codes, left, new_left, right, new_right):
    """Whether the probability of one of the answers changes."""
    found = False
    for w in codes:
        found = found or left[w] != new_left[w] or right[w] != new_right[w]
    return found


@compiled
def all_evidence(rows, theta, beta, j, k, new, old, every, ratios, before, out):
    """Fill `out` (M,) with every user's evidence; their sum less that of `before`.

    Parameters
    ----------
    rows : tuple
        (starts, pair, power, counts): of `PosteriorData`, and `answer_counts`.
    theta, beta, j, k
        As in `_coefficients`.
    new, old : (2, Q²) arrays
        β of j and of k, and what it was for `before`.
    every : bool
        Whether users are looked at none of whose answers is concerned.
    ratios : (most + 1, most + 1) array
        From `beta_ratios`.
    before, out : (M,) arrays
    """
    starts, pair, power, counts = rows
    c = np.empty(len(ratios))
    change = 0.0
    for m in range(len(counts)):
        n, codes = counts[m], pair[starts[m] : starts[m + 1]]
        out[m] = before[m]
        if every or _concerned(codes, old[0], new[0], old[1], new[1]):
            x = power[starts[m] : starts[m + 1]]
            given = (codes, x, theta[m], beta, j, k, new[0], new[1])
            out[m] = user_evidence(*given, ratios[n, : n + 1], c[: n + 1])
            change += out[m] - before[m]
    return change


@compiled
def draw_splits(rows, theta, beta, alpha, j, k, both, ratios, key, step):
    """Draw every user's split from its mixture of Beta distributions, into `theta`.

    `both` (2, Q²) is β of j and of k; the other parameters are those of `all_evidence`.
    """
    starts, pair, power, counts = rows
    c = np.empty(len(ratios))
    for m in range(len(counts)):
        state, n = user_stream(key, m, _SPLITS, step), counts[m]
        codes, x = pair[starts[m] : starts[m + 1]], power[starts[m] : starts[m + 1]]
        given = (codes, x, theta[m], beta, j, k, both[0], both[1])
        _coefficients(*given, c[: n + 1])
        state, u = splitmix(state)
        u, t = u * np.sum(c[: n + 1] * ratios[n, : n + 1]), 0
        while t < n and u >= c[t] * ratios[n, t]:
            u -= c[t] * ratios[n, t]
            t += 1
        state, x_log = log_gamma_draw(state, alpha[j] + t)
        state, y_log = log_gamma_draw(state, alpha[k] + n - t)
        share, r = theta[m, j] + theta[m, k], 1.0 / (1.0 + np.exp(min(y_log - x_log, 700.0)))
        theta[m, j], theta[m, k] = share * r, share * (1.0 - r)
