"""Star profiles: what following a component adds to each film's stars.

M4 gives every user weights θ over its components. A film has its usual stars, plus the user's
generosity, plus what the components add:

    r_mi = c_i + b_m + Σ_k t_mk S_k(i) + noise,    b_m ~ N(0, τ²),    t_m ~ N(0, γ Cov θ)

S_k(i), the star profile of component k, is learnt by ridge regression of the stars that film i got
on its raters' θ, each user's θ given their ratings of other films only. t_m stands for θ_m less its
mean, and is inferred from the user's stars. All is normal, so that the prediction is exact: a
user's other ratings, weighted by the covariance of two films, C = S Cov(θ) Sᵀ.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.data.ratings import RatingTable
from mallowmix.numerics.compiled import compiled
from mallowmix.paper.table2.fold_weights import N_RATING_FOLDS, FoldWeights
from mallowmix.peers.bias import Bias
from mallowmix.peers.interface import rmse
from mallowmix.typing import Array

# of the ridge, in ratings by users as far from the mean as users are on average
_PENALTIES = (30.0, 100.0, 300.0)
# the variance of a rating around its mean; only the ratios of γ and τ² to it matter
RATING_NOISE = 0.65
# candidates for γ, the mean variance of a film's stars by components, and for τ²
_SCALES, _GENEROSITIES = ((0.1, 0.15, 0.2, 0.3, 0.45), (0.1, 0.2))


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
    held_out_rmse : float
        The error on the fold that they were tuned on.
    """

    center: Array
    covariance: Array
    scale: float = 0.2
    generosity: float = 0.2
    held_out_rmse: float = np.nan


def learn_profiles(table: RatingTable, weights: FoldWeights) -> StarProfiles:
    """Learn profiles from all ratings.

    Parameters
    ----------
    table : RatingTable
        The ratings.
    weights : FoldWeights
        The weights of its users.

    Returns
    -------
    StarProfiles
        With the penalty, γ and τ² that predict the first fold best when it is held out.
    """
    with threadpool_limits(1):
        errors = _tuning_errors(table, weights)
        penalty, scale, generosity = best = min(errors, key=errors.__getitem__)
        profiles = _profiles(table, weights, np.ones(len(table), bool), penalty)
        return replace(profiles, scale=scale, generosity=generosity, held_out_rmse=errors[best])


def _tuning_errors(
    table: RatingTable, weights: FoldWeights
) -> dict[tuple[float, float, float], float]:
    """The error on the first fold, held out, by (penalty, γ, τ²)."""
    first = weights.fold == 0
    given = replace(
        table, user=table.user[~first], item=table.item[~first], level=table.level[~first]
    )
    errors = {}
    for penalty in _PENALTIES:
        profiles = _profiles(table, weights, ~first, penalty)
        for scale, generosity in product(_SCALES, _GENEROSITIES):
            trial = replace(profiles, scale=scale, generosity=generosity)
            stars = predict_stars(trial, given, table.user[first], table.item[first])
            errors[penalty, scale, generosity] = rmse(stars, table.rating[first])
    return errors


def _profiles(
    table: RatingTable, weights: FoldWeights, rows: NDArray[np.bool_], penalty: float
) -> StarProfiles:
    """Learn c and C from some of the rows."""
    _, b_item, mean = Bias().biases(table, rows, 4.0, 2.0)
    usual = mean + b_item
    X = weights.elsewhere - weights.elsewhere[rows].mean(axis=0)
    penalty = penalty * X[rows].var(axis=0).mean()
    generosity = _generosity_elsewhere(table, weights, rows, usual)
    rest = table.rating - mean - b_item[table.item] - generosity
    S, center = np.zeros((table.n_items, X.shape[1])), np.empty(table.n_items)
    for i in range(table.n_items):
        mine = rows & (table.item == i)
        slopes = ridge(X[mine], rest[mine], penalty)
        S[i], center[i] = slopes[:-1], usual[i] + slopes[-1]
    covariance = S @ np.atleast_2d(np.cov(weights.overall, rowvar=False)) @ S.T
    return StarProfiles(center, covariance * (table.n_items / max(np.trace(covariance), 1e-12)))


def _generosity_elsewhere(
    table: RatingTable, weights: FoldWeights, rows: NDArray[np.bool_], usual: Array
) -> Array:
    """(n,) b_m of each rating's user, from other folds: Σ (r − usual) / (n + 4)."""
    e = (table.rating - usual[table.item]) * rows
    cell = table.user.astype(np.int64) * N_RATING_FOLDS + weights.fold
    totals, counts = (
        np.bincount(cell, values, table.n_users * N_RATING_FOLDS).reshape(-1, N_RATING_FOLDS)
        for values in (e, rows * 1.0)
    )
    others = (totals.sum(axis=1, keepdims=True) - totals) / (
        counts.sum(axis=1, keepdims=True) - counts + 4.0
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
