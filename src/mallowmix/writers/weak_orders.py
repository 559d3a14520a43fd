"""From comparisons back to rankings, where a user's comparisons are those of one weak order."""

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError


def rankings_of(comparisons: Comparisons) -> Rankings:
    """Return one ranking for each user who compared anything.

    An item's position follows from how many of the user's items it beats; a tie counts half, or is
    not there at all.

    Raises
    ------
    DataError
        If the positions do not give back exactly the user's comparisons: they are no ranking.
    """
    comparisons = comparisons.without_ranking_id()  # each pair of a user in one row
    starts, parts = comparisons.starts(), []
    for m in np.flatnonzero(np.diff(starts)):
        rows = slice(starts[m], starts[m + 1])
        parts.append(
            (
                m,
                *_order(
                    comparisons.winner[rows], comparisons.loser[rows], comparisons.weight[rows]
                ),
            )
        )
    if not parts:
        raise DataError("There are no comparisons to make rankings of.")
    whose = np.array([m for m, _, _ in parts])
    ranking = np.repeat(np.arange(len(parts)), [len(items) for _, items, _ in parts])
    item, position = (np.concatenate([part[n] for part in parts]) for n in (1, 2))
    found = Rankings.from_codes(
        whose, ranking, item, position, comparisons.items, comparisons.users
    )
    _check_same(found, comparisons)
    return found


def _order(
    winner: NDArray[np.int32], loser: NDArray[np.int32], weight: NDArray[np.float64]
) -> tuple[NDArray, NDArray]:
    """Return a user's items and their positions by wins less losses, equal within a tie."""
    items, numbers = np.unique(np.r_[winner, loser], return_inverse=True)
    first, second = np.split(numbers.reshape(-1), 2)
    ahead = np.bincount(first, weight, len(items)) - np.bincount(second, weight, len(items))
    return items, np.unique(-ahead, return_inverse=True)[1].reshape(-1)


def _check_same(rankings: Rankings, comparisons: Comparisons) -> None:
    made = {ties: rankings.comparisons(ties).without_ranking_id() for ties in ("drop", "half")}
    wrong = np.ones(comparisons.n_users, bool)
    for other in made.values():
        wrong &= _differs(other, comparisons)
    if wrong.any():
        user = text_of(comparisons.users)[int(np.argmax(wrong))]
        more = (
            f" (and of {np.count_nonzero(wrong) - 1:,} more)" if np.count_nonzero(wrong) > 1 else ""
        )
        raise DataError(
            f"The comparisons of user {user!r}{more} are not those of one ranking: some pair is "
            "missing, repeated or contradicts "
            "the others. Write them as comparisons, battles or best-worst instead."
        )


def _differs(made: Comparisons, comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return whose rows are not the same in both."""
    Q = comparisons.n_items
    keys = [rows.user.astype(np.int64) * Q * Q + rows.pair for rows in (made, comparisons)]
    differs = np.zeros(comparisons.n_users, bool)
    _, mine, theirs = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    for rows, there in zip((made, comparisons), (mine, theirs), strict=True):
        alone = np.ones(len(rows), bool)
        alone[there] = False
        differs[rows.user[alone]] = True
    other = made.weight[mine] != comparisons.weight[theirs]
    differs[comparisons.user[theirs[other]]] = True
    return differs
