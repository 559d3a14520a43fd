"""Stars from tastes: what following a taste adds to each film's stars, and what a person's own ratings then say of the next one.

M4 gives every person weights θ over its tastes. A film has as many stars as usual, plus the person's generosity, plus what the
tastes add:

    r_mi = c_i + b_m + Σ_k t_mk S_k(i) + noise,    b_m ~ N(0, τ²),    t_m ~ N(0, γ Cov θ)

S_k(i), the star profile of taste k, is learnt by ridge regression of the stars that film i got on its raters' θ, each person's θ
coming from their ratings of other films alone. t_m plays the part of θ_m less its mean, and is inferred from the person's stars.
All is normal, so that the prediction is exact: a person's other ratings weighted by how alike the tastes find two films,
C = S Cov(θ) Sᵀ.
"""

from dataclasses import dataclass, replace
from itertools import product

import numba as nb
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.ratings import RatingTable, find
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.bias import Bias
from mallowmix.peers.interface import rmse
from mallowmix.readers.rating_forms import comparisons_from_ratings
from mallowmix.typing import Array, Progress

_STEP = Step.STAR_PROFILES
# a tenth of the ratings are held out of what is told of people at a time; the first tenth also
# tunes the rest
N_FOLDS = 10
# of the ridge, in ratings by people as far from the mean as people are on average
PENALTIES = (30.0, 100.0, 300.0)
# what a comparison made from ratings counts for; chosen on training ratings held out
CALIBRATION = Calibration(likelihood_weight=0.03, prior_scale=4.0)
NOISE = 0.65  # the variance of a rating around its mean; only the ratios of γ and τ² to it matter
# mean variance of a film's stars by tastes (γ), and τ²
SCALES, GENEROSITY = ((0.1, 0.15, 0.2, 0.3, 0.45), (0.1, 0.2))


@dataclass(frozen=True, eq=False)
class Tastes:
    """People's θ, all fits side by side (D columns): given all their ratings, and for each rating given those in other folds."""

    everything: Array  # (M, D)
    elsewhere: Array  # (n, D)
    fold: NDArray[np.int64]  # (n,)


@dataclass(frozen=True, eq=False)
class StarProfiles:
    """What is learnt of the films: c, and C = S Cov(θ) Sᵀ scaled to a mean variance of 1; γ, τ², their error."""

    center: Array  # (Q,)
    alike: Array  # (Q, Q)
    scale: float = 0.2
    generosity: float = 0.2
    held_out_rmse: float = np.nan


