"""Dependent comparisons: how many independent answers a user's comparisons are worth.

A ranking of n items gives up to n (n − 1) / 2 comparisons, but n − 1 of them determine all. So the
r comparisons of one ranking are worth at most n − 1 answers: a share min(1, (n − 1) / r) of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparison_arrays import ComparisonArrays
from mallowmix.data.ranking_ids import group_starts
from mallowmix.numerics.compiled import compiled
from mallowmix.typing import Array


class IndependentShares(NamedTuple):
    """One entry for each user and ranking, and for a user's comparisons without a ranking, −1."""

    user: NDArray[np.int64]
    ranking_id: NDArray[np.int64]
    n_items: NDArray[np.int64]  # n, the different items of the ranking
    n_pairs: NDArray[np.int64]  # r, the different pairs of them that are compared
    weight: Array  # how many comparisons, repeated ones counted
    share: Array  # min(1, (n − 1) / r)


def independent_shares(comparisons: ComparisonArrays) -> IndependentShares:
    """What share of the comparisons of each user's rankings are independent answers.

    Parameters
    ----------
    comparisons : Comparisons
        With or without ranking ids; without, each comparison is an answer of its own.

    Returns
    -------
    IndependentShares
        Sorted by user and ranking id. The share is 1 where the id is −1.

    Examples
    --------
    >>> import mallowmix as mm
    >>> from mallowmix.data.dependence import independent_shares
    >>> ranked = mm.Rankings.from_orders([["tea", "milk", "juice", "water"]]).comparisons()
    >>> independent_shares(ranked).share.tolist()  # 3 of 6
    [0.5]
    """
    user, Q = comparisons.user.astype(np.int64), comparisons.n_items
    ids = comparisons.ranking_id
    ids = np.full(len(user), -1, np.int64) if ids is None else ids.astype(np.int64)
    group = user * (int(ids.max(initial=0)) + 2) + ids + 1
    order = np.argsort(group, kind="stable")  # within a group, rows stay sorted by pair
    user, ids, first = user[order], ids[order], group_starts(group[order])
    n_items, n_pairs = _sizes(np.r_[first, len(user)], comparisons.pair[order], Q)
    weight = np.add.reduceat(comparisons.weight[order], first) if len(first) else np.zeros(0)
    share = np.where(ids[first] < 0, 1.0, np.minimum(1.0, (n_items - 1) / np.maximum(n_pairs, 1)))
    return IndependentShares(user[first], ids[first], n_items, n_pairs, weight, share)


def mean_independent_share(comparisons: ComparisonArrays) -> float:
    """The share of a user's comparisons that are independent answers, mean over users.

    Parameters
    ----------
    comparisons : Comparisons
        With or without ranking ids.

    Returns
    -------
    float
        1 without ranking ids. Users without comparisons are left out.

    Examples
    --------
    >>> import mallowmix as mm
    >>> from mallowmix.data.dependence import mean_independent_share
    >>> mean_independent_share(mm.load_dishes(n_users=5).comparisons)
    1.0
    """
    if comparisons.ranking_id is None:
        return 1.0
    found, M = independent_shares(comparisons), comparisons.n_users
    made = np.bincount(found.user, found.weight, M)
    worth = np.bincount(found.user, found.weight * found.share, M)
    return float((worth[made > 0] / made[made > 0]).mean())


@compiled
def _sizes(ends, pair, n_items):
    """Of each group of rows, sorted by pair: how many different items and pairs it has."""
    items, pairs = np.zeros(len(ends) - 1, np.int64), np.zeros(len(ends) - 1, np.int64)
    seen = np.full(n_items, -1, np.int64)
    for group in range(len(ends) - 1):
        mine = pair[ends[group] : ends[group + 1]]
        for code in mine:
            winner, loser = code // n_items, code % n_items
            opposite = loser * n_items + winner
            at = np.searchsorted(mine, opposite)
            both = at < len(mine) and mine[at] == opposite  # a tie: counted once
            pairs[group] += winner < loser or not both
            for item in (winner, loser):
                if seen[item] != group:
                    seen[item] = group
                    items[group] += 1
    return items, pairs
