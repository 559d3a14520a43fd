"""Ranking ids: which of a user's comparisons come from one ranking, or from one set of ratings.

An id says only which rows of a user belong together. So ids have a normal form: a user's rankings
are numbered 0, 1, … in an order that follows from their comparisons alone, those with the same
comparisons are one ranking with the sum of the weights, and a comparison that is alone in its
ranking is an answer of its own, −1. Nothing is lost by this, and neither the ids of the input nor
the order of its rows matter.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.coded_rows import merged_rows
from mallowmix.data.labels import as_column, encode
from mallowmix.data.lazy_arrow import pa
from mallowmix.data.row_checks import gaps
from mallowmix.errors import DataError

OWN = -1  # the id of a comparison that is an answer of its own


class RankedRows(NamedTuple):
    """Rows in the normal form: sorted by key and id, each once; no ids where all are `OWN`."""

    key: NDArray[np.int64]
    weight: NDArray[np.float64]
    ranking_id: NDArray[np.int32] | None


def ranking_codes(ranking_id: Any, kept: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Numbers of a column of ids, text or whole numbers, in the rows `kept`; `OWN` for gaps."""
    column = as_column(ranking_id, "ranking_id")
    if len(column) != n_rows:
        raise DataError(
            f"There are {len(column)} ranking ids for {n_rows} comparisons; there must be one "
            "each, empty for a comparison that is an answer of its own."
        )
    column = column.take(pa.array(kept))
    codes, present = np.full(len(column), OWN, np.int64), ~gaps(column)
    codes[present] = encode(column.filter(pa.array(present)))[0][0]
    return codes


def checked_ids(ranking_id: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Ids as int64, `OWN` for all below 0; None where there are none."""
    if ranking_id is None:
        return None
    ids = np.asarray(ranking_id, np.int64)
    if ids.shape != (n_rows,):
        raise DataError(
            f"ranking_id has the shape {ids.shape} for {n_rows} rows; there must be one each."
        )
    return np.maximum(ids, OWN)


def merged_ranked_rows(
    key: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    ranking_id: NDArray[np.int64] | None,
    n_items: int,
) -> RankedRows:
    """Rows in the normal form, whatever their order and ids.

    Parameters
    ----------
    key : (n,) array of int
        user · Q² + winner · Q + loser of each row.
    weight : (n,) array of float or None
        The weights of the rows; None where each is 1. Rows of weight 0 are left out.
    ranking_id : (n,) array of int or None
        Equal for rows of a user that come from one ranking; `OWN` for answers of their own.
    n_items : int
        Q.
    """
    if ranking_id is None or not np.any(ranking_id >= 0):
        return RankedRows(*merged_rows(key, weight), None)
    weight = np.ones(len(key)) if weight is None else weight
    key, weight, ranking_id = _merged(key[weight > 0], weight[weight > 0], ranking_id[weight > 0])
    ranking_id = _numbered(key, ranking_id, n_items)
    if not np.any(ranking_id >= 0):
        return RankedRows(*merged_rows(key, weight), None)
    key, weight, ranking_id = _merged(key, weight, ranking_id)
    return RankedRows(key, weight, ranking_id.astype(np.int32))


def one_ranking_each(
    user: NDArray[Any], winner: NDArray[Any], loser: NDArray[Any]
) -> NDArray[np.int32] | None:
    """Ids in the normal form of rows, sorted by user, all of which come from one ranking a user."""
    if not len(user):
        return None
    first = np.flatnonzero(np.r_[True, user[1:] != user[:-1]])
    length = np.diff(np.r_[first, len(user)])
    last = first + length - 1
    tie = (length == 2) & (winner[first] == loser[last]) & (loser[first] == winner[last])
    alone = (length == 1) | tie
    ids = np.repeat(np.where(alone, OWN, 0), length).astype(np.int32)
    return None if alone.all() else ids


def _merged(
    key: NDArray[np.int64], weight: NDArray[np.float64], ranking_id: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Rows sorted by key and id; the weights of equal ones are added in ascending order."""
    order = np.lexsort((weight, ranking_id, key))
    key, weight, ranking_id = key[order], weight[order], ranking_id[order]
    first = group_starts(key, ranking_id)
    total = np.add.reduceat(weight, first) if len(key) else weight
    return key[first], total, ranking_id[first]


def group_starts(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Where runs of rows that are equal in all columns start."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.r_[True, changes])


def _numbered(
    key: NDArray[np.int64], ranking_id: NDArray[np.int64], n_items: int
) -> NDArray[np.int64]:
    """Ids in the normal form: each user's rankings by a digest of their comparisons, `OWN` else."""
    out = np.full(len(key), OWN, np.int64)
    ranked = np.flatnonzero(ranking_id >= 0)
    user, pair = np.divmod(key[ranked], n_items**2)
    order = np.lexsort((ranking_id[ranked], user))
    user, pair, ids = user[order], pair[order], ranking_id[ranked][order]
    first = group_starts(user, ids)
    if not len(first):
        return out
    winner, loser = np.divmod(pair, n_items)
    unordered = np.minimum(winner, loser) * n_items + np.maximum(winner, loser)
    alone = np.minimum.reduceat(unordered, first) == np.maximum.reduceat(unordered, first)
    number = np.full(len(first), OWN, np.int64)
    number[~alone] = _by_digest(user[first][~alone], np.add.reduceat(_mixed(pair), first)[~alone])
    out[ranked[order]] = np.repeat(number, np.diff(np.r_[first, len(user)]))
    return out


def _by_digest(user: NDArray[np.int64], digest: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Numbers 0, 1, … of each user's rankings in the order of their digests, equal for equal."""
    order = np.lexsort((digest, user))
    user, digest = user[order], digest[order]
    number = np.zeros(len(user), np.int64)
    number[group_starts(user, digest)] = 1
    number = np.cumsum(number) - 1
    first = group_starts(user)
    number -= np.repeat(number[first], np.diff(np.r_[first, len(user)]))
    out = np.empty_like(number)
    out[order] = number
    return out


def _mixed(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Pair codes as 64 random-looking bits (splitmix64), whose sum is a digest of a set of them."""
    z = (values.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
