"""Posterior of a user's own utilities under a mixture of Gaussian utilities.

For each component, Laplace's approximation (`numerics.laplace`) gives the items A that the user
compared: d_A has mean d̂ and covariance C. The other items follow from the factors: E z = Rᵀ d̂,
Cov z = B⁻¹ + Rᵀ C R, Cov(d_A, z) = C R, so the variance of u_i − u_j is

    both compared   C_ii + C_jj − 2 C_ij
    i compared      C_ii + V_j Cov(z) V_jᵀ + ψ_j − 2 (C R)_i V_jᵀ
    none            (V_i − V_j) Cov(z) (V_i − V_j)ᵀ + ψ_i + ψ_j

Components are weighed by their evidence.
"""

from typing import NamedTuple

import numpy as np

from mallowmix.engine import Block
from mallowmix.learn.utilities.conditioned_utilities import Conditioned, condition
from mallowmix.model.utilities_model import UtilitiesModel
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
    parts = [
        (each.shares(), each.mean, _covariances(each, model)) for each in condition(block, model)
    ]
    (K, Q), none = model.means.shape, slice(0, 0)
    empty = np.empty((1, K))[none], np.empty((1, K, Q))[none], np.empty((1, K, Q, Q))[none]
    return UtilitiesPosterior(*map(np.concatenate, zip(empty, *parts, strict=True)))


def _covariances(given: Conditioned, model: UtilitiesModel) -> Array:
    """(M, K, Q, Q) of all utilities: V Cov(z) Vᵀ + Ψ, but for the items that the user compared."""
    V = model.loadings
    full = V @ given.T @ V.T + np.diag(model.variances)
    for m, at in enumerate(given.at):
        items = np.flatnonzero(at >= 0)
        known = given.CR[m][:, at[items]] @ V.T  # (K, q, Q)
        full[m][:, items] = known
        full[m][:, :, items] = known.swapaxes(1, 2)
        full[m][np.ix_(np.arange(len(full[m])), items, items)] = given.C[m][
            :, at[items][:, None], at[items]
        ]
    return full


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
        for k in sorted(set(component.tolist())):
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
