"""Splits of real people into those who teach and those who are predicted, for all kinds of data.

A third of the people are test people. *Votes*: a third of a test person's items are held out, every
vote that touches one of them is asked, the others are given. *Rankings and ratings*: half of a test
person's items are given (comparisons among them), pairs of two held-out items are asked, at most 75
a person; a person with n items has at most min(6 n, 150) comparisons. Ties are dropped. Scores are
the mean over a person's questions, then over people.
"""

import csv
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array

MOST_PEOPLE = 3000
PER_ITEM, MOST_GIVEN, MOST_ASKED = 6, 150, 75

Answers = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Winners and losers, by number."""


class Split(NamedTuple):
    """Comparisons of the people who teach; given and held-out ones of the test people.

    `person` numbers the test people, the same in every split of a data set.
    """

    train: list[Answers]
    given: list[Answers]
    held_out: list[Answers]
    person: NDArray[np.int64]


def pairs_of(items: NDArray[np.int64], level: NDArray[np.int64]) -> Answers:
    """All pairs of items of which one is on a higher level."""
    better, worse = np.nonzero(level[:, None] > level[None])
    return items[better], items[worse]


def thinned(answers: Answers, most: int, random: np.random.Generator) -> Answers:
    """At most so many of them, at random."""
    winner, loser = answers
    if len(winner) <= most:
        return answers
    kept = np.sort(random.permutation(len(winner))[:most])
    return winner[kept], loser[kept]


def split_votes(people: list[Answers], seed: int) -> Split:
    """The protocol for votes."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(people))
    n_test = len(people) // 3
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    given, held_out = [], []
    for person in test:
        winner, loser = people[person]
        items = random.permutation(np.unique(np.concatenate([winner, loser])))
        hidden = np.isin(np.stack([winner, loser]), items[: max(1, round(len(items) / 3))])
        asked = hidden.any(axis=0)
        given.append((winner[~asked], loser[~asked]))
        held_out.append((winner[asked], loser[asked]))
    return Split([people[m] for m in train], given, held_out, test)


def split_levels(people: list[tuple[NDArray[np.int64], NDArray[np.int64]]], seed: int) -> Split:
    """The protocol for rankings and ratings: people are (items, level), the higher the better."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(people))[:MOST_PEOPLE]
    n_test = len(order) // 3
    train = []
    for person in order[n_test:]:
        items, level = people[person]
        most = min(PER_ITEM * len(items), MOST_GIVEN)
        kept = thinned(pairs_of(items, level), most, random)
        if len(kept[0]):
            train.append(kept)
    given, held_out, test = [], [], []
    for person in order[:n_test]:
        items, level = people[person]
        mixed = random.permutation(len(items))
        half = (len(items) + 1) // 2
        a, b = mixed[:half], mixed[half:]
        most = min(PER_ITEM * half, MOST_GIVEN)
        known = thinned(pairs_of(items[a], level[a]), most, random)
        asked = thinned(pairs_of(items[b], level[b]), MOST_ASKED, random)
        if len(asked[0]):
            given.append(known)
            held_out.append(asked)
            test.append(person)
    return Split(train, given, held_out, np.array(test, np.int64))


def answers_of(
    people: list[tuple[NDArray[np.int64], NDArray[np.int64]]], seed: int
) -> list[Answers]:
    """Comparisons of (items, level) of at most `MOST_PEOPLE` people, as many as above."""
    random = np.random.default_rng(seed)
    answers = []
    for person in random.permutation(len(people))[:MOST_PEOPLE]:
        items, level = people[person]
        most = min(PER_ITEM * len(items), MOST_GIVEN)
        answers.append(thinned(pairs_of(items, level), most, random))
    return [each for each in answers if len(each[0])]


def log_losses(probability: Array, person: NDArray[np.int64], n_people: int) -> Array:
    """(n_people,) the mean log-loss of each person's questions; NaN for a person without."""
    loss = -np.log(np.clip(probability, 1e-4, 1 - 1e-4))
    n = np.bincount(person, minlength=n_people)
    with np.errstate(invalid="ignore"):
        return np.bincount(person, loss, n_people) / n


def read_llmfao(folder: Path) -> tuple[list[Answers], int]:
    """Votes of a language-model arena: crowd-comparisons.csv."""
    with (folder / "crowd-comparisons.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["winner"] in ("left", "right")]
    names = sorted({row[side] for row in rows for side in ("left", "right")})
    number = {name: n for n, name in enumerate(names)}
    people: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        other = "right" if row["winner"] == "left" else "left"
        pair = number[row[row["winner"]]], number[row[other]]
        people.setdefault(row["worker"], []).append(pair)
    answers = [np.array(people[worker]).T for worker in sorted(people)]
    return [(winner, loser) for winner, loser in answers], len(names)


def read_ballots(file: Path, least: int = 4) -> tuple[list[Answers], int]:
    """Ballots in PrefLib's form .soi with at least so many candidates: (items, level) of each."""
    people: list[Answers] = []
    Q = 0
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        count, _, order = line.partition(":")
        items = np.array([int(item) - 1 for item in order.split(",")])
        Q = max(Q, int(items.max()) + 1)
        if len(items) >= least:
            people += [(items, -np.arange(len(items)))] * int(count)
    return people, Q


def read_films(folder: Path, Q: int, least: int = 4) -> tuple[list[Answers], int]:
    """The Q most rated films of MovieLens 1M (moviedata.mat): (films, stars) of each person."""
    from scipy.io import loadmat

    parts = loadmat(folder / "moviedata.mat")
    rows = np.concatenate([parts["train_vec"], parts["probe_vec"]]).astype(np.int64)
    top = np.argsort(-np.bincount(rows[:, 1]), kind="stable")[:Q]
    number = np.full(rows[:, 1].max() + 1, -1)
    number[top] = np.arange(Q)
    rows = rows[number[rows[:, 1]] >= 0]
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    starts = np.flatnonzero(np.r_[True, np.diff(rows[:, 0]) > 0, True])
    people = [
        (number[rows[a:b, 1]], rows[a:b, 2])
        for a, b in itertools.pairwise(starts)
        if b - a >= least
    ]
    return people, Q
