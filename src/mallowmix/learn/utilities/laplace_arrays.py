"""A few users' utilities, given their answers, by NumPy: all users and components in one step.

The same Laplace approximation as `numerics.laplace`, where a kernel takes users one by one. Here
the factors are left out: d has the precision S⁻¹ + H with S⁻¹ = Ψ⁻¹ − F B⁻¹ Fᵀ, and with R = F B⁻¹
E z = Rᵀ d̂, Cov(d, z) = C R and Cov z = B⁻¹ + Rᵀ C R. Users with fewer items than others have items
more, of variance 1, that no answer is about.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.laplace import LEAST_GAIN, MAX_ITER, MAX_SHORTER, MUCH_BELOW, TOL
from mallowmix.typing import Array


class _Answers(NamedTuple):
    """Answers of all users, each filled up to the longest with answers of weight 0.

    Attributes
    ----------
    contrast : (M, n, q) array
        1 at the item preferred and −1 at the other.
    weight : (M, 1, n) array
        What each answer counts for.
    offset : (M, K, n) array
        s_i − s_j of each answer.
    precision : (M, 1, q, q) array
        S⁻¹.
    """

    contrast: Array
    weight: Array
    offset: Array
    precision: Array

    def gaps(self, d: Array) -> Array:
        """(M, K, n) u_i − u_j of each answer."""
        return self.offset + d @ self.contrast.swapaxes(1, 2)

    def log_joint(self, d: Array) -> Array:
        """(M, K) Σ w log σ(u_i − u_j) − ½ dᵀ S⁻¹ d."""
        x = self.gaps(d)
        log_p = np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))
        return (self.weight * log_p).sum(axis=2) - 0.5 * (d * self.pull(d)).sum(axis=2)

    def pull(self, d: Array) -> Array:
        """(M, K, q) S⁻¹ d."""
        return d @ self.precision[:, 0]

    def gradient(self, d: Array) -> Array:
        """(M, K, q)."""
        return (self.weight * logistic_of(-self.gaps(d))) @ self.contrast - self.pull(d)

    def precisions(self, d: Array, *, bound: bool) -> Array:
        """(M, K, q, q) the precision of d; from the bound's curvature where an answer is unlikely.

        The bound is that of `numerics.laplace` on log σ.
        """
        x = self.gaps(d)
        p = logistic_of(x)
        h = p * (1 - p)
        if bound:
            h = np.where(x < MUCH_BELOW, (p - 0.5) / np.minimum(x, MUCH_BELOW), h)
        contrast = self.contrast[:, None]
        weighed = (self.weight * h)[..., None] * contrast
        return self.precision + contrast.swapaxes(2, 3) @ weighed


def condition_arrays(
    starts: NDArray[np.int64],
    pair: NDArray[np.int32],
    weight: Array,
    model: UtilitiesModel,
) -> tuple[NDArray[np.int64], Array, Array, Array, Array, Array]:
    """Condition some users' utilities on their answers.

    Parameters
    ----------
    starts, pair, weight
        Of the users, as in a block.
    model : UtilitiesModel
        The model.

    Returns
    -------
    tuple
        `at`, `log_joint`, `mean`, `C`, `CR` and `T`, as in `conditioned_utilities.Conditioned`.
    """
    at = _numbered(starts, pair, model.n_items)
    V, psi = _own_items(at, model)  # (M, q, r) and (M, q)
    F = V / psi[:, :, None]
    B = np.eye(V.shape[2]) + V.swapaxes(1, 2) @ F
    spread = np.linalg.inv(B)
    R = F @ spread
    precision = np.eye(psi.shape[1]) / psi[:, None] - R @ F.swapaxes(1, 2)
    d, P, log_p = _modes(_answers(starts, pair, weight, at, model.means, precision))
    C = np.asarray(np.linalg.inv(P), np.float64)
    log_det = np.linalg.slogdet(P)[1] + (np.linalg.slogdet(B)[1] + np.log(psi).sum(axis=1))[:, None]
    CR = C @ R[:, None]
    T = spread[:, None] + R[:, None].swapaxes(2, 3) @ CR
    mean = model.means + (d @ R) @ model.loadings.T
    user, item = np.nonzero(at >= 0)
    mean[user, :, item] = model.means[:, item].T + d[user, :, at[user, item]]
    return at, np.log(model.shares) + log_p - 0.5 * log_det, mean, C, CR, T


def _numbered(
    starts: NDArray[np.int64], pair: NDArray[np.int32], n_items: int
) -> NDArray[np.int64]:
    """(M, Q) the items that each user compared, from 0; −1 for the others."""
    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    known = np.zeros((len(starts) - 1, n_items), np.bool_)
    for item in np.divmod(pair, n_items):
        known[user, item] = True
    return np.where(known, np.cumsum(known, axis=1) - 1, -1)


def _own_items(at: NDArray[np.int64], model: UtilitiesModel) -> tuple[Array, Array]:
    """Loadings and variances of each user's items."""
    (M, _), q = at.shape, int(at.max(initial=-1)) + 1
    V, psi = np.zeros((M, q, model.loadings.shape[1])), np.ones((M, q))
    user, item = np.nonzero(at >= 0)
    V[user, at[user, item]], psi[user, at[user, item]] = model.loadings[item], model.variances[item]
    return V, psi


