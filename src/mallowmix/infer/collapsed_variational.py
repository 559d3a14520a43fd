"""The posterior mean of a user's weights θ, approximately, by collapsed variational inference.

Every token n has probabilities r_nk of the component that it came from, given those of the
user's other tokens:

    r_nk ∝ β_(w_n),k (α_k + e Σ_{n' ≠ n} r_n'k),      E θ_k = (α_k + e Σ_n r_nk) / (α₀ + e N),

with e the likelihood weight of one token. It is about as sure of itself as sampling would be,
where the usual variational answer is far too sure, and it gives the same number every time. How
far it is from the exact mean is in docs/people.md; the exact mean is in `infer.exact_weights`. A
share of the people may hold one component alone (`Calibration.vertex_share`): their part of the
posterior is exact, and is weighed against the other part by how likely each makes the comparisons.
"""

from typing import Any

import numpy as np

from mallowmix.engine import Block
from mallowmix.infer.assumed_density import log_marginal
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.infer.without_numba.collapsed_arrays import collapsed_counts
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.small_work import INTERPRETED, is_small
from mallowmix.numerics.token_gibbs import longest_run
from mallowmix.typing import Array

MAX_EXTRAPOLATION = 8.0  # the largest extrapolation, in steps

# of a prediction: further steps change it by less than .0001
PREDICTION_STEPS, PREDICTION_TOL = 300, 1e-4


def fold_in(
    block: Block,
    prepared: PreparedModel,
    weight: Array | None = None,
    *,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> tuple[Array, int]:
    """Infer the weights of a block of users.

    Parameters
    ----------
    block : Block
        The users.
    prepared : PreparedModel
        The model.
    weight : (rows,) array, optional
        How much of each row is given, if not all of it.
    max_iter, tol : int, float
        Iterate until the counts of a user move by less than `tol` of their sum.

    Returns
    -------
    theta, n_moving : (M, K) array, int
        Posterior means of θ, and how many users did not converge.
    """
    weight = block.weight if weight is None else weight
    K, longest = len(prepared.alpha), int(np.diff(block.starts).max(initial=0))
    if is_small(block.n_users * longest * K):
        model = prepared.beta, prepared.alpha, prepared.likelihood_weight
        counts, moving = collapsed_counts(block, weight, *model, max_iter, tol, MAX_EXTRAPOLATION)
    else:
        counts, rows = np.empty((block.n_users, K)), (longest, K)
        room = np.empty(rows), np.empty(longest), np.empty(rows), np.empty(K), np.empty(K)
        moving = _collapsed(*_inputs(block, prepared, weight), max_iter, tol, counts, *room)
    theta = counts / counts.sum(axis=1, keepdims=True)
    if prepared.vertex_share > 0:
        single, at_vertex = vertex_posterior(block, prepared, weight)
        theta = at_vertex[:, None] * single + (1 - at_vertex[:, None]) * theta
    return theta, moving


def _inputs(block: Block, prepared: PreparedModel, weight: Array) -> tuple[Any, ...]:
    """What the kernels read of the users and of the model."""
    rows = block.starts, block.pair, unwritable(weight)
    return *rows, prepared.beta, prepared.alpha, prepared.likelihood_weight


def vertex_posterior(
    block: Block, prepared: PreparedModel, weight: Array, log_mixed: Array | None = None
) -> tuple[Array, Array]:
    """The posterior of the vertex part of the prior, for a block of users.

    Parameters
    ----------
    block, prepared, weight
        As in `fold_in`.
    log_mixed : (M,) array, optional
        Log-likelihoods of the users' comparisons under the Dirichlet, where they are known; else
        by assumed-density filtering.

    Returns
    -------
    single, at_vertex : (M, K) and (M,) arrays
        The probability of each component for a user who holds one component alone, and the
        probability that the user does.
    """
    with np.errstate(divide="ignore"):
        log_share, log_odds = (
            np.log(prepared.share),
            np.log(prepared.vertex_share) - np.log1p(-prepared.vertex_share),
        )
    small = is_small(INTERPRETED * len(weight) * len(prepared.alpha))
    log_marginals = _log_marginals.interpreted if small else _log_marginals
    mixed, single = log_marginals(*_inputs(block, prepared, weight))
    mixed = mixed if log_mixed is None else log_mixed
    single += log_share
    top = single.max(axis=1)
    single = np.exp(single - top[:, None])
    total = single.sum(axis=1)
    log_odds = log_odds + top + np.log(total) - mixed  # of one component against a mixture
    return single / total[:, None], 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))


