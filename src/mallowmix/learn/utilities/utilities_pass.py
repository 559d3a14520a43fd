"""One pass over the users for the mixture of Gaussian utilities: the sums that the M-step needs.

With responsibilities r_mk, gradients g_mk and W_mk of each user's Laplace approximation
(`numerics.laplace`):

    R_k = Σ_m r_mk,   ḡ_k = Σ_m r_mk g_mk,   W̄_k = Σ_m r_mk W_mk,   G = Σ_mk r_mk (g gᵀ − W)
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, reduce_step
from mallowmix.numerics.laplace import local_covariance, local_items, posterior_mode
from mallowmix.typing import Array

_LEAST_RESPONSIBILITY = 1e-6  # below it a component's share of a user is not added


class UtilitiesParameters(NamedTuple):
    """The parameters of the mixture, while it is learnt.

    Attributes
    ----------
    means : (K, Q) array
        s.
    covariance : (Q, Q) array
        Σ.
    log_shares : (K,) array
        log π.
    likelihood_weight : float
        What one answer counts for.
    """

    means: Array
    covariance: Array
    log_shares: Array
    likelihood_weight: float


class UtilitiesSums(NamedTuple):
    """The sums of a pass over users.

    Attributes
    ----------
    moments : (Q, Q) array
        G.
    gradients : (K, Q) array
        ḡ.
    responsibilities : (K,) array
        R.
    n_users : float
        The total weight of the users.
    evidence : float
        The log-likelihood of all answers.
    """

    moments: Array
    gradients: Array
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
        block.weight * broadcast.likelihood_weight,
        block.user_weight,
        block.n_items,
        *broadcast[:3],
        modes,
    )
    return UtilitiesSums(*sums), modes


@nb.njit(cache=True, nogil=True)
def _sums(starts, pair, weight, user_weight, Q, means, covariance, log_shares, old_modes):
    K = len(log_shares)
    moments, gradients, total = np.zeros((Q, Q)), np.zeros((K, Q)), np.zeros(K)
    modes, number, n_users, evidence = old_modes.copy(), np.full(Q, -1, np.int64), 0.0, 0.0
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        if starts[m + 1] == starts[m] or user_weight[m] == 0:
            continue
        items, winner, loser = local_items(pair[rows], Q, number)
        q, at = len(items), 2 * starts[m]
        S = local_covariance(covariance, items)
        g, W, log_joint = np.empty((K, q)), np.empty((K, q, q)), log_shares.copy()
        for k in range(K):
            offset = means[k][items[winner]] - means[k][items[loser]]
            a = modes[k, at : at + q].copy()
            a, g[k], W[k], log_evidence = posterior_mode(winner, loser, weight[rows], offset, S, a)
            modes[k, at : at + q] = a
            log_joint[k] += log_evidence
        top = log_joint.max()
        r = np.exp(log_joint - top)
        evidence += user_weight[m] * (top + np.log(r.sum()))
        r *= user_weight[m] / r.sum()
        n_users += user_weight[m]
        for k in range(K):
            total[k] += r[k]
            if r[k] >= _LEAST_RESPONSIBILITY:
                _add(moments, gradients[k], items, r[k], g[k], W[k])
    return moments, gradients, total, n_users, evidence, modes


@nb.njit(cache=True, nogil=True)
def _add(moments, gradient, items, r, g, W):
    for x in range(len(items)):
        gradient[items[x]] += r * g[x]
        for y in range(len(items)):
            moments[items[x], items[y]] += r * (g[x] * g[y] - W[x, y])
