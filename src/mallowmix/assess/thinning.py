"""At most so many comparisons of a user, and so many users, drawn at random.

A draw is a function of the seed and the user alone. n ratings make up to n(n−1)/2 comparisons,
which say far less than as many independent ones and take as long. Those of ratings are drawn
while pairs are enumerated, so that the rest are never in memory.
"""

from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.ranking_ids import one_ranking_each
from mallowmix.data.rankings import Rankings
from mallowmix.data.ratings import RatingTable
from mallowmix.data.row_limits import limit_rows
from mallowmix.data.splits import counted_users
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, generator, uniforms
from mallowmix.readers.pair_kernels import count_rated_pairs

Part = Literal["train", "given", "held_out"]
# comparisons kept of a user with n ratings: at most min(6 n, 150) by default
PER_ITEM, PER_USER = (6, 150)
_STEPS: dict[Part, Step] = {
    "train": Step.THIN_TRAIN,
    "given": Step.THIN_GIVEN,
    "held_out": Step.THIN_HELD_OUT,
}  # each part is drawn on its own
_USERS = Step.SOME_USERS
Data = TypeVar("Data", bound=Comparisons | Rankings | RatingTable)


class Thinned(NamedTuple):
    """Comparisons that were kept, and how many there were before."""

    kept: Comparisons
    made: float


def thinned(
    comparisons: Comparisons, most: int | None, part: Part, seed: int, people: NDArray[np.int64]
) -> Thinned:
    """Keep at most so many comparisons of each user.

    Parameters
    ----------
    comparisons : Comparisons
        A row of weight w is w comparisons; the fraction left over counts as one more.
    most : int or None
        How many; None keeps all.
    part : {"train", "given", "held_out"}
        Each part has draws of its own.
    seed : int
    people : ndarray of int, shape (M,)
        The numbers that identify the users' draws.

    Returns
    -------
    Thinned
    """
    made = comparisons.n_comparisons
    if most is None:
        return Thinned(comparisons, made)
    return Thinned(limit_rows(comparisons, most, _STEPS[part], seed, people), made)


def rated(
    table: RatingTable, rows: NDArray[np.bool_], most: int | None, part: Part, seed: int
) -> Thinned:
    """Make comparisons of some ratings, over all users and items of the table.

    Parameters
    ----------
    table : RatingTable
    rows : ndarray of bool
        Which ratings. Equal ratings make no comparison.
    most : int or None
        Of a user with n of these ratings at most min(6 n, most) comparisons; 150 unless given.
    part : {"train", "given", "held_out"}
    seed : int

    Returns
    -------
    Thinned
    """
    user, item, level = table.user[rows], table.item[rows], table.level[rows]
    starts = np.searchsorted(user, np.arange(table.n_users + 1))
    made, _ = count_rated_pairs(starts, level, False)
    kept = np.minimum(
        made, np.minimum(PER_ITEM * np.diff(starts), PER_USER if most is None else most)
    )
    user, winner, loser, weight = _drawn_pairs(
        starts, item, level, made, np.r_[0, np.cumsum(kept)], as_key(seed), int(_STEPS[part])
    )
    kept_rows = Comparisons(
        user,
        winner,
        loser,
        weight,
        table.items,
        table.users,
        np.ones(table.n_users),
        ranking_id=one_ranking_each(user, winner, loser),
    )
    return Thinned(kept_rows, float(made.sum()))


def draw_users(data: Data, n_users: int | None, seed: int) -> Data:
    """Draw so many users at random, of those with a weight; all where they are no more."""
    counted: Any = counted_users(data) if isinstance(data, Comparisons) else data
    if n_users is None or counted.n_users <= n_users:
        return counted
    drawn = np.sort(generator(seed, _USERS).choice(counted.n_users, n_users, replace=False))
    taken: Any = (
        _of_users(counted, drawn) if isinstance(counted, RatingTable) else counted.take_users(drawn)
    )
    return taken


def thinning_note(
    made: float, kept: float, most: int | None, *, of_ratings: bool
) -> tuple[str, ...]:
    """What was left out, in a sentence; empty where nothing was."""
    if kept >= made:
        return ()
    cap = f"{PER_USER if most is None else most:,} comparisons of a person"
    rule = (
        f"{cap}, and {PER_ITEM} for each of their ratings, in a part"
        if of_ratings
        else f"{cap} in a part"
    )
    return (
        f"Thinned at random to at most {rule}: {kept:,.12g} of {made:,.12g} comparisons were kept.",
    )


def _of_users(table: RatingTable, numbers: NDArray[np.int64]) -> RatingTable:
    """The ratings of these users alone."""
    new_number = np.full(table.n_users, -1, np.int32)
    new_number[numbers] = np.arange(len(numbers))
    rows = new_number[table.user] >= 0
    return replace(
        table,
        user=new_number[table.user[rows]],
        item=table.item[rows],
        level=table.level[rows],
        users=table.users[numbers],
    )


@compiled
def _drawn_pairs(starts, things, level, made, first_row, key, step):
    """User, winner, loser and weight of the kept comparisons, items ascending within a user.

    Selection sampling: each pair is taken with probability (still wanted) / (still to come).
    """
    n_rows = first_row[-1]
    user, winner, loser = (
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
    )
    for m in range(len(starts) - 1):
        row, left = first_row[m], made[m]
        for a in range(starts[m], starts[m + 1]):
            for b in range(starts[m], starts[m + 1]):
                if level[a] > level[b]:
                    u, _ = uniforms(key, step, m, made[m] - left, 0)
                    if u * left < first_row[m + 1] - row:
                        user[row], winner[row], loser[row] = m, things[a], things[b]
                        row += 1
                    left -= 1
    return user, winner, loser, np.ones(n_rows)
