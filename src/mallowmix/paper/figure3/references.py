"""Reference rankings for planted models: made from MovieLens, or uniformly at random.

The paper's come from MovieLens by a method that it does not print; it says that they are
λ-separable with λ = 0, .01, .05, .20 at φ = 0, .1, .2, .5. Here they are made in two ways. People
are clustered by their ratings (k-means), a cluster ranks the films by its mean rating, and of
several initialisations of the clustering the one whose λ comes nearest to the paper's is taken. Or
films are sorted by each of their coordinates in a factorisation of the ratings (PMF), which is what
the paper's reference for TM does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.model.permutations import sigma_of
from mallowmix.model.separability import separability
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.movielens_files import most_rated
from mallowmix.paper.planted_population import planted_model
from mallowmix.peers.bias import Bias
from mallowmix.peers.pmf import PMF
from mallowmix.readers.movielens import Ratings
from mallowmix.typing import Array, Positions

REFERENCE_PHIS, PAPER_LAMBDAS = (0.0, 0.1, 0.2, 0.5), (0.0, 0.01, 0.05, 0.20)
_LEAST_LAMBDA = 1e-3  # λ below this are taken for equal when references are compared
_SHRINKAGE = 20.0  # a cluster's mean rating of a film counts so many ratings at the film's mean
_LEAST_RATINGS = 20  # people with fewer ratings are not clustered


def random_references(n_items: int, n_components: int, seed: int) -> Positions:
    """Uniformly random reference rankings.

    Parameters
    ----------
    n_items, n_components : int
        Q and K.
    seed : int
        Of the draw.

    Returns
    -------
    (K, Q) array of int
        Positions.
    """
    rows = np.tile(np.arange(n_items, dtype=np.int32), (n_components, 1))
    return generator(seed, Step.REFERENCES).permuted(rows, axis=1)


def movielens_references(
    ratings: Ratings, n_items: int, n_components: int, n_initialisations: int = 20
) -> Positions:
    """Reference rankings of the most rated films: clusters of people, films by mean rating.

    Parameters
    ----------
    ratings : Ratings
        All ratings.
    n_items, n_components : int
        Q and K.
    n_initialisations : int
        How often the clustering begins anew.

    Returns
    -------
    (K, Q) array of int
        Positions.
    """
    return _nearest(_by_clusters, ratings, n_items, n_components, n_initialisations)


def pmf_references(
    ratings: Ratings, n_items: int, n_components: int, n_initialisations: int = 20
) -> Positions:
    """Reference rankings of the most rated films: sorted by each of their PMF coordinates.

    The factors are learnt from the ratings of these films alone, less their mean. Their coordinates
    are turned and signed by chance: most initialisations give rankings of which one has no pair of
    its own, so of several the one whose λ comes nearest to the paper's is taken.

    Parameters
    ----------
    ratings : Ratings
        All ratings.
    n_items, n_components : int
        Q and K.
    n_initialisations : int
        How often the factorisation begins anew.

    Returns
    -------
    (K, Q) array of int
        Positions.
    """
    return _nearest(_by_coordinates, ratings, n_items, n_components, n_initialisations)


def _nearest(
    make: Callable[[RatingTable, int, int], Positions],
    ratings: Ratings,
    n_items: int,
    n_components: int,
    n_initialisations: int,
) -> Positions:
    """Of several initialisations the references whose λ comes nearest to the paper's."""
    kept = np.isin(ratings.item, most_rated(ratings, n_items))
    table = rating_table((ratings.user[kept], ratings.item[kept], ratings.rating[kept]))
    tried = [make(table, n_components, seed) for seed in range(n_initialisations)]
    return min(tried, key=lambda sigma: _distance(separability_profile(sigma)))


def _by_coordinates(table: RatingTable, K: int, seed: int) -> Positions:
    """Films from the largest to the least value of each coordinate."""
    stars, sizes = table.rating - table.rating.mean(), (table.n_users, table.n_items, K)
    _, V = PMF().factors(table.user, table.item, stars, sizes, seed)  # (Q, K)
    return sigma_of(np.argsort(-V.T, axis=1, kind="stable")).astype(np.int32)


def _by_clusters(table: RatingTable, K: int, seed: int) -> Positions:
    """A cluster's films by mean rating, generosity taken off and shrunk towards the film's mean."""
    b_user, b_item, mean = Bias().biases(table, np.ones(len(table), bool), 4.0, 2.0)
    stars = table.rating - mean - b_item[table.item]  # less the film's mean
    seen, residual = _matrix(table, np.ones(len(table))), _matrix(table, stars - b_user[table.user])
    active = np.flatnonzero(seen.sum(axis=1) >= min(_LEAST_RATINGS, table.n_items // 2))
    cluster = _clusters(_matrix(table, stars)[active], K, seed)
    members = [active[cluster == k] for k in range(K)]
    sums, counts = (
        np.stack([part[rows].sum(axis=0) for rows in members]) for part in (residual, seen)
    )  # (K, Q)
    stars_of = b_item + sums / (counts + _SHRINKAGE)
    return sigma_of(np.argsort(-stars_of, axis=1, kind="stable")).astype(np.int32)


def _matrix(table: RatingTable, values: Array) -> Array:
    """(M, Q), 0 where there is no rating."""
    matrix = np.zeros((table.n_users, table.n_items))
    matrix[table.user, table.item] = values
    return matrix


def _clusters(X: Array, K: int, seed: int) -> Any:
    """(n,) the cluster of each row, by k-means."""
    from sklearn.cluster import KMeans

    options: dict[str, Any] = {"init": "k-means++", "n_init": 1, "max_iter": 50}
    return KMeans(K, random_state=seed, **options).fit_predict(X)


def separability_profile(sigma: Positions) -> tuple[float, ...]:
    """The λ of reference rankings at the paper's dispersions.

    Parameters
    ----------
    sigma : (K, Q) array of int
        Positions.

    Returns
    -------
    tuple of float
        λ at each of `REFERENCE_PHIS`.
    """
    return tuple(
        separability(planted_model(sigma, phi, alpha=0.1).beta()) for phi in REFERENCE_PHIS
    )


def _distance(found: tuple[float, ...]) -> float:
    """How far λ are from the paper's, in orders of magnitude."""
    ours, paper = (np.log(np.maximum(values, _LEAST_LAMBDA)) for values in (found, PAPER_LAMBDAS))
    return float(np.abs(ours - paper).sum())