@compiled(fastmath={"contract", "reassoc"})
def _collapsed(
    starts,
    pair,
    weight,
    beta,
    alpha,
    likelihood_weight,
    max_iter,
    tol,
    counts,
    b,
    w,
    r,
    once,
    twice,
):
    """Write α + e Σ_n weight_n r_n of all users into counts; how many did not converge.

    A row of weight w stands for w tokens with the same r, each of which leaves itself out (for w
    < 1, its weight).
    """
    M, K = len(starts) - 1, len(alpha)
    n_moving = 0
    for m in range(M):
        n = gather_rows(starts[m], starts[m + 1], pair, weight, beta, b, w)
        for k in range(K):
            counts[m, k] = alpha[k]
            for row in range(n):
                r[row, k] = 0.0
        if n:
            # the first step takes the prior for the other tokens
            _responsibilities(b[:n], w[:n], likelihood_weight, alpha, r, counts[m], once)
            for k in range(K):
                counts[m, k] = once[k]
        moving, left, most, last = n > 0, max_iter, MAX_EXTRAPOLATION, np.inf
        while moving and left > 0:
            change = _responsibilities(b[:n], w[:n], likelihood_weight, alpha, r, counts[m], once)
            most, last, moving = (
                most if change < last else max(0.5 * most, 1.0),
                change,
                change > tol,
            )
            if moving and left > 1:
                moving = (
                    _responsibilities(b[:n], w[:n], likelihood_weight, alpha, r, once, twice) > tol
                )
                extrapolate(counts[m], once, twice, alpha, most if moving and left > 2 else 1.0)
            else:
                for k in range(K):
                    counts[m, k] = once[k]
            left -= 2
        n_moving += moving
    return n_moving


@compiled
def gather_rows(first, last, pair, weight, beta, b, w):
    """Copy a user's rows of β and their weights, without those of weight 0; the number of rows."""
    n = 0
    for row in range(first, last):
        if weight[row] > 0.0:
            w[n] = weight[row]
            for k in range(beta.shape[1]):
                b[n, k] = beta[pair[row], k]
            n += 1
    return n


@compiled(fastmath={"contract", "reassoc"})
def _responsibilities(b, w, likelihood_weight, alpha, r, old, new):
    """One step for one user: r and new counts from the old ones; the largest relative change."""
    K = len(alpha)
    for k in range(K):
        new[k] = alpha[k]
    for n in range(len(b)):
        own, total = likelihood_weight * min(1.0, w[n]), 0.0
        for k in range(K):
            r[n, k] = b[n, k] * max(old[k] - own * r[n, k], 0.0)
            total += r[n, k]
        scale = 1.0 / total
        for k in range(K):
            r[n, k] *= scale
            new[k] += likelihood_weight * w[n] * r[n, k]
    change, total = 0.0, 0.0
    for k in range(K):
        change, total = max(change, abs(new[k] - old[k])), total + new[k]
    return change / total


@compiled(fastmath={"contract", "reassoc"})
def extrapolate(start, once, twice, least, most):
    """SQUAREM (Varadhan and Roland 2008): extrapolate from a point and the next two, into `start`.

    x + 2a r + a² v with r the first step, v how it changed, a = |r| / |v| from 1 (which gives
    `twice`) to `most`; a coordinate keeps a tenth at least of what `twice` has above its `least`
    value. The caller halves `most` when steps grow, so that the sequence converges.
    """
    rr, vv = 0.0, 0.0
    for k in range(len(start)):
        r = once[k] - start[k]
        rr, vv = rr + r * r, vv + (twice[k] - once[k] - r) ** 2
    a = min(max(np.sqrt(rr / max(vv, 1e-300)), 1.0), most)
    for k in range(len(start)):
        r = once[k] - start[k]
        far = start[k] + 2 * a * r + a * a * (twice[k] - once[k] - r)
        start[k] = max(far, least[k] + 0.1 * (twice[k] - least[k]))


@compiled
def _log_marginals(starts, pair, weight, beta, alpha, likelihood_weight):
    """(M,) log p(comparisons) under the Dirichlet, and (M, K) under each component alone."""
    M, K = len(starts) - 1, len(alpha)
    mixed, single = np.empty(M), np.zeros((M, K))
    longest = longest_run(starts)
    b, x = np.empty((longest, K)), np.empty(longest)
    for m in range(M):
        n = gather_rows(starts[m], starts[m + 1], pair, weight, beta, b, x)
        for t in range(n):
            x[t] *= likelihood_weight
        mixed[m] = log_marginal(b[:n], x[:n], alpha)
        for t in range(n):
            for k in range(K):
                single[m, k] += x[t] * np.log(b[t, k])
    return mixed, single
