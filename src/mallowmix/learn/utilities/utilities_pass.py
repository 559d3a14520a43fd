"""One pass over the users for the mixture of Gaussian utilities: the sums that the M-step needs.

Given component k and the factors z, the utility of item i is linear in x = (δ_k, z):
u_i = w_i · x + e_i with w_i = (s_1i, …, s_Ki, V_i). With each user's responsibilities and Laplace
approximation (`numerics.laplace`), the sums over the users who compared item i are those of a
regression,

    A_i = Σ E[x xᵀ],   b_i = Σ E[u_i x],   E_i = Σ E[e_i²],   n_i = Σ 1.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels
from mallowmix.engine import Block, reduce_step
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.cholesky import elimination, inverse_root, square
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.laplace import (
    newton_room,
    posterior_mode,
)
from mallowmix.numerics.own_items import component_offsets, local_items, local_prior
from mallowmix.numerics.token_gibbs import longest_run
from mallowmix.numerics.work_arrays import empty, empty_rows, zero_rows, zeros
from mallowmix.typing import Array

_LEAST_RESPONSIBILITY = 1e-6  # below it a component's share of a user is not added
_ROUGH = 1e-2  # the step that ends Newton's method: the next pass goes on from there


class UtilitiesParameters(NamedTuple):
    """The parameters of the mixture, while it is learnt.

    Attributes
    ----------
    means : (K, Q) array
        s.
    loadings : (Q, r) array
        V.
    variances : (Q,) array
        ψ.
    log_shares : (K,) array
        log π.
    """

    means: Array
    loadings: Array
    variances: Array
    log_shares: Array


def as_utilities_model(parameters: UtilitiesParameters, items: Labels) -> UtilitiesModel:
    """Make the model with these parameters."""
    shares = np.exp(parameters.log_shares)
    return UtilitiesModel(
        parameters.means, parameters.loadings, parameters.variances, shares / shares.sum(), items
    )


class UtilitiesSums(NamedTuple):
    """The sums of a pass over users.

    Attributes
    ----------
    squares : (Q, K + r, K + r) array
        A, of the users who compared the item.
    products : (Q, K + r) array
        b.
    residuals : (Q,) array
        E, of the part of the utilities that no factor explains.
    item_users : (Q,) array
        n, how many users compared the item.
    factors : (r, r) array
        Σ E[z zᵀ] over all users.
    responsibilities : (K,) array
        The users of each component.
    n_users : float
        The total weight of the users.
    evidence : float
        The log-likelihood of all answers.
    """

    squares: Array
    products: Array
    residuals: Array
    item_users: Array
    factors: Array
    responsibilities: Array
    n_users: float
    evidence: float


@reduce_step("utilities")
def utilities_pass(
    block: Block, broadcast: UtilitiesParameters, state: NDArray[np.float64] | None
) -> tuple[UtilitiesSums, NDArray[np.float64]]:
    """Sum over a block's users.

    Parameters
    ----------
    block : Block
        The users.
    broadcast : UtilitiesParameters
        The parameters.
    state : (K, n) array or None
        Each user's posterior modes after the last pass, where Newton's method begins.

    Returns
    -------
    sums : UtilitiesSums
    state : (K, n) array
        The modes after this pass.
    """
    return sums_of_users(block, broadcast, state, _ROUGH, np.empty((0, 0)))


def sums_of_users(
    block: Block,
    parameters: UtilitiesParameters,
    modes: NDArray[np.float64] | None,
    tol: float,
    moments: Array,
) -> tuple[UtilitiesSums, NDArray[np.float64]]:
    """As `utilities_pass`; Newton's method ends with `tol`, E[d dᵀ] is added to (Q, Q) moments."""
    K, Q, r = len(parameters.log_shares), block.n_items, parameters.loadings.shape[1]
    size = 2 * int(block.starts[-1] - block.starts[0])  # no user has more items than that
    modes = np.zeros((K, size)) if modes is None else modes.copy()
    shapes = (Q, K + r, K + r), (Q, K + r), Q, Q, (r, r), K
    sums: list[Any] = [np.zeros(shape) for shape in shapes]
    n_users, evidence = _sums(
        block.starts - block.starts[0],
        block.pair,
        block.weight,
        block.user_weight,
        *map(unwritable, parameters),
        tol,
        modes,
        np.full(Q, -1),
        moments,
        *sums,
    )
    found: list[Any] = [*sums, n_users, evidence]
    return UtilitiesSums(*found), modes


