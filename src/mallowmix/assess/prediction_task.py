"""A prediction task: what to learn from, what is given and what is held out.

It is the same for every system, a function of the data and the seed alone.

"people": two thirds of the users to learn from. Of each of the others half of the items are given:
comparisons between two given items are given, those between two others are held out. (A pair of a
given and a held-out item rewards memory of the given one's noise.)

"items": the same split for all users; what is given is also what is learnt from, so no user is new.

"comparisons": single comparisons are split, for all users. Easier: what is held out follows in part
from what is given.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.thinning import Part, Thinned, rated, thinned
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.ratings import RatingTable
from mallowmix.data.splits import counted_users, split_comparisons, split_users
from mallowmix.errors import DataError
from mallowmix.numerics.randomness import Step, generator

By = Literal["people", "items", "comparisons"]
_SPLIT = Step.SPLIT_ROWS
Rated = tuple[list, list, NDArray[np.float64]]  # columns user, item, rating


class RatingTask(NamedTuple):
    """Ratings of a task.

    Attributes
    ----------
    train : Rated
        To learn from; those given are among them.
    given, held_out : Rated
        Of the users who are predicted.
    """

    train: Rated
    given: Rated
    held_out: Rated


@dataclass(frozen=True, eq=False)
class Task:
    """One split of the data.

    Attributes
    ----------
    train, given, held_out : Comparisons
    people : ndarray of int
        The numbers, in the whole data, of the users who are predicted.
    ratings : RatingTask or None
        Where the data are ratings.
    note : str or None
        Where the protocol could not be followed.
    made : float
        How many comparisons there were in the three parts before they were thinned.
    """

    train: Comparisons
    given: Comparisons
    held_out: Comparisons
    people: NDArray[np.int64]
    ratings: RatingTask | None = None
    note: str | None = None
    made: float = 0.0

    @property
    def kept(self) -> float:
        """How many comparisons the three parts have; what is learnt from and given counts once."""
        parts = (
            (self.given, self.held_out)
            if self.train is self.given
            else (self.train, self.given, self.held_out)
        )
        return sum(part.n_comparisons for part in parts)


def make_task(
    data: Comparisons | RatingTable,
    split: By,
    share_given: float,
    seed: int,
    most: int | None = None,
) -> Task:
    """Split comparisons, or ratings, into train, given and held out.

    Parameters
    ----------
    data : Comparisons or RatingTable
    split : {"people", "items", "comparisons"}
    share_given : float
        The part of a user's items (or comparisons) that is given.
    seed : int
    most : int, optional
        So many comparisons of a user at most, in each part on its own (`assess.thinning`).

    Returns
    -------
    Task

    Raises
    ------
    DataError
        Where nothing is held out.
    """
    make = _rated_task if isinstance(data, RatingTable) else _task
    task = make(data, split, share_given, seed, most)  # type: ignore[arg-type]
    if not len(task.held_out):
        raise DataError(
            "Nothing is held out: people have too few comparisons for some to be given and others "
            "held out."
        )
    return task


def _task(data: Comparisons, split: By, share_given: float, seed: int, most: int | None) -> Task:
    data = counted_users(data)
    numbers = np.arange(data.n_users)
    if split != "people":
        given, held_out = split_comparisons(data, split, share_given, seed)
        return _thinned_task(None, given, held_out, numbers, numbers, most, seed)
    if data.n_users < 3:
        there = "is 1 person" if data.n_users == 1 else f"are {data.n_users} people"
        raise DataError(
            f"There {there} with comparisons; to learn from some and predict others, give three at "
            "least."
        )
    new = split_users(data.n_users, 3, seed=seed) == 0
    others = data.take_users(new)
    given, held_out = split_comparisons(others, "auto", share_given, seed)
    items = (
        split_comparisons(others, "items", share_given, seed)[1].n_comparisons
        == held_out.n_comparisons
    )
    note = (
        None
        if items
        else "People compared too few pairs for items to be held out: single comparisons are."
    )
    return _thinned_task(
        data.take_users(~new), given, held_out, numbers[~new], numbers[new], most, seed, note
    )


def _thinned_task(
    train: Comparisons | None,
    given: Comparisons,
    held_out: Comparisons,
    learners: NDArray[np.int64],
    people: NDArray[np.int64],
    most: int | None,
    seed: int,
    note: str | None = None,
) -> Task:
    """The task with each part thinned; without `train`, what is given is learnt from."""
    share_given, wanted = (
        thinned(given, most, "given", seed, people),
        thinned(held_out, most, "held_out", seed, people),
    )
    learnt = share_given if train is None else thinned(train, most, "train", seed, learners)
    made = share_given.made + wanted.made + (0 if train is None else learnt.made)
    return Task(learnt.kept, share_given.kept, wanted.kept, people, note=note, made=made)


def _rated_task(
    table: RatingTable, split: By, share_given: float, seed: int, most: int | None
) -> Task:
    """Split ratings, then make comparisons of each part alone: what is held out leaves no trace."""
    if split == "comparisons":
        every = _learnt(rated(table, np.ones(len(table), bool), most, "train", seed))
        given, held_out = split_comparisons(every.kept, split, share_given, seed)
        return Task(given, given, held_out, np.arange(table.n_users), made=every.made)
    new = (
        split_users(table.n_users, 3, seed=seed) == 0
        if split == "people"
        else np.ones(table.n_users, bool)
    )
    is_given, is_new = _is_given(table, share_given, seed), new[table.user]
    rows: dict[Part, NDArray[np.bool_]] = {
        "given": is_new & is_given,
        "held_out": is_new & ~is_given,
    }
    given, held_out = (rated(table, rows[part], most, part, seed) for part in rows)
    ratings = RatingTask(
        _columns(table, ~rows["held_out"]),
        _columns(table, rows["given"]),
        _columns(table, rows["held_out"]),
    )
    people = np.flatnonzero(new)
    if split == "items":
        return Task(
            _learnt(given).kept,
            given.kept,
            held_out.kept,
            people,
            ratings,
            made=given.made + held_out.made,
        )
    train = _learnt(rated(table, ~is_new, most, "train", seed))
    parts = train.kept.take_users(~new), given.kept.take_users(new), held_out.kept.take_users(new)
    return Task(*parts, people, ratings, made=train.made + given.made + held_out.made)


def _learnt(found: Thinned) -> Thinned:
    if not len(found.kept):
        raise DataError(
            "There are no comparisons to learn from: nobody rated two things differently."
        )
    return found


def _is_given(table: RatingTable, share_given: float, seed: int) -> NDArray[np.bool_]:
    """(n,) which ratings are given: a fraction of each user's, at random."""
    draw = generator(seed, _SPLIT).random(len(table))
    order = np.lexsort((draw, table.user))
    starts = table.starts()
    n = np.diff(starts)
    order_of_draw = np.empty(len(table), np.int64)
    order_of_draw[order] = np.arange(len(table)) - np.repeat(starts[:-1], n)
    return order_of_draw < np.round(n * share_given)[table.user]


def _columns(table: RatingTable, rows: NDArray[np.bool_]) -> Rated:
    users, items = table.users[table.user[rows]].tolist(), table.items[table.item[rows]].tolist()
    return users, items, table.rating[rows]
