"""Pairs to predict, user by user, and their categories.

A pair's category is the number of its two items that the user has compared before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block


class Queries(NamedTuple):
    """Ordered pairs to predict, for the users of a block.

    Attributes
    ----------
    starts : (M + 1,) array of int
        The pairs of the m-th user are ``pair[starts[m] : starts[m + 1]]``.
    pair : (n,) array of int
        first · Q + second.
    """

    starts: NDArray[np.int64]
    pair: NDArray[np.int64]

    @staticmethod
    def same_for_all(n_users: int, codes: NDArray[np.int64]) -> "Queries":
        """The same pairs for every user."""
        starts = np.arange(n_users + 1, dtype=np.int64) * len(codes)
        return Queries(starts, np.tile(codes, n_users))

    def users(self) -> NDArray[np.int64]:
        """(n,) the number of each query's user within the block."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def query_categories(block: Block, queries: Queries) -> NDArray[np.int64]:
    """Count how many of each pair's two items its user has compared before.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    queries : Queries
        The pairs.

    Returns
    -------
    (n,) array of int
        0, 1 or 2 for each pair.
    """
    known = np.zeros((block.n_users, block.n_items), np.int64)
    given = block.weight > 0
    user = block.users_of_rows()[given]
    for item in np.divmod(block.pair[given], block.n_items):
        known[user, item] = 1
    first, second = np.divmod(queries.pair, block.n_items)
    user = queries.users()
    return known[user, first] + known[user, second]
