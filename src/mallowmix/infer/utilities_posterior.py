"""Posterior of a user's own utilities under a mixture of Gaussian utilities.

For each component, Laplace's approximation (`numerics.laplace`) gives the items A that the user
compared: d_A has mean d̂ and covariance C. The other items follow from the factors: E z = Rᵀ d̂,
Cov z = B⁻¹ + Rᵀ C R, Cov(d_A, z) = C R, so the variance of u_i − u_j is

    both compared   C_ii + C_jj − 2 C_ij
    i compared      C_ii + V_j Cov(z) V_jᵀ + ψ_j − 2 (C R)_i V_jᵀ
    none            (V_i − V_j) Cov(z) (V_i − V_j)ᵀ + ψ_i + ψ_j

Components are weighed by their evidence.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.cholesky import inverse
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.laplace import local_items, local_prior, logistic, posterior_mode
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
    return _probabilities(queries.starts, queries.pair, *kernel_arguments(block, model))


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
    return UtilitiesPosterior(*_posterior(*kernel_arguments(block, model)))


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


def kernel_arguments(block: Block, model: UtilitiesModel) -> tuple[NDArray[Any], ...]:
    """Rows of the users, then parameters of the model, as the kernels take them."""
    rows = block.starts - block.starts[0], block.pair, block.weight
    return (*rows, model.means, model.loadings, model.variances, np.log(model.shares))


@compiled
def condition(pair, weight, means, loadings, variances, log_shares, number):
    """Condition on one user's answers.

    Returns items (q,), log π_k + log evidence (K,), and for each component the mean of all
    utilities (K, Q), C (K, q, q), C R (K, q, r) and Cov z (K, r, r).
    """
    K, Q = means.shape
    r = loadings.shape[1]
    items, winner, loser = local_items(pair, Q, number)
    q = len(items)
    log_joint, mean = log_shares.copy(), means.copy()
    C, CR, T = np.zeros((K, q, q)), np.zeros((K, q, r)), np.zeros((K, r, r))
    if q == 0:
        for k in range(K):
            T[k] = np.eye(r)
        return items, log_joint, mean, C, CR, T
    _, precision, log_det, R, B_inverse = local_prior(loadings, variances, items)
    for k in range(K):
        offset = means[k][items[winner]] - means[k][items[loser]]
        d, factor, evidence = posterior_mode(
            winner, loser, weight, offset, precision, log_det, np.zeros(q)
        )
        log_joint[k] += evidence
        mean[k] += loadings @ (R.T @ d)
        mean[k][items] = means[k][items] + d
        C[k] = inverse(factor)
        CR[k] = C[k] @ R
        T[k] = B_inverse + R.T @ CR[k]
    return items, log_joint, mean, C, CR, T


@compiled
def posterior_shares(log_joint):
    """(K,) the posterior probabilities of the components, from log π_k + log evidence."""
    r = np.exp(log_joint - log_joint.max())
    return r / r.sum()


@compiled
def _quadratic(T, x):
    total = 0.0
    for a in range(len(x)):
        for b in range(len(x)):
            total += x[a] * T[a, b] * x[b]
    return total


@compiled
def _variance(i, j, at, loadings, variances, C, CR, T):
    """Of u_i − u_j; `at` numbers the items that the user compared, −1 for the others."""
    x, y = at[i], at[j]
    if x >= 0 and y >= 0:
        return C[x, x] + C[y, y] - 2 * C[x, y]
    if x < 0 and y < 0:
        return _quadratic(T, loadings[i] - loadings[j]) + variances[i] + variances[j]
    if y >= 0:
        i, j, x = j, i, y
    other = _quadratic(T, loadings[j]) + variances[j]
    return C[x, x] + other - 2 * np.dot(CR[x], loadings[j])


@compiled
def _probabilities(
    query_starts, queries, starts, pair, weight, means, loadings, variances, log_shares
):
    K, Q = means.shape
    out, number = np.empty(len(queries)), np.full(Q, -1, np.int64)
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        items, log_joint, mean, C, CR, T = condition(
            pair[rows], weight[rows], means, loadings, variances, log_shares, number
        )
        number[items] = np.arange(len(items))
        share = posterior_shares(log_joint)
        for n in range(query_starts[m], query_starts[m + 1]):
            i, j = queries[n] // Q, queries[n] % Q
            p = 0.0
            for k in range(K):
                v = max(_variance(i, j, number, loadings, variances, C[k], CR[k], T[k]), 0.0)
                p += share[k] * logistic((mean[k, i] - mean[k, j]) / np.sqrt(1 + np.pi * v / 8))
            out[n] = p
        number[items] = -1
    return out


@compiled
def _posterior(starts, pair, weight, means, loadings, variances, log_shares):
    M, (K, Q) = len(starts) - 1, means.shape
    shares, mean = np.empty((M, K)), np.empty((M, K, Q))
    covariances, number = np.empty((M, K, Q, Q)), np.full(Q, -1, np.int64)
    for m in range(M):
        rows = slice(starts[m], starts[m + 1])
        items, log_joint, mean[m], C, CR, T = condition(
            pair[rows], weight[rows], means, loadings, variances, log_shares, number
        )
        shares[m] = posterior_shares(log_joint)
        for k in range(K):
            full = loadings @ T[k] @ loadings.T
            for i in range(Q):
                full[i, i] += variances[i]
            for x in range(len(items)):
                full[items[x]] = loadings @ CR[k, x]
                full[:, items[x]] = full[items[x]]
            for x in range(len(items)):
                for y in range(len(items)):
                    full[items[x], items[y]] = C[k, x, y]
            covariances[m, k] = full
    return shares, mean, covariances
