"""Initial means of the mixture of Gaussian utilities: clusters of users by the items they prefer.

Each user is the vector of net wins of the items, divided by the square root of how often each was
compared; k-means finds K clusters; each cluster's Bradley–Terry scores, halfway to those of all
users, are a mean.
"""

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from mallowmix.engine import Block
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_HALFWAY = 0.5
_RIDGE = 1.0  # on the scores: as much as one comparison with the mean item


def initial_means(blocks: list[Block], n_items: int, n_components: int, seed: int) -> Array:
    """Find initial means; for one component, the Bradley–Terry scores of all users.

    Parameters
    ----------
    blocks : list of Block
        The users.
    n_items : int
        Q.
    n_components : int
        K.
    seed : int
        Of k-means.

    Returns
    -------
    (K, Q) array
    """
    wins, features = [], []
    for block in blocks:
        user = block.users_of_rows()
        first, second = block.pair // n_items, block.pair % n_items
        net = np.zeros((block.n_users, n_items))
        played = np.zeros((block.n_users, n_items))
        np.add.at(net, (user, first), block.weight)
        np.add.at(net, (user, second), -block.weight)
        np.add.at(played, (user, first), block.weight)
        np.add.at(played, (user, second), block.weight)
        features.append(net / np.sqrt(played + 1))
        wins.append((user, block.pair, block.weight))
    everyone = best_scores(_table(wins, n_items, None), _RIDGE)
    if n_components == 1:
        return everyone[None]
    stacked = np.concatenate(features)
    random = generator(seed, Step.MEAN_START, n_components)
    _, label = kmeans2(stacked, n_components, minit="++", rng=random, missing="warn")
    means, edges = [], np.cumsum([0, *(len(each) for each in features)])
    for k in range(n_components):
        chosen = [label[a:b] == k for a, b in itertools.pairwise(edges)]
        own = best_scores(_table(wins, n_items, chosen), 2 * _RIDGE)
        means.append(everyone + _HALFWAY * (own - everyone))
    return np.array(means)


def _table(
    wins: list[tuple[NDArray[np.int32], NDArray[np.int32], Array]],
    n_items: int,
    chosen: list[NDArray[np.bool_]] | None,
) -> Array:
    """(Q, Q) how often the row's item won against the column's among the chosen users."""
    total = np.zeros(n_items * n_items)
    for n, (user, pair, weight) in enumerate(wins):
        keep = slice(None) if chosen is None else chosen[n][user]
        total += np.bincount(pair[keep], weight[keep], n_items * n_items)
    return total.reshape(n_items, n_items)
