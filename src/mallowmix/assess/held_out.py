"""What to learn from, and what is told and asked of people: the same for every system, a function of the data and the seed alone.

"people": two thirds of the people to learn from. Of each of the others half of the items are given: comparisons between two given
items are told, those between two others asked. (A pair of a given and a held-out item rewards memory of the given one's noise.)
"items": the same deal for everybody; what is told of all is what is learnt from, so nobody is new.
"comparisons": single comparisons are dealt, for everybody. Easier: what is asked follows in part from what was told.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.folds import counted_people, deal_people
from mallowmix.comparisons import Comparisons
from mallowmix.errors import DataError
from mallowmix.infer.rating_table import RatingTable, find
from mallowmix.peers.validation import deal, with_weights
from mallowmix.randomness import generator
from mallowmix.readers.ratings import comparisons_from_ratings

By = Literal["people", "items", "comparisons"]
_DEAL, _THIN = 122, 123
_A_ITEM, _A_PERSON = 6, 150  # comparisons kept of a person who rated n things: at most min(6 n, 150)
Rated = tuple[list, list, NDArray[np.float64]]  # columns user, item, rating


class RatingTask(NamedTuple):
    """Ratings to learn from (what is told of the others among them), those told of the people asked, and those asked."""

    train: Rated
    told: Rated
    asked: Rated


@dataclass(frozen=True, eq=False)
class Task:
    """One deal. `people` are the numbers of those asked, in the whole data; `note` says where the protocol had to give way."""

    train: Comparisons
    told: Comparisons
    asked: Comparisons
    people: NDArray[np.int64]
    ratings: RatingTask | None = None
    note: str | None = None


def make_task(data: Comparisons | RatingTable, split: By, given: float, seed: int) -> Task:
    """Deal out comparisons, or ratings."""
    task = _rated_task(data, split, given, seed) if isinstance(data, RatingTable) else _task(data, split, given, seed)
    if not len(task.asked):
        raise DataError("Nothing is left to ask: people have too few comparisons to be told some and asked others.")
    return task


def _task(data: Comparisons, split: By, given: float, seed: int) -> Task:
    data = counted_people(data)
    if split != "people":
        told, asked = deal(data, split, given, seed)
        return Task(told, told, asked, np.arange(data.n_users))
    if data.n_users < 3:
        raise DataError(
            f"There are {data.n_users} people with comparisons; to learn from some and ask others, give three at least."
        )
    new = deal_people(data.n_users, 3, seed=seed) == 0
    others = data.take_users(new)
    told, asked = deal(others, "auto", given, seed)
    items = deal(others, "items", given, seed)[1].n_comparisons == asked.n_comparisons
    note = None if items else "People compared too few pairs for items to be held out: single comparisons are."
    return Task(data.take_users(~new), told, asked, np.flatnonzero(new), note=note)


def _rated_task(table: RatingTable, split: By, given: float, seed: int) -> Task:
    """Ratings are dealt, and comparisons made from each part alone: what is held out leaves no trace in what is told."""
    new = deal_people(table.n_users, 3, seed=seed) == 0 if split == "people" else np.ones(table.n_users, bool)
    people = np.flatnonzero(new)
    is_told, is_new = _dealt(table, given, seed), new[table.user]
    parts = {"train": ~is_new if split == "people" else is_told, "told": is_new & is_told, "asked": is_new & ~is_told}
    train, told, asked = (_comparisons(table, parts[name], seed) for name in ("train", "told", "asked"))
    if split == "comparisons":
        told, asked = deal(_comparisons(table, np.ones(len(table), bool), seed), split, given, seed)
        return Task(told, told, asked, people)
    ratings = RatingTask(_columns(table, ~(is_new & ~is_told)), _columns(table, parts["told"]), _columns(table, parts["asked"]))
    learners = np.flatnonzero(~new) if split == "people" else people
    return Task(train.take_users(learners), told.take_users(people), asked.take_users(people), people, ratings)


def _dealt(table: RatingTable, given: float, seed: int) -> NDArray[np.bool_]:
    """(n,) which ratings are told: so many as `given` of each person's, at random."""
    draw = generator(seed, _DEAL).random(len(table))
    order = np.lexsort((draw, table.user))
    starts = table.starts()
    n = np.diff(starts)
    place = np.empty(len(table), np.int64)
    place[order] = np.arange(len(table)) - np.repeat(starts[:-1], n)
    return place < np.round(n * given)[table.user]


def _comparisons(table: RatingTable, rows: NDArray[np.bool_], seed: int) -> Comparisons:
    """The comparisons that some ratings make, thinned, over all people and items of the table."""
    made = comparisons_from_ratings(*_columns(table, rows))
    user, item = find(table.users, made.users, "user"), find(table.items, made.items, "item")
    all_of = Comparisons.from_codes(user[made.user], item[made.winner], item[made.loser], made.weight, table.items, table.users)
    rated = np.bincount(table.user[rows], minlength=table.n_users)
    return with_weights(all_of, all_of.weight * _thinned(all_of, np.minimum(_A_ITEM * rated, _A_PERSON), seed))


def _thinned(comparisons: Comparisons, most: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """At most so many rows of each person, at random."""
    draw = generator(seed, _THIN).random(len(comparisons))
    order = np.lexsort((draw, comparisons.user))
    starts = comparisons.starts()
    place = np.empty(len(comparisons), np.int64)
    place[order] = np.arange(len(comparisons)) - np.repeat(starts[:-1], np.diff(starts))
    return place < most[comparisons.user]


def _columns(table: RatingTable, rows: NDArray[np.bool_]) -> Rated:
    users, items = table.users[table.user[rows]].tolist(), table.items[table.item[rows]].tolist()
    return users, items, table.rating[rows]
