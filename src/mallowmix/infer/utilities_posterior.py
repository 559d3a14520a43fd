"""Posterior of a user's own utilities under a mixture of Gaussian utilities.

For each component, Laplace's approximation on the user's items extends to all items: with
c_i = Σ_iA the covariances with the items A that were compared, mean_i = s_i + c_i·a and
cov_ij = Σ_ij − c_iᵀ W c_j. Components are weighed by their evidence.
"""

from typing import NamedTuple

import numba as nb
import numpy as np

from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.laplace import (
    local_covariance,
    local_items,
    logistic,
    posterior_mode,
)
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array


class UtilitiesPosterior(NamedTuple):
    """Posterior of some users' utilities: for each user a mixture of K Gaussians.

    Attributes
    ----------
    shares : (M, K) array
        The posterior probabilities of the components.
    means : (M, K, Q) array
        The mean of the utilities, given the component.
    covariances : (M, K, Q, Q) array
        Their covariance, given the component.
    """

    shares: Array
    means: Array
    covariances: Array


def utilities_probabilities(block: Block, model: UtilitiesModel, queries: Queries) -> Array:
    """Predict queried pairs from each user's posterior.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : UtilitiesModel
        The model.
    queries : Queries
        The pairs to predict.

    Returns
    -------
    (n,) array
        The probability that each query's user prefers the pair's first item.
    """
    return _probabilities(
        block.starts - block.starts[0],
        block.pair,
        block.weight,
        queries.starts,
        queries.pair,
        *_parameters(model),
    )


def utilities_posterior(block: Block, model: UtilitiesModel) -> UtilitiesPosterior:
    """Compute the posterior of the utilities of a few users; it holds K Q² numbers for each.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : UtilitiesModel
        The model.

    Returns
    -------
    UtilitiesPosterior
    """
    return UtilitiesPosterior(
        *_posterior(block.starts - block.starts[0], block.pair, block.weight, *_parameters(model))
    )


def utility_draws(block: Block, model: UtilitiesModel, n_draws: int, *, seed: int = 0) -> Array:
    """Draw each user's utilities from the posterior.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : UtilitiesModel
        The model.
    n_draws : int
        S, the number of draws.
    seed : int
        Of the draws.

    Returns
    -------
    (M, S, Q) array
    """
    posterior, Q = utilities_posterior(block, model), block.n_items
    out = np.empty((block.n_users, n_draws, Q))
    for m in range(block.n_users):
        random = generator(seed, Step.UTILITY_DRAWS, block.first_user + m)
        component = random.choice(model.n_components, n_draws, p=posterior.shares[m])
        noise = random.standard_normal((n_draws, Q))
        for k in np.unique(component):
            rows = component == k
            root = _root(posterior.covariances[m, k])
            out[m, rows] = posterior.means[m, k] + noise[rows] @ root.T
    return out


def _root(covariance: Array) -> Array:
    """A root L of a covariance, L Lᵀ; by Cholesky, or by eigenvalues where one of them is 0."""
    try:
        return np.asarray(np.linalg.cholesky(covariance), np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return vectors * np.sqrt(np.maximum(values, 0.0))


def _parameters(model: UtilitiesModel) -> tuple[Array, Array, Array]:
    return model.means, model.covariance, np.log(model.shares)


@nb.njit(cache=True, nogil=True)
def _conditioned(pair, weight, means, covariance, log_shares, number):
    """One user's log π_k + log evidence (K,), means (K, Q), c = Σ_·A (Q, q) and W (K, q, q)."""
    K, Q = means.shape
    items, winner, loser = local_items(pair, Q, number)
    q = len(items)
    c, S = np.empty((Q, q)), local_covariance(covariance, items)
    for x in range(q):
        c[:, x] = covariance[:, items[x]]
    log_joint, mean, W = log_shares.copy(), means.copy(), np.zeros((K, q, q))
    if q == 0:
        return log_joint, mean, c, W
    for k in range(K):
        offset = means[k][items[winner]] - means[k][items[loser]]
        a, _, W[k], evidence = posterior_mode(winner, loser, weight, offset, S, np.zeros(q))
        log_joint[k] += evidence
        mean[k] += c @ a
    return log_joint, mean, c, W


@nb.njit(cache=True, nogil=True)
def _shares(log_joint):
    r = np.exp(log_joint - log_joint.max())
    return r / r.sum()


@nb.njit(cache=True, nogil=True)
def _probabilities(starts, pair, weight, query_starts, queries, means, covariance, log_shares):
    K, Q = means.shape
    out, number = np.empty(len(queries)), np.full(Q, -1, np.int64)
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        log_joint, mean, c, W = _conditioned(
            pair[rows], weight[rows], means, covariance, log_shares, number
        )
        share = _shares(log_joint)
        for n in range(query_starts[m], query_starts[m + 1]):
            i, j = queries[n] // Q, queries[n] % Q
            prior = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
            difference = c[i] - c[j]
            p = 0.0
            for k in range(K):
                v = max(prior - np.dot(difference, W[k] @ difference), 0.0)
                x = (mean[k, i] - mean[k, j]) / np.sqrt(1 + np.pi * v / 8)
                p += share[k] * logistic(x)
            out[n] = p
    return out


@nb.njit(cache=True, nogil=True)
def _posterior(starts, pair, weight, means, covariance, log_shares):
    M, (K, Q) = len(starts) - 1, means.shape
    shares, mean = np.empty((M, K)), np.empty((M, K, Q))
    covariances, number = np.empty((M, K, Q, Q)), np.full(Q, -1, np.int64)
    for m in range(M):
        rows = slice(starts[m], starts[m + 1])
        log_joint, mean[m], c, W = _conditioned(
            pair[rows], weight[rows], means, covariance, log_shares, number
        )
        shares[m] = _shares(log_joint)
        for k in range(K):
            covariances[m, k] = covariance - c @ W[k] @ c.T
    return shares, mean, covariances