def tastes(
    model: AnyModel,
    table: RatingTable,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Tastes:
    """Everybody's θ through the model and its further fits, with `CALIBRATION`."""
    fits = prepare_members(replace(as_fitted(model), calibration=CALIBRATION))
    fold = generator(seed, _STEP).permutation(len(table)) % N_FOLDS
    elsewhere = np.empty((len(table), sum(len(prepared.alpha) for prepared in fits)))
    for number in range(N_FOLDS):
        rows = fold == number
        elsewhere[rows] = _weights(model, table, ~rows, fits, n_jobs)[table.user[rows]]
        if progress:
            progress("tastes", number + 1, N_FOLDS)
    return Tastes(_weights(model, table, np.ones(len(table), bool), fits, n_jobs), elsewhere, fold)


def _weights(
    model: AnyModel,
    table: RatingTable,
    rows: NDArray[np.bool_],
    fits: list[PreparedModel],
    n_jobs: int | None,
) -> Array:
    """(M, D) posterior means of θ given some of the ratings; the prior's for who has no comparison among them."""
    theta = np.tile(np.concatenate([prepared.prior_mean for prepared in fits]), (table.n_users, 1))
    labels = model.items[find(model.items, table.items, "item")[table.item[rows]]]
    votes: Comparisons = comparisons_from_ratings(
        table.user[rows], labels, table.level[rows]
    ).with_items(model.items)
    parts = ThreadEngine(n_jobs).map(_placed, make_blocks(votes), fits)
    theta[votes.users.astype(np.int64)] = np.concatenate(parts)
    return theta


@map_step("weights for star profiles")
def _placed(block: Block, fits: list[PreparedModel]) -> Array:
    return np.concatenate(
        [fold_in(block, prepared, max_iter=300, tol=1e-4)[0] for prepared in fits], axis=1
    )


def learn_profiles(table: RatingTable, people: Tastes) -> StarProfiles:
    """Profiles from all ratings, with the penalty, γ and τ² that predict the first fold best when it is left out."""
    with threadpool_limits(1):
        first = people.fold == 0
        given = replace(
            table, user=table.user[~first], item=table.item[~first], level=table.level[~first]
        )
        held_out = (table.user[first], table.item[first])
        errors = {
            (penalty, scale, tau): rmse(
                predict_stars(_with(trial, scale, tau), given, *held_out), table.rating[first]
            )
            for penalty in PENALTIES
            for trial in [_profiles(table, people, ~first, penalty)]
            for scale, tau in product(SCALES, GENEROSITY)
        }
        penalty, scale, generosity = best = min(errors, key=errors.__getitem__)
        return _with(
            _profiles(table, people, np.ones(len(table), bool), penalty),
            scale,
            generosity,
            errors[best],
        )


def _with(
    profiles: StarProfiles, scale: float, generosity: float, error: float = np.nan
) -> StarProfiles:
    return replace(profiles, scale=scale, generosity=generosity, held_out_rmse=error)


def _profiles(
    table: RatingTable, people: Tastes, rows: NDArray[np.bool_], penalty: float
) -> StarProfiles:
    """Learn c and C from some of the rows."""
    _, b_item, mean = Bias().biases(table, rows, 4.0, 2.0)
    X = people.elsewhere - people.elsewhere[rows].mean(axis=0)
    penalty = penalty * X[rows].var(axis=0).mean()
    rest = (
        table.rating
        - mean
        - b_item[table.item]
        - _generosity_elsewhere(table, people, rows, mean + b_item)
    )
    S, center = np.zeros((table.n_items, X.shape[1])), np.empty(table.n_items)
    for i in range(table.n_items):
        mine = rows & (table.item == i)
        slopes = ridge(X[mine], rest[mine], penalty)
        S[i], center[i] = slopes[:-1], mean + b_item[i] + slopes[-1]
    alike = S @ np.atleast_2d(np.cov(people.everything, rowvar=False)) @ S.T
    return StarProfiles(center, alike * (table.n_items / max(np.trace(alike), 1e-12)))


def _generosity_elsewhere(
    table: RatingTable, people: Tastes, rows: NDArray[np.bool_], usual: Array
) -> Array:
    """(n,) b_m of each rating's person from their ratings in other folds: Σ (r − usual) / (n + 4)."""
    e = (table.rating - usual[table.item]) * rows
    cell = table.user.astype(np.int64) * N_FOLDS + people.fold
    totals, counts = (
        np.bincount(cell, values, table.n_users * N_FOLDS).reshape(-1, N_FOLDS)
        for values in (e, rows * 1.0)
    )
    others = (totals.sum(axis=1, keepdims=True) - totals) / (
        counts.sum(axis=1, keepdims=True) - counts + 4.0
    )
    return others[table.user, people.fold]


def ridge(X: Array, y: Array, penalty: float) -> Array:
    """(D + 1,) the w that minimises |y − X w − w₀|² + penalty |w|² + 2 w₀², the intercept last."""
    X = np.column_stack([X, np.ones(len(X))])
    P = np.diag(np.r_[np.full(X.shape[1] - 1, penalty), 2.0])
    return np.linalg.solve(X.T @ X + P, X.T @ y).astype(np.float64)


def predict_stars(
    profiles: StarProfiles, table: RatingTable, user: NDArray[np.integer], item: NDArray[np.integer]
) -> Array:
    """(n,) stars of films by people, both as the table numbers them (−1 for who or what it does not know): the posterior mean.

    c_i + k_iJ (K_JJ + noise I)⁻¹ (r_J − c_J) over the films J that the person rated, K = γ C + τ².
    """
    K = profiles.scale * profiles.alike + profiles.generosity
    order = np.argsort(user, kind="stable")
    data = (table.starts(), table.item.astype(np.int64), table.rating, profiles.center, K)
    out = np.empty(len(order))
    out[order] = _posterior_means(user[order].astype(np.int64), item[order].astype(np.int64), *data)
    return np.clip(out, table.scale[0], table.scale[-1])


@nb.njit(cache=True, nogil=True)
def _posterior_means(user, item, starts, rated, rating, center, K):
    """(n,) of targets sorted by person; the system of a person's ratings is solved once."""
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
                    A[a, b] = K[J[a], J[b]] + NOISE * (a == b)
            weight, last = np.linalg.solve(A, e), m
        for a in range(len(J)):
            out[t] += K[i, J[a]] * weight[a]
    return out
