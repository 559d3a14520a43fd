"""Star profiles: what following a component adds to each film's stars.

M4 gives every user weights θ over its components. A film has its usual stars, plus the user's
generosity, plus what the components add:

    r_mi = c_i + b_m + Σ_k t_mk S_k(i) + noise,    b_m ~ N(0, τ²),    t_m ~ N(0, γ Cov θ)

S_k(i), the star profile of component k, is learnt by ridge regression of the stars that film i got
on its raters' θ, each user's θ given their ratings of other films only. t_m stands for θ_m less its
mean, and is inferred from the user's stars. All is normal, so that the prediction is exact: a
user's other ratings, weighted by the covariance of two films, C = S Cov(θ) Sᵀ.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.data.ratings import RatingTable
from mallowmix.numerics.compiled import compiled
from mallowmix.paper.table2.fold_weights import N_RATING_FOLDS, FoldWeights
from mallowmix.peers.bias import Bias
from mallowmix.typing import Array

# the variance of a rating around its mean; only the ratios of γ and τ² to it matter
RATING_NOISE = 0.65


@dataclass(frozen=True)
class ProfileSettings:
    """How profiles are learnt and read; the defaults are where the search begins.

    Parameters
    ----------
    penalty : float
        Of the ridge, in ratings by users as far from the mean as users are on average.
    scale, generosity : float
        γ, the mean variance of a film's stars by components, and τ².
    """

    penalty: float = 100.0
    scale: float = 0.2
    generosity: float = 0.2


@dataclass(frozen=True, eq=False)
class StarProfiles:
    """What is learnt of the films.

    Parameters
    ----------
    center : (Q,) array of float
        The usual stars c.
    covariance : (Q, Q) array of float
        C = S Cov(θ) Sᵀ, scaled to a mean variance of 1.
    scale, generosity : float
        γ and τ².
    """

    center: Array
    covariance: Array
    scale: float = 0.2
    generosity: float = 0.2


def learn_profiles(
    table: RatingTable, weights: FoldWeights, settings: ProfileSettings
) -> StarProfiles:
    """Learn c and C from all ratings.

    Parameters
    ----------
    table : RatingTable
        The ratings.
    weights : FoldWeights
        The weights of its users.
    settings : ProfileSettings
        With the penalty; γ and τ² are passed on.

    Returns
    -------
    StarProfiles
    """
    (shrinkage, _), usual = Bias().chosen(table, 0), usual_stars(table)
    X = weights.elsewhere - weights.elsewhere.mean(axis=0)
    penalty = settings.penalty * X.var(axis=0).mean()
    rest = (
        table.rating - usual[table.item] - _generosity_elsewhere(table, weights, usual, shrinkage)
    )
    S, center = np.zeros((table.n_items, X.shape[1])), np.empty(table.n_items)
    with threadpool_limits(1):
        for i in range(table.n_items):
            mine = table.item == i
            slopes = ridge(X[mine], rest[mine], penalty)
            S[i], center[i] = slopes[:-1], usual[i] + slopes[-1]
        covariance = S @ np.atleast_2d(np.cov(weights.overall, rowvar=False)) @ S.T
    covariance *= table.n_items / max(np.trace(covariance), 1e-12)
    return StarProfiles(center, covariance, settings.scale, settings.generosity)


def usual_stars(table: RatingTable) -> Array:
    """(Q,) the mean stars of films, less the generosity of who rated them, as `Bias` learns them.

    Parameters
    ----------
    table : RatingTable
        The ratings.
    """
    bias = Bias()
    rows = np.ones(len(table), bool)
    _, b_item, mean = bias.biases(table, rows, *bias.chosen(table, 0))
    return mean + b_item


def _generosity_elsewhere(
    table: RatingTable, weights: FoldWeights, usual: Array, shrinkage: float
) -> Array:
    """(n,) b_m of each rating's user, from other folds: Σ (r − usual) / (n + λ)."""
    e = table.rating - usual[table.item]
    cell = table.user.astype(np.int64) * N_RATING_FOLDS + weights.fold
    totals, counts = (
        np.bincount(cell, values, table.n_users * N_RATING_FOLDS).reshape(-1, N_RATING_FOLDS)
        for values in (e, np.ones(len(e)))
    )
    others = (totals.sum(axis=1, keepdims=True) - totals) / (
        counts.sum(axis=1, keepdims=True) - counts + shrinkage
    )
    return others[table.user, weights.fold]


def ridge(X: Array, y: Array, penalty: float) -> Array:
    """The w that minimises |y − X w − w₀|² + penalty |w|² + 2 w₀².

    Parameters
    ----------
    X : (n, D) array of float
        The regressors.
    y : (n,) array of float
        The response.
    penalty : float
        Of the slopes.

    Returns
    -------
    (D + 1,) array of float
        The slopes, then the intercept w₀.
    """
    X = np.column_stack([X, np.ones(len(X))])
    P = np.diag(np.r_[np.full(X.shape[1] - 1, penalty), 2.0])
    return np.linalg.solve(X.T @ X + P, X.T @ y).astype(np.float64)


def predict_stars(
    profiles: StarProfiles, table: RatingTable, user: NDArray[np.integer], item: NDArray[np.integer]
) -> Array:
    """The posterior mean of ratings, c_i + k_iJ (K_JJ + noise I)⁻¹ (r_J − c_J), K = γ C + τ².

    Parameters
    ----------
    profiles : StarProfiles
        What is learnt of the films.
    table : RatingTable
        The users' ratings r_J of the films J.
    user, item : (n,) array of int
        Numbers in the table; −1 for a user or film that it does not have.

    Returns
    -------
    (n,) array of float
        The stars, within the scale.
    """
    K = profiles.scale * profiles.covariance + profiles.generosity
    order = np.argsort(user, kind="stable")
    data = (table.starts(), table.item.astype(np.int64), table.rating, profiles.center, K)
    out = np.empty(len(order))
    out[order] = _posterior_means(user[order].astype(np.int64), item[order].astype(np.int64), *data)
    return np.clip(out, table.scale[0], table.scale[-1])


@compiled
def _posterior_means(user, item, starts, rated, rating, center, K):
    """(n,) of targets sorted by user; the system of a user's ratings is solved once."""
    out, weight, last = np.empty(len(user)), np.empty(0), -1
    for t in range(len(user)):
        m, i = user[t], item[t]
        out[t] = center[i] if i >= 0 else center.mean()
        if m < 0 or i < 0:
            continue
        J = rated[starts[m] : starts[m + 1]]
        if m != last:
            A, e = np.empty((len(J), len(J))), np.empty(len(J))
            for a in range(len(J)):
                e[a] = rating[starts[m] + a] - center[J[a]]
                for b in range(len(J)):
                    A[a, b] = K[J[a], J[b]] + RATING_NOISE * (a == b)
            weight, last = np.linalg.solve(A, e), m
        for a in range(len(J)):
            out[t] += K[i, J[a]] * weight[a]
    return out
