"""Reference rankings for planted models: made from MovieLens, or uniformly at random.

The paper's come from MovieLens by a method that it does not print; it says that they are λ-separable with λ = 0, .01, .05, .20 at
φ = 0, .1, .2, .5. Here people are clustered by their ratings (k-means), a cluster ranks the films by its mean rating, and of
several starts of the clustering the one whose λ comes nearest to the paper's is taken.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.model.separability import separability
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.table2.ratings_split import most_rated
from mallowmix.peers.bias import Bias
from mallowmix.readers.movielens import Ratings

_STEP = Step.REFERENCES
PHIS, PAPER_LAMBDA = (0.0, 0.1, 0.2, 0.5), (0.0, 0.01, 0.05, 0.20)
_LEAST = 1e-3  # λ below this are taken for equal when two fingerprints are compared
_SHRINK = 20.0  # a cluster's mean rating of a film counts so many ratings at the film's usual stars
_FEW = 20  # people with fewer ratings do not count
Sigma = NDArray[np.int32]


def random_references(n_items: int, n_components: int, seed: int) -> Sigma:
    """(K, Q) positions, uniform."""
    return generator(seed, _STEP).permuted(
        np.tile(np.arange(n_items, dtype=np.int32), (n_components, 1)), axis=1
    )


def movielens_references(
    ratings: Ratings, n_items: int, n_components: int, n_starts: int = 20
) -> Sigma:
    """(K, Q) positions: clusters of people, the films of each by their mean rating there."""
    kept = np.isin(ratings.item, most_rated(ratings, n_items))
    table = rating_table((ratings.user[kept], ratings.item[kept], ratings.rating[kept]))
    tried = [_by_clusters(table, n_components, seed) for seed in range(n_starts)]
    return min(tried, key=lambda sigma: _distance(fingerprint(sigma)))


def _by_clusters(table: RatingTable, K: int, seed: int) -> Sigma:
    """People by their stars less the film's usual ones (0 where there is no rating); a cluster's films by mean rating, generosity
    taken off and shrunk towards the usual.
    """
    from sklearn.cluster import KMeans

    b_user, b_item, mean = Bias().biases(table, np.ones(len(table), bool), 4.0, 2.0)
    beyond = table.rating - mean - b_item[table.item]
    X, seen, residual = (np.zeros((table.n_users, table.n_items)) for _ in range(3))
    X[table.user, table.item], residual[table.user, table.item] = (
        beyond,
        beyond - b_user[table.user],
    )
    seen[table.user, table.item] = 1
    busy = np.flatnonzero(seen.sum(axis=1) >= min(_FEW, table.n_items // 2))
    learner: Any = KMeans(K, init="k-means++", n_init=1, max_iter=50, random_state=seed)  # pyright: ignore[reportArgumentType]
    cluster = learner.fit_predict(X[busy])
    # (K, 2, Q)
    sums = np.stack(
        [[part[busy[cluster == k]].sum(axis=0) for part in (residual, seen)] for k in range(K)]
    )
    stars = b_item + sums[:, 0] / (sums[:, 1] + _SHRINK)
    return sigma_of(np.argsort(-stars, axis=1, kind="stable")).astype(np.int32)


def fingerprint(sigma: Sigma) -> tuple[float, ...]:
    """λ at the paper's dispersions."""
    K = len(sigma)
    items = np.array([str(i) for i in range(sigma.shape[1])], object)
    return tuple(
        separability(M4(sigma, np.full(K, phi), np.full(K, 0.1), items).beta()) for phi in PHIS
    )


def _distance(found: tuple[float, ...]) -> float:
    """How far a fingerprint is from the paper's, in orders of magnitude."""
    ours, paper = (np.log(np.maximum(values, _LEAST)) for values in (found, PAPER_LAMBDA))
    return float(np.abs(ours - paper).sum())
