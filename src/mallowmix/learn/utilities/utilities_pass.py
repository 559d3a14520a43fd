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
from mallowmix.numerics.cholesky import inverse
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.laplace import local_items, local_prior, posterior_mode
from mallowmix.typing import Array

_LEAST_RESPONSIBILITY = 1e-6  # below it a component's share of a user is not added


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
    K = len(broadcast.log_shares)
    size = 2 * int(block.starts[-1] - block.starts[0])  # no user has more items than that
    modes = np.zeros((K, size)) if state is None else state
    sums: list[Any]
    *sums, modes = _sums(
        block.starts - block.starts[0],
        block.pair,
        block.weight,
        block.user_weight,
        block.n_items,
        *broadcast,
        modes,
    )
    return UtilitiesSums(*sums), modes


@compiled
def _sums(starts, pair, weight, user_weight, Q, means, loadings, variances, log_shares, old_modes):
    K, r = len(log_shares), loadings.shape[1]
    squares, products = np.zeros((Q, K + r, K + r)), np.zeros((Q, K + r))
    residuals, item_users, factors = np.zeros(Q), np.zeros(Q), np.zeros((r, r))
    total, n_users, evidence = np.zeros(K), 0.0, 0.0
    modes, number = old_modes.copy(), np.full(Q, -1, np.int64)
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        if starts[m + 1] == starts[m] or user_weight[m] == 0:
            continue
        items, winner, loser = local_items(pair[rows], Q, number)
        q, at = len(items), 2 * starts[m]
        V, precision, log_det, R, B_inverse = local_prior(loadings, variances, items)
        log_joint = log_shares.copy()
        d, U = np.empty((K, q)), np.empty((K, q, q))
        for k in range(K):
            offset = means[k][items[winner]] - means[k][items[loser]]
            d[k], U[k], log_evidence = posterior_mode(
                winner, loser, weight[rows], offset, precision, log_det, modes[k, at : at + q]
            )
            modes[k, at : at + q] = d[k]
            log_joint[k] += log_evidence
        top = log_joint.max()
        share = np.exp(log_joint - top)
        evidence += user_weight[m] * (top + np.log(share.sum()))
        share *= user_weight[m] / share.sum()
        n_users += user_weight[m]
        X = np.zeros((K + r, K + r))
        for k in range(K):
            total[k] += share[k]
            if share[k] >= _LEAST_RESPONSIBILITY:
                own = means[k][items]
                _add(
                    X, products, residuals, items, k, K, share[k], own, d[k], inverse(U[k]), V, R,
                    B_inverse,
                )  # fmt: skip
        factors += X[K:, K:]
        for item in items:
            squares[item] += X
            item_users[item] += user_weight[m]
    return (
        squares, products, residuals, item_users, factors, total, n_users, evidence, modes,
    )  # fmt: skip


@compiled
def _add(X, products, residuals, items, k, K, share, mean, d, C, V, R, B_inverse):
    """Add one user's moments under component k: to X those of x, to the others those of items."""
    r = V.shape[1]
    z, CR = R.T @ d, C @ R
    T = B_inverse + R.T @ CR  # Cov z
    X[k, k] += share
    for a in range(r):
        X[k, K + a] += share * z[a]
        X[K + a, k] += share * z[a]
        for b in range(r):
            X[K + a, K + b] += share * (z[a] * z[b] + T[a, b])
    for x in range(len(items)):
        u = mean[x] + d[x]
        products[items[x], k] += share * u
        e, variance = d[x], C[x, x]
        for a in range(r):
            products[items[x], K + a] += share * (u * z[a] + CR[x, a])
            e -= V[x, a] * z[a]
            variance -= 2 * V[x, a] * CR[x, a]
            for b in range(r):
                variance += V[x, a] * T[a, b] * V[x, b]
        residuals[items[x]] += share * (e * e + variance)
