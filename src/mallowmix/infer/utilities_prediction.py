"""Predictions for users, given their answers, under a mixture of Gaussian utilities.

For each component, Laplace's approximation (`numerics.laplace`) gives a Gaussian of (d_A, z), the
utilities of the items A that the user compared and the factors; the others are u_i = s_i + V_i z +
e_i. So every difference u_i − u_j is a sum of a few of these, and with W of `inverse_root`, whose
WᵀW is their covariance, its variance is the squared length of the sum of the columns W of them:

    W_i  if the user compared i,   Σ_a V_ia W_(z_a)  and ψ_i  if not

Components are weighed by their evidence. One kernel goes through the users, so that nothing is kept
of a user whose pairs are predicted.
"""

import numpy as np

from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.cholesky import elimination, inverse_root
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.laplace import (
    TOL,
    local_items,
    local_prior,
    logistic,
    mean_factors,
    posterior_mode,
)
from mallowmix.typing import Array

_ROUGH = 1e-2  # the step that ends Newton's method where modes under a like model are given
_LEAST = 1e-4  # of a probability of an answer, given the others


def new_modes(block: Block, model: UtilitiesModel) -> Array:
    """(K, n) zeros, for modes of users: no user has more items than twice their rows."""
    return np.zeros((model.n_components, 2 * int(block.starts[-1] - block.starts[0])))


def utilities_probabilities(
    block: Block, model: UtilitiesModel, queries: Queries, modes: Array | None = None
) -> Array:
    """Predict queried pairs from each user's posterior.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : UtilitiesModel
        The model.
    queries : Queries
        The pairs to predict.
    modes : (K, n) array, optional
        The posterior modes under a model like this one, from `new_modes` at first: Newton's method
        begins there, ends sooner, and leaves the modes under this model.

    Returns
    -------
    (n,) array
        The probability that each query's user prefers the pair's first item.
    """
    return _predictions(block, model, queries, modes, np.empty(0))


def probabilities_and_left_out(
    block: Block, model: UtilitiesModel, queries: Queries
) -> tuple[Array, Array]:
    """Predict queried pairs, and each user's comparisons from the user's others.

    The posterior without one answer is Laplace's approximation with the answer's own term taken out
    again; components are weighed by π_k times the evidence of the others.

    Parameters
    ----------
    block, model, queries
        As in `utilities_probabilities`.

    Returns
    -------
    probabilities : (n,) array
        As from `utilities_probabilities`.
    sums : (M,) array
        Each user's sum of log-probabilities of their comparisons.
    """
    sums = np.zeros(block.n_users)
    return _predictions(block, model, queries, None, sums), sums


def _predictions(
    block: Block, model: UtilitiesModel, queries: Queries, modes: Array | None, sums: Array
) -> Array:
    parameters = model.means, model.loadings, model.variances, np.log(model.shares)
    begin = (np.zeros((0, 0)), TOL) if modes is None else (modes, _ROUGH)
    out = np.empty(len(queries.pair))
    _predict(
        block.starts - block.starts[0], block.pair, block.weight, *map(unwritable, parameters),
        *queries, np.full(block.n_items, -1), *begin, out, sums,
    )  # fmt: skip
    return out


@compiled
def _predict(
    starts, pair, weight, means, loadings, variances, log_shares, query_starts, query, number,
    modes, tol, out, sums,
):  # fmt: skip
    """Write into `out`, `modes` and `sums`; into the last two if they are not empty."""
    (K, Q), r = means.shape, loadings.shape[1]
    share = np.empty(K)
    for m in range(len(starts) - 1):
        rows, n = slice(starts[m], starts[m + 1]), starts[m + 1] - starts[m]
        asked = query[query_starts[m] : query_starts[m + 1]]
        items, winner, loser = local_items(pair[rows], Q, number)
        q, at = len(items), 2 * starts[m]
        prior, pattern = local_prior(loadings, variances, items), elimination(
            winner, loser, q, q + r
        )
        offset, U = np.empty(n), np.empty((q + r, q + r + 1))
        p, left = np.empty((K, len(asked))), np.empty((K, n if len(sums) else 0))
        for x in range(q):
            number[items[x]] = x
        for k in range(K):
            for row in range(n):
                offset[row] = means[k, items[winner[row]]] - means[k, items[loser[row]]]
            d = modes[k, at : at + q] if len(modes) else np.zeros(q)
            share[k] = log_shares[k] + posterior_mode(
                winner, loser, weight[rows], offset, prior, pattern, d, U, tol
            )
            W = inverse_root(U, *pattern)
            z = mean_factors(d, prior[1], prior[3])
            _probabilities(asked, number, means[k], loadings, variances, d, z, W, p[k])
            if len(sums):
                _probabilities_from_others(winner, loser, weight[rows], offset, d, W, left[k])
        for item in items:
            number[item] = -1
        _normalise(share)
        begin = query_starts[m]
        for a in range(len(asked)):
            total = 0.0
            for k in range(K):
                total += share[k] * p[k, a]
            out[begin + a] = total
        if len(sums):
            for row in range(n):
                total = 0.0
                for k in range(K):
                    total += share[k] / max(left[k, row], _LEAST)
                sums[m] -= weight[starts[m] + row] * np.log(total)


@compiled
def _normalise(share):
    """Turn logarithms of shares into shares."""
    top, total = -np.inf, 0.0
    for k in range(len(share)):
        top = max(top, share[k])
    for k in range(len(share)):
        share[k] = np.exp(share[k] - top)
        total += share[k]
    for k in range(len(share)):
        share[k] /= total


@compiled
def _probabilities(asked, number, mean, loadings, variances, d, z, W, p):
    """Write the probability of each pair, under one component, into p."""
    Q, r, q, n = len(mean), len(z), len(d), len(W)
    c = np.empty(r)  # what the items that were not compared have of the factors
    for a in range(len(asked)):
        i, j = asked[a] // Q, asked[a] % Q
        x, y = number[i], number[j]
        gap, v = mean[i] - mean[j], 0.0
        gap += d[x] if x >= 0 else 0.0
        gap -= d[y] if y >= 0 else 0.0
        v += variances[i] if x < 0 else 0.0
        v += variances[j] if y < 0 else 0.0
        for b in range(r):
            c[b] = (loadings[i, b] if x < 0 else 0.0) - (loadings[j, b] if y < 0 else 0.0)
            gap += c[b] * z[b]
        for row in range(n):
            s = W[row, x] if x >= 0 else 0.0
            s -= W[row, y] if y >= 0 else 0.0
            for b in range(r):
                s += c[b] * W[row, q + b]
            v += s * s
        p[a] = logistic(gap / np.sqrt(1 + np.pi / 8 * v))


@compiled
def _probabilities_from_others(winner, loser, weight, offset, d, W, p):
    """Write the probability of each answer, given the others, under one component, into p."""
    for row in range(len(winner)):
        x, y, v = winner[row], loser[row], 0.0
        for a in range(np.uint64(min(x, y)), np.uint64(len(W))):
            s = W[a, x] - W[a, y]
            v += s * s
        p[row] = left_out(offset[row] + d[x] - d[y], v, weight[row])


@compiled
def left_out(gap, variance, weight):
    """The probability of an answer from the others, given moments of u_i − u_j from all answers."""
    v, p = max(variance, 1e-12), logistic(gap)
    h = weight * p * (1 - p)
    rest = max(1 / v - h, 0.01 / v)  # the precision without this answer
    centre = (gap / v - h * gap - weight * (1 - p)) / rest
    return logistic(centre / np.sqrt(1 + np.pi / 8 / rest))
