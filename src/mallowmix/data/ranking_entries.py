"""Entries of rankings: sorted, checked, merged, and every pair that they put in order."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels
from mallowmix.errors import DataError
from mallowmix.numerics.compiled import compiled


class RankingEntries(NamedTuple):
    """Entries of rankings: starts[n]:starts[n + 1] are those of ranking n, best first.

    Positions count 0, 1, … without gaps.
    """

    starts: NDArray[Any]
    item: NDArray[Any]
    position: NDArray[Any]


def sorted_entries(
    ranking: NDArray[Any], item: NDArray[Any], position: NDArray[Any], count: int
) -> RankingEntries:
    """Entries sorted by ranking, position and item, with positions 0, 1, … without gaps.

    Parameters
    ----------
    ranking, item, position : (entries,) arrays
        Of each entry, in any order; positions are any finite numbers, less is better.
    count : int
        N, the number of rankings.
    """
    if not len(ranking) == len(item) == len(position):
        raise DataError(
            f"ranking, item and position have {len(ranking)}, {len(item)}, {len(position)} rows; "
            "they must be equally long."
        )
    if position.dtype.kind not in "iuf" or not np.all(np.isfinite(position)):
        raise DataError(
            "A position is missing or not a number. Positions are numbers, less is better."
        )
    order = np.lexsort((item, position, ranking))
    ranking, item, position = ranking[order], item[order], position[order]
    starts = np.searchsorted(ranking, np.arange(count + 1))
    step = (
        np.r_[False, (position[1:] != position[:-1]) & (ranking[1:] == ranking[:-1])]
        if len(position)
        else np.zeros(0, bool)
    )
    dense = np.cumsum(step)
    first = np.minimum(starts[:-1], len(dense) - 1)
    return RankingEntries(starts, item, dense - dense[first][ranking] if len(dense) else dense)


def check_entries(
    entries: RankingEntries, user: NDArray[Any], items: Labels, users: Labels
) -> None:
    """Raise a DataError unless every ranking lists known items, at least one, each once."""
    starts, item, _ = entries
    for name, codes, labels in (("user", user, users), ("item", item, items)):
        if len(codes) and not 0 <= codes.min() <= codes.max() < len(labels):
            raise DataError(
                f"The {name} number of a ranking points to no label; "
                f"there are {len(labels)}, numbered from 0."
            )
    if starts[-1] != len(item) or np.any(np.diff(starts) == 0):
        raise DataError(
            "A ranking lists no item, or an entry belongs to no ranking. "
            "Every ranking needs at least one item."
        )
    which = np.repeat(np.arange(len(user)), np.diff(starts))
    key = np.sort(which * len(items) + item)
    for twice in key[:-1][key[1:] == key[:-1]][:1]:
        n, i = divmod(int(twice), len(items))
        raise DataError(
            f"The ranking of user {users.tolist()[user[n]]!r} lists {items.tolist()[i]!r} twice. "
            "List each item once, and name several rankings of one person apart."
        )


def with_unlisted(entries: RankingEntries, Q: int) -> RankingEntries:
    """Entries with all Q items: those that a ranking does not list are tied at its end."""
    starts, item, position = entries
    N = len(starts) - 1
    which = np.repeat(np.arange(N), np.diff(starts))
    full = np.full((N, Q), Q, np.int64)
    full[which, item] = position
    return sorted_entries(np.repeat(np.arange(N), Q), np.tile(np.arange(Q), N), full.ravel(), N)


def normal_form(
    user: NDArray[Any],
    weight: NDArray[Any],
    starts: NDArray[Any],
    item: NDArray[Any],
    position: NDArray[Any],
) -> tuple[
    NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]
]:
    """Rankings sorted by user and content, the weights of equal ones added, weight 0 left out."""
    merged: dict[tuple[int, bytes], tuple[float, int]] = {}
    content = np.stack([item, position], axis=1).astype(">i4")
    # sums in an order that does not depend on the input's
    for n in sorted(range(len(user)), key=lambda n: weight[n]):
        if weight[n] > 0:
            key = int(user[n]), content[starts[n] : starts[n + 1]].tobytes()
            merged[key] = (merged.get(key, (0.0, n))[0] + weight[n], n)
    if not merged:
        raise DataError("There are no rankings: all have weight 0.")
    keys = sorted(merged)
    numbers = [merged[key][1] for key in keys]
    rows = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in numbers])
    lengths = np.diff(starts)[numbers]
    return (
        np.array([key[0] for key in keys], np.int32),
        np.array([merged[key][0] for key in keys]),
        np.r_[0, np.cumsum(lengths)].astype(np.int64),
        item[rows].astype(np.int32),
        position[rows].astype(np.int32),
    )


@compiled
def ordered_pairs(starts, item, position, half):
    """Ranking, winner, loser and weight of every ordered pair; a tie is two rows of ½, or none."""
    count = 0
    for n in range(len(starts) - 1):
        for a in range(starts[n], starts[n + 1]):
            for b in range(a + 1, starts[n + 1]):
                count += 1 if position[a] != position[b] else (2 if half else 0)
    ranking, winner, loser = (
        np.empty(count, np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.int32),
    )
    share, row = np.ones(count), 0
    for n in range(len(starts) - 1):
        for a in range(starts[n], starts[n + 1]):
            for b in range(a + 1, starts[n + 1]):
                if position[a] != position[b]:
                    ranking[row], winner[row], loser[row] = n, item[a], item[b]
                    row += 1
                elif half:
                    ranking[row], winner[row], loser[row], share[row] = n, item[a], item[b], 0.5
                    ranking[row + 1], winner[row + 1], loser[row + 1], share[row + 1] = (
                        n,
                        item[b],
                        item[a],
                        0.5,
                    )
                    row += 2
    return ranking, winner, loser, share
