"""Initialisation of a mixture's EM: users in K groups by k-means on net wins.

The net-win vector (Wu et al. 2015) has one entry for each item: wins less losses of a user, scaled
by the number of comparisons. It is noisy for one user, but Q numbers are less noisy than the Q² of
all pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.errors import FitError, check_at_least
from mallowmix.typing import Array

_MOST = 20_000  # users who make the groups; the others join the nearest


def net_wins(data: Comparisons) -> Array:
    """(M, Q) wins less losses of each user and item, divided by √(comparisons of the item + 1)."""
    parts = ThreadEngine().map(_net_wins, make_blocks(data))
    return np.concatenate(parts)


@map_step("net wins")
def _net_wins(block: Block, _: Any) -> Array:
    M, Q = block.n_users, block.n_items
    person = np.repeat(np.arange(M), np.diff(block.starts))
    winner, loser = np.divmod(block.pair.astype(np.int64), Q)
    won, lost = (
        np.bincount(person * Q + side, block.weight, M * Q).reshape(M, Q)
        for side in (winner, loser)
    )
    return (won - lost) / np.sqrt(won + lost + 1)


def group_people(points: Array, K: int, seed: int) -> NDArray[np.int64]:
    """(M,) the group of each user, none of the K empty."""
    check_at_least("n_components", K, 1)
    if len(points) < K:
        raise FitError(
            f"There are {len(points)} people for {K} components. Ask for fewer components."
        )
    with threadpool_limits(1):
        found: Any = KMeans(
            K,
            init="k-means++",
            n_init=1,  # type: ignore[arg-type]
            random_state=seed % 2**32,
        )
        labels = np.asarray(found.fit(points[:_MOST]).predict(points), np.int64)
    missing = np.setdiff1d(np.arange(K), labels)
    labels[np.arange(len(missing))] = missing  # users alike: an empty group takes one of them
    return labels
