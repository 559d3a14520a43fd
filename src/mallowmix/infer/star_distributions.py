"""The probability of every number of stars, for each user and item asked for: the kernel of
`mallowmix.infer.rating_prediction`, whose rules it computes.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled


@compiled
def star_distributions(
    user, item, starts, known, level, theta, beta, histogram, all_users, Q, tempered, a, b, c
):
    """(n, S) p(s) of each target, and (n,) what it rests on (a number in BASES).

    The ensemble's members are averaged within a draw, the draws of the product over comparisons.
    """
    S, n_draws = histogram.shape[1], theta.shape[2]
    out, basis = np.empty((len(user), S)), np.empty(len(user), np.int64)
    score, h, p_s = np.empty((n_draws, S)), np.empty(S), np.empty(S)
    for t in range(len(user)):
        m, i = user[t], item[t]
        if m < 0:
            basis[t] = 2
            for s in range(S):
                out[t, s] = all_users[s]
            continue
        n = 0
        for s in range(S):
            h[s] = histogram[m, s] + c * all_users[s]
        if i >= 0:
            rows = known[starts[m] : starts[m + 1]]
            tie = 0.5 if tempered else 0.0
            for s in range(n_draws):
                n = _scores(
                    i,
                    rows,
                    level[starts[m] : starts[m + 1]],
                    theta[:, m, s],
                    beta,
                    Q,
                    tie,
                    score[s],
                )
        if n == 0:
            basis[t] = 1
            _normalise(h, out[t])
            continue
        if tempered:
            for s in range(S):
                score[0, s] = a / (n + b) * score[0, s] + np.log(h[s])
        basis[t] = 0
        _add_draws(score, p_s)
        _normalise(p_s, out[t])
    return out, basis


@compiled
def _add_draws(score, out):
    """Fill (S,) Σ_draws exp(score − the largest of all)."""
    top = score[0, 0]
    for d in range(score.shape[0]):
        for s in range(score.shape[1]):
            top = max(top, score[d, s])
    for s in range(score.shape[1]):
        out[s] = 0.0
        for d in range(score.shape[0]):
            out[s] += np.exp(score[d, s] - top)


@compiled
def _normalise(x, out):
    total = 0.0
    for s in range(len(x)):
        total += x[s]
    for s in range(len(x)):
        out[s] = x[s] / total


@compiled
def _scores(i, rated, level, theta, beta, Q, tie, out):
    """Fill (S,) Σ_{r<s} log p + Σ_{r>s} log(1−p) + tie Σ_{r=s} (log p + log(1−p)) for one θ.

    Returns how many items it rests on; θ and β are those of the ensemble's members.
    """
    S, n, win, loss = len(out), 0, np.zeros(len(out)), np.zeros(len(out))
    for row in range(len(rated)):
        j = rated[row]
        if j < 0 or j == i:
            continue
        p = 0.0
        for f in range(theta.shape[0]):
            for k in range(theta.shape[1]):
                p += theta[f, k] * beta[f, i * Q + j, k]
        p /= theta.shape[0]
        win[level[row]] += np.log(p)
        loss[level[row]] += np.log(1.0 - p)
        n += 1
    below, above = 0.0, 0.0
    for s in range(S):
        above += loss[s]
    for s in range(S):
        above -= loss[s]
        out[s] = below + above + tie * (win[s] + loss[s])
        below += win[s]
    return n
