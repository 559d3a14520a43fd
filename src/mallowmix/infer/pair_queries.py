"""Pairs to predict, user by user, and their categories.

A pair's category is the number of its two items that the user has compared before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.small_work import is_small


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
    if is_small(block.n_users * block.n_items):
        return _few_categories(block, queries)
    starts = block.starts - block.starts[0]
    return _categories(starts, block.pair, block.weight, block.n_items, *queries)


def _few_categories(block: Block, queries: Queries) -> NDArray[np.int64]:
    """The same as `_categories`, without Numba."""
    user, counted, Q = block.users_of_rows(), block.weight > 0, block.n_items
    known = np.zeros((block.n_users, Q), np.int64)
    for item in np.divmod(block.pair, Q):
        known[user[counted], item[counted]] = 1
    first, second = np.divmod(queries.pair, Q)
    asking = queries.users()
    return known[asking, first] + known[asking, second]


@compiled
def _categories(starts, pair, weight, Q, query_starts, queries):
    out, known = np.empty(len(queries), np.int64), np.full(Q, -1, np.int64)
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            if weight[row] > 0:
                known[pair[row] // Q], known[pair[row] % Q] = m, m
        for n in range(query_starts[m], query_starts[m + 1]):
            out[n] = (known[queries[n] // Q] == m) + (known[queries[n] % Q] == m)
    return out
