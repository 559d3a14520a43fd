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
from mallowmix.learn.utilities.conditioned_utilities import Conditioned, condition, logistic_of
from mallowmix.learn.utilities.laplace_arrays import gap_variances
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.randomness import Step, generator
from mallowmix.numerics.small_work import is_small
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
        As in `conditioned_utilities.condition`.

    Returns
    -------
    (n,) array
        The probability that each query's user prefers the pair's first item.
    """
    out = np.empty(len(queries.pair))
    for given in condition(block, model, modes):
        predict_given(given, model, queries, out)
    return out


def predict_given(given: Conditioned, model: UtilitiesModel, queries: Queries, out: Array) -> None:
    """Write the probabilities of some users' queried pairs into `out`.

    Parameters
    ----------
    given : Conditioned
        These users' utilities, given their answers.
    model, queries
        As in `utilities_probabilities`.
    out : (n,) array
        Of all queries.
    """
    starts = queries.starts[given.users.start : given.users.stop + 1]
    rows = slice(int(starts[0]), int(starts[-1]))
    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    i, j = np.divmod(queries.pair[rows], model.n_items)
    variance = _variances(given, model, user, i, j)
    p = logistic_of(given.gaps(user, i, j) / np.sqrt(1 + np.pi * variance / 8))
    out[rows] = (given.shares()[user] * p).sum(axis=1)


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


def _variances(
    given: Conditioned,
    model: UtilitiesModel,
    user: NDArray[Any],
    i: NDArray[Any],
    j: NDArray[Any],
) -> Array:
    """(n, K) the variance of u_i − u_j."""
    K, r = model.n_components, model.n_factors
    if is_small(len(user) * K * r):
        return gap_variances((given.at, given.C, given.CR, given.T), model, (user, i, j))
    out = np.empty((len(user), K))
    sent = given.at, given.C, given.CR, given.T, model.loadings, model.variances
    _add_up_variances(*map(unwritable, (*sent, user, i, j)), out)
    return out


@compiled
def _add_up_variances(at, C, CR, T, V, psi, user, i, j, out):
    """An item that was not compared is c · z + e, with its loadings c; one that was has no c."""
    r = V.shape[1]
    c = np.empty(r)
    for n in range(len(user)):
        m, x, y = user[n], at[user[n], i[n]], at[user[n], j[n]]
        for a in range(r):
            c[a] = (V[i[n], a] if x < 0 else 0.0) - (V[j[n], a] if y < 0 else 0.0)
        for k in range(out.shape[1]):
            v = C[m, k, x, x] if x >= 0 else psi[i[n]]
            v += C[m, k, y, y] if y >= 0 else psi[j[n]]
            if x >= 0 and y >= 0:
                v -= 2 * C[m, k, x, y]
            for a in range(r):
                for b in range(r):
                    v += c[a] * T[m, k, a, b] * c[b]
                if x >= 0:
                    v += 2 * c[a] * CR[m, k, x, a]
                if y >= 0:
                    v -= 2 * c[a] * CR[m, k, y, a]
            out[n, k] = max(v, 0.0)
