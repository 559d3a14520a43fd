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
from mallowmix.infer.without_numba.predictions_arrays import predict_by_utilities
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.cholesky import elimination, inverse_root
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.laplace import (
    TOL,
    logistic,
    newton_room,
    posterior_mode,
)
from mallowmix.numerics.own_items import component_offsets, local_items, local_prior
from mallowmix.numerics.small_work import is_small
from mallowmix.numerics.token_gibbs import longest_run
from mallowmix.numerics.work_arrays import empty, empty_rows
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
    if modes is None and _is_little(block, model):
        p, from_others = predict_by_utilities(block, model, queries, _LEAST)
        sums[:] = from_others[: len(sums)]
        return p
    rows = block.starts - block.starts[0], block.pair, block.weight
    parameters = model.means, model.loadings, model.variances, np.log(model.shares)
    begin = (np.zeros((0, 0)), TOL) if modes is None else (modes, _ROUGH)
    out = np.empty(len(queries.pair))
    read = map(unwritable, (*rows, *parameters, *queries))
    _predict(*read, np.full(block.n_items, -1), *begin, out, sums)
    return out


def _is_little(block: Block, model: UtilitiesModel) -> bool:
    longest = int(np.diff(block.starts).max(initial=0))
    q = min(model.n_items, 2 * longest)
    return is_small(block.n_users * model.n_components * q * max(q, longest))


@compiled
def _predict(
    starts, pair, weight, means, loadings, variances, log_shares, query_starts, query, number,
    modes, tol, out, sums,
):  # fmt: skip
    """Write into `out`, `modes` and `sums`; into the last two if they are not empty."""
    (K, Q), r, longest = means.shape, loadings.shape[1], longest_run(starts)
    most, most_asked = min(Q, 2 * longest) + r, longest_run(query_starts)
    share, offset, x = empty(K), empty_rows(K, longest), empty(most)
    room = newton_room(longest, most)
    p, left = empty_rows(K, most_asked), empty_rows(K, longest if len(sums) else 0)
    for m in range(len(starts) - 1):
        rows, n = slice(starts[m], starts[m + 1]), starts[m + 1] - starts[m]
        own, asked = weight[rows], query[query_starts[m] : query_starts[m + 1]]
        items, winner, loser = local_items(pair[rows], Q, number)
        q, at, top = len(items), 2 * starts[m], -np.inf
        prior, pattern = (
            local_prior(loadings, variances, items),
            elimination(winner, loser, q, q + r),
        )
        U, W = empty_rows(q + r, q + r + 1), empty_rows(q + r, q + r)
        for i in range(q):
            number[items[i]] = i
        likeliest = component_offsets(winner, loser, own, items, means, log_shares, x, offset)
        for turn in range(K):
            k = (likeliest + turn) % K
            gaps = offset[k]
            for i in range(q):
                x[i] = modes[k, at + i] if len(modes) else 0.0
            share[k] = log_shares[k] + posterior_mode(
                winner, loser, own, gaps, prior, pattern, x, U, room, tol, top - log_shares[k]
            )
            top = max(top, share[k])
            if len(modes):
                for i in range(q):
                    modes[k, at + i] = x[i]
            inverse_root(U, *pattern, W)
            _probabilities(asked, number, k, means, loadings, variances, x, W, room[0], p)
            if len(sums):
                _probabilities_from_others(winner, loser, own, gaps, x, W, k, left)
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
                sums[m] -= own[row] * np.log(total)


@compiled(inline="always")
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


@compiled(fastmath={"reassoc", "contract"})  # squares are added up in any order
def _probabilities(asked, number, k, means, loadings, variances, mode, W, column, p):
    """Write the probability of each pair, under component k, into p."""
    (Q, r), n = loadings.shape, len(W)
    q = n - r
    for a in range(len(asked)):
        i = asked[a] // Q
        j = asked[a] - i * Q
        gap, v = means[k, i] - means[k, j], 0.0
        for row in range(n):
            column[row] = 0.0
        for item, sign in ((i, 1.0), (j, -1.0)):
            x = number[item]
            if x >= 0:
                gap += sign * mode[x]
                for row in range(x, n):
                    column[row] += sign * W[row, x]
            else:
                v += variances[item]
                for b in range(r):
                    f = sign * loadings[item, b]
                    gap += f * mode[q + b]
                    for row in range(q + b, n):
                        column[row] += f * W[row, q + b]
        for row in range(n):
            v += column[row] * column[row]
        p[k, a] = logistic(gap / np.sqrt(1 + np.pi / 8 * v))


@compiled(fastmath={"reassoc", "contract"})
def _probabilities_from_others(winner, loser, weight, offset, mode, W, k, p):
    """Write the probability of each answer, given the others, under component k, into p."""
    for row in range(len(winner)):
        x, y, v = winner[row], loser[row], 0.0
        for a in range(np.uint64(min(x, y)), np.uint64(len(W))):
            s = W[a, x] - W[a, y]
            v += s * s
        p[k, row] = from_the_others(offset[row] + mode[x] - mode[y], v, weight[row])


@compiled
def from_the_others(gap, v, weight):
    """The probability of an answer from the others, given moments of u_i − u_j from all answers.

    With the precision 1/v − h without this answer, at least .01/v, and the mean that goes with it.
    """
    p = logistic(gap)
    slope = weight * (1 - p)
    kept = 1 - slope * p * v  # of the precision
    scale = 1 / max(kept, 0.01)
    return logistic((gap * kept - slope * v) * scale / np.sqrt(1 + np.pi / 8 * v * scale))