@compiled
def _sums(starts, pair, weight, user_weight, means, loadings, variances, log_shares, tol, modes,
          number, moments, squares, products, residuals, item_users, factors, total):  # fmt: skip
    """Add to the arrays of the last line and replace modes; the users' weight and the evidence.

    Nothing is added to `moments` where it is empty.
    """
    (K, Q), r, longest = means.shape, loadings.shape[1], longest_run(starts)
    n_users, evidence, most = 0.0, 0.0, min(Q, 2 * longest) + r
    share, offset, room = empty(K), empty_rows(K, longest), newton_room(longest, most)
    own_means = empty(most)
    for m in range(len(starts) - 1):
        rows, n = slice(starts[m], starts[m + 1]), starts[m + 1] - starts[m]
        if n == 0 or user_weight[m] == 0:
            continue
        items, winner, loser = local_items(pair[rows], Q, number)
        q, at, own = len(items), 2 * starts[m], weight[rows]
        prior, n_all = local_prior(loadings, variances, items), q + r
        U, W = empty_rows(K * n_all, n_all + 1), empty_rows(n_all, n_all)
        X = zero_rows(K + r, K + r)
        pattern = elimination(winner, loser, q, n_all)
        V = empty_rows(r, q)
        for a in range(r):
            for i in range(q):
                V[a, i] = loadings[items[i], a]
        top, x = -np.inf, empty_rows(K, n_all)
        likeliest = component_offsets(
            winner, loser, own, items, means, log_shares, own_means, offset
        )
        for turn in range(K):
            k = (likeliest + turn) % K
            for i in range(q):
                x[k, i] = modes[k, at + i]
            share[k] = log_shares[k] + posterior_mode(
                winner, loser, own, offset[k], prior, pattern, x[k],
                U[k * n_all : (k + 1) * n_all], room, tol, top - log_shares[k],
            )  # fmt: skip
            top = max(top, share[k])
            for i in range(q):
                modes[k, at + i] = x[k, i]
        scale = 0.0
        for k in range(K):
            share[k] = np.exp(share[k] - top)
            scale += share[k]
        evidence += user_weight[m] * (top + np.log(scale))
        n_users += user_weight[m]
        for k in range(K):
            share[k] *= user_weight[m] / scale
            total[k] += share[k]
            if share[k] >= _LEAST_RESPONSIBILITY:
                inverse_root(U[k * n_all : (k + 1) * n_all], *pattern, W)
                _add(X, products, residuals, items, k, share[k], means[k], V, x[k, :q], x[k, q:], W)
                if len(moments):
                    _add_moments(moments, items, share[k], x[k], W)
        for a in range(r):
            for b in range(r):
                factors[a, b] += X[K + a, K + b]
        for item in items:
            item_users[item] += user_weight[m]
            for a in range(K + r):
                for b in range(K + r):
                    squares[item, a, b] += X[a, b]
    return n_users, evidence


@compiled(inline="always")
def _add(X, products, residuals, items, k, share, mean, V, d, z, W):
    """Add one user's moments under component k: to X those of x, to the others those of items.

    With W of `inverse_root`, the covariance of (d, z) is Wᵀ W; only the last rows of W, as many as
    there are factors, have a part in that of z.
    """
    r, q = V.shape
    K, T = len(X) - r, zero_rows(r, r)  # Cov z
    zd, spread = zero_rows(r, q), zeros(q)  # Cov(z, d), Var(d − V z)
    for row in range(q):
        for x in range(row + 1):
            spread[x] += W[row, x] * W[row, x]
    for row in range(r):
        for a in range(row + 1):
            w = W[q + row, q + a]
            for b in range(row + 1):
                T[a, b] += w * W[q + row, q + b]
            for x in range(q):
                zd[a, x] += w * W[q + row, x]
        for x in range(q):
            rest = W[q + row, x]
            for a in range(row + 1):
                rest -= W[q + row, q + a] * V[a, x]
            spread[x] += rest * rest
    X[k, k] += share
    for a in range(r):
        X[k, K + a] += share * z[a]
        X[K + a, k] += share * z[a]
        for b in range(r):
            X[K + a, K + b] += share * (z[a] * z[b] + T[a, b])
    for x in range(q):
        u, e = mean[items[x]] + d[x], d[x]
        products[items[x], k] += share * u
        for a in range(r):
            products[items[x], K + a] += share * (u * z[a] + zd[a, x])
            e -= V[a, x] * z[a]
        residuals[items[x]] += share * (e * e + spread[x])


@compiled(inline="always")
def _add_moments(moments, items, share, x, W):
    """Add one user's E[d dᵀ] under a component."""
    C, q = square(W), len(items)
    for i in range(q):
        for j in range(q):
            moments[items[i], items[j]] += share * (C[i, j] + x[i] * x[j])
