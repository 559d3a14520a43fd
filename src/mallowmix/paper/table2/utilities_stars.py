"""The predictor's utilities, read as stars.

The predictor that `fit` learns from comparisons says how people's utilities of films go together:
a covariance C. Stars are read off utilities by a line, with normal noise:

    r_mi = c_i + b_m + g (u_mi − s_i) + noise,    u_m − s ~ N(0, C),    b_m ~ N(0, τ²)

so that a person's stars have the covariance K = g² C + τ², given which a prediction is the one of
star profiles (`predict_stars`). With `learnt_on_stars`, K is only where learning begins: EM finds
the c, K and noise under which the training ratings, each person's a part of a normal vector, are
most probable, with an inverse-Wishart prior that counts for `strength` people who have K.
"""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.data.ratings import RatingTable, find
from mallowmix.errors import DataError
from mallowmix.model.predictor import Predictor
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.compiled import compiled
from mallowmix.paper.table2.star_profiles import RATING_NOISE, StarProfiles, usual_stars
from mallowmix.typing import Array

_N_ROUNDS = 30  # of EM; the strength is chosen with as many


@dataclass(frozen=True)
class ReadingSettings:
    """How utilities become stars; the defaults are where the search begins.

    Parameters
    ----------
    scale, generosity : float
        The mean variance of a film's stars by utilities, g² tr C / Q, and τ², both for ratings with
        noise of variance `RATING_NOISE`.
    strength : float
        How many people the prior counts for in EM.
    """

    scale: float = 0.2
    generosity: float = 0.2
    strength: float = 100.0


def reading(table: RatingTable, predictor: Predictor, settings: ReadingSettings) -> StarProfiles:
    """Stars by the predictor's covariance, as it is.

    Parameters
    ----------
    table : RatingTable
        The ratings, from which only c is learnt.
    predictor : Predictor
        Of the same films.
    settings : ReadingSettings
        The line.

    Returns
    -------
    StarProfiles
    """
    C = utilities_covariance(predictor, table.items)
    scale, generosity = settings.scale, settings.generosity
    return StarProfiles(usual_stars(table), C, scale, generosity)


def learnt_on_stars(
    table: RatingTable, begin: StarProfiles, strength: float, n_rounds: int = _N_ROUNDS
) -> StarProfiles:
    """EM for c, K and the noise from the ratings.

    Parameters
    ----------
    table : RatingTable
        The ratings.
    begin : StarProfiles
        From `reading`; its K is also the prior's.
    strength : float
        How many people the prior counts for.
    n_rounds : int
        Of EM.

    Returns
    -------
    StarProfiles
        With the K that was learnt, in units of the noise.
    """
    prior = begin.scale * begin.covariance + begin.generosity
    c, K, noise = normal_em(table, begin.center, prior, strength, n_rounds)
    return StarProfiles(c, K * (RATING_NOISE / noise), 1.0, 0.0)


def normal_em(
    table: RatingTable, center: Array, prior: Array, strength: float, n_rounds: int
) -> tuple[Array, Array, float]:
    """EM for people's ratings r_J = c_J + x_J + noise of x ~ N(0, K).

    Each round raises the log-likelihood − ½ strength (log |K| + tr prior K⁻¹).

    Parameters
    ----------
    table : RatingTable
        The ratings.
    center : (Q,) array of float
        The first c.
    prior : (Q, Q) array of float
        The first K, and the prior's.
    strength : float
        How many people the prior counts for.
    n_rounds : int
        How many rounds.

    Returns
    -------
    center, covariance, noise : (Q,) array, (Q, Q) array, float
        c, K and the variance of the noise.
    """
    c, K, noise = center, prior, RATING_NOISE
    data = (table.starts(), table.item.astype(np.int64), table.rating)
    with threadpool_limits(1):
        for _ in range(n_rounds):
            moment, rest, counts, squares = _expected(*data, c, K, noise)
            K = (strength * prior + moment) / (strength + table.n_users)
            c, noise = c + rest / np.maximum(counts, 1.0), squares / len(table)
    return c, K, noise


def utilities_covariance(predictor: Predictor, items: Array) -> Array:
    """(Q, Q) of people's utilities, over the members that have some, by their weights in the pool.

    The weights are those for pairs with one item that the user has compared. The mean variance is
    1.

    Parameters
    ----------
    predictor : Predictor
        A predictor of these items.
    items : (Q,) labels
        The order of the rows.
    """
    total = np.zeros((len(items), len(items)))
    for member, weight in zip(predictor.members, predictor.weights[1], strict=True):
        if isinstance(member, UtilitiesModel):
            total += weight * _covariance(member, items)
    if not total.any():
        raise DataError("The predictor has no Gaussian utilities, so that stars cannot be read.")
    return total * (len(items) / np.trace(total))


def _covariance(member: UtilitiesModel, items: Array) -> Array:
    """Within components and between them."""
    rest = member.means - member.shares @ member.means
    C = member.covariance() + (rest.T * member.shares) @ rest
    at = find(member.items, items, "item")
    return C[np.ix_(at, at)]


@compiled
def _expected(starts, rated, rating, c, K, noise):
    """Given ratings: Σ E[x xᵀ] of people's x ~ N(0, K), and of r − c − x the sums by film.

    Also how many ratings each film has, and Σ E(r − c − x)² over all.
    """
    Q = len(c)
    moment, rest, counts, squares = np.zeros((Q, Q)), np.zeros(Q), np.zeros(Q), 0.0
    for m in range(len(starts) - 1):
        J = rated[starts[m] : starts[m + 1]]
        n = len(J)
        if n == 0:
            continue
        KJ, A, e = np.empty((n, Q)), np.empty((n, n)), np.empty((n, 1))
        for a in range(n):
            KJ[a] = K[J[a]]
            e[a, 0] = rating[starts[m] + a] - c[J[a]]
            for b in range(n):
                A[a, b] = K[J[a], J[b]] + noise * (a == b)
        root = np.linalg.inv(np.linalg.cholesky(A))  # A⁻¹ = rootᵀ root
        X = root @ KJ
        mean = (X.T @ (root @ e))[:, 0]
        moment += np.outer(mean, mean) + K - X.T @ X
        for a in range(n):
            left, variance = e[a, 0] - mean[J[a]], K[J[a], J[a]]
            for b in range(n):
                variance -= X[b, J[a]] ** 2
            rest[J[a]] += left
            counts[J[a]] += 1.0
            squares += left**2 + variance
    return moment, rest, counts, squares