def _answers(
    starts: NDArray[np.int64],
    pair: NDArray[np.int32],
    weight: Array,
    at: NDArray[np.int64],
    means: Array,
    precision: Array,
) -> _Answers:
    n, (M, Q), q = np.diff(starts), at.shape, precision.shape[1]
    user, longest = np.repeat(np.arange(M), n), int(n.max(initial=0))
    row = np.arange(len(user)) - np.repeat(starts[:-1] - starts[0], n)
    i, j = np.divmod(pair, Q)
    contrast, offset = np.zeros((M, longest, q)), np.zeros((M, len(means), longest))
    contrast[user, row, at[user, i]] = 1.0
    contrast[user, row, at[user, j]] = -1.0
    offset[user, :, row] = (means[:, i] - means[:, j]).T
    weights = np.zeros((M, 1, longest))
    weights[user, 0, row] = weight
    return _Answers(contrast, weights, offset, precision[:, None])


def _modes(answers: _Answers) -> tuple[Array, Array, Array]:
    """Newton's method with shortened steps, as in `laplace.posterior_mode`.

    (M, K, q) the modes, (M, K, q, q) the precision before the last step, and (M, K) the logarithms
    of the likelihood times the prior, without the prior's constant.
    """
    (M, K, _), q = answers.offset.shape, answers.contrast.shape[2]
    d, value = np.zeros((M, K, q)), answers.log_joint(np.zeros((M, K, q)))
    P, moving = np.empty((M, K, q, q)), np.ones((M, K), np.bool_)
    for number in range(MAX_ITER):
        cold = number == 0
        P[moving] = answers.precisions(d, bound=cold)[moving]
        gradient = answers.gradient(d)
        step = np.asarray(np.linalg.solve(P, gradient[..., None])[..., 0], np.float64)
        new_d, new = _moved(answers, d, step, (gradient * step).sum(axis=2), value, moving)
        d, value = np.where(moving[..., None], new_d, d), np.where(moving, new, value)
        longest = np.abs(step).max(axis=2, initial=0.0)
        moving = moving & ((longest >= TOL) | cold)
        if not moving.any():
            break
    return d, P, value


def _moved(
    answers: _Answers,
    d: Array,
    step: Array,
    slope: Array,
    value: Array,
    moving: NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Go steps, shortened until no density falls; where they lead, and the densities there."""
    length, shorten = np.where(moving, 1.0, 0.0), moving
    new_d, new = d, value
    for _ in range(MAX_SHORTER):
        new_d = d + length[..., None] * step
        new = answers.log_joint(new_d)
        shorten = shorten & ~(new >= value - LEAST_GAIN)
        if not shorten.any():
            break
        new_slope = (answers.gradient(new_d) * step).sum(axis=2)
        # to where the slope would be 0 if it fell evenly
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.minimum(0.5, np.maximum(0.1, slope / (slope - new_slope)))
        length = np.where(shorten, part * length, length)
    return new_d, new


def gap_variances(
    posterior: tuple[NDArray[np.int64], Array, Array, Array],
    model: UtilitiesModel,
    pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> Array:
    """Compute the variance of u_i − u_j of users' pairs, as `utilities_posterior` states it.

    Parameters
    ----------
    posterior : tuple
        `at`, `C`, `CR` and `T`, as in `conditioned_utilities.Conditioned`.
    model : UtilitiesModel
        The model.
    pairs : three (n,) arrays of int
        User, i and j of each.

    Returns
    -------
    (n, K) array
    """
    (at, C, CR, T), (user, i, j) = posterior, pairs
    total, loadings, shared = 0.0, 0.0, 0.0
    for item, sign in ((i, 1), (j, -1)):
        x = at[user, item]
        new = (x < 0)[:, None]
        total = total + np.where(new, model.variances[item, None], C[user, :, x, x])
        loadings = loadings + sign * np.where(new, model.loadings[item], 0.0)
        shared = shared + sign * np.where(new[..., None], 0.0, CR[user, :, x])
    x, y = at[user, i], at[user, j]
    both = ((x >= 0) & (y >= 0))[:, None]
    total = total - 2 * np.where(both, C[user, :, x, y], 0.0)
    total += np.einsum("na,nkab,nb->nk", loadings, T[user], loadings)
    total += 2 * np.einsum("na,nka->nk", loadings, shared)
    return np.maximum(total, 0.0)


def logistic_of(x: Array) -> Array:
    """σ(x), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1 + e)
