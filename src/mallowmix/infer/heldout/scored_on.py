"""On whom, and on which questions, a score was measured."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.splits import HeldOutBy, split_comparisons
from mallowmix.model.fit_report import FitReport


class ScoredPeople(StrEnum):
    """Whether the model was learnt from the people whom it predicts."""

    FITTED = "fitted"  # it was learnt from these very comparisons
    HELD_OUT = "held-out"  # it was learnt from other comparisons of these people
    NEW = "new"  # it was not learnt from these people
    OTHER = "other"  # it was learnt from other data, in which some of these people may be
    UNKNOWN = "unknown"  # it does not say what it was learnt from


class Questions(StrEnum):
    """Which comparisons are predicted, the easiest first."""

    ALL = "all"  # all of a person's comparisons together, one after the other
    COMPARISONS = "comparisons"  # single ones: both items are often in given ones too
    TOUCHING = "touching"  # of two items of which one at least is in no given comparison
    ITEMS = "items"  # of two items that are both in no given comparison


_PEOPLE = {
    ScoredPeople.FITTED: "people whom the model was learnt from, by these very comparisons",
    ScoredPeople.HELD_OUT: "people whom the model was learnt from, by other comparisons",
    ScoredPeople.NEW: "new people",
    ScoredPeople.OTHER: "people of other data than the model was learnt from",
    ScoredPeople.UNKNOWN: "people of whom the model does not say whether it was learnt from them",
}
_QUESTIONS = {
    Questions.ALL: "all comparisons of a person, one after the other",
    Questions.COMPARISONS: "single comparisons held out, of items that the person has mostly "
    "compared before",
    Questions.TOUCHING: "items held out: at least one of two is new to what is known of the person",
    Questions.ITEMS: "items held out: both of two are new to what is known of the person",
}


@dataclass(frozen=True)
class ScoredOn:
    """On whom and on which questions a score was measured.

    Attributes
    ----------
    people : ScoredPeople
        Whether the model was learnt from the people whom it predicts.
    questions : Questions
        Which of their comparisons it predicts.

    Examples
    --------
    >>> from mallowmix.infer.heldout.scored_on import Questions, ScoredOn, ScoredPeople
    >>> str(ScoredOn(ScoredPeople.NEW, Questions.ITEMS))
    'new people; items held out: both of two are new to what is known of the person'
    """

    people: ScoredPeople
    questions: Questions

    def __str__(self) -> str:
        return f"{_PEOPLE[self.people]}; {_QUESTIONS[self.questions]}"

    @property
    def seen(self) -> bool:
        """Whether the model was learnt from what it predicts, so that the score is too good."""
        return self.people == ScoredPeople.FITTED

    def to_dict(self) -> dict[str, str]:
        """Plain JSON values, with the sentence."""
        return {"people": str(self.people.value), "questions": str(self.questions.value)} | {
            "words": str(self)
        }


def people_of(model: Any, comparisons: Any) -> ScoredPeople:
    """Whether a model was learnt from comparisons, by the fingerprint in its report.

    Parameters
    ----------
    model : FittedModel or any other model
    comparisons : Comparisons or StoredComparisons
        As read, with all their users and items.

    Returns
    -------
    ScoredPeople
    """
    report = getattr(model, "report", FitReport())
    origin = report.update.fingerprint if report.update is not None else None
    learnt = {report.fingerprint, origin} - {None}
    if not learnt:
        return ScoredPeople.UNKNOWN
    # an update adds to an earlier fit: sizes are those of the last data alone
    sizes = (report.n_users, report.n_comparisons)
    if origin is None and sizes != (comparisons.n_users, comparisons.n_comparisons):
        return ScoredPeople.OTHER
    return ScoredPeople.FITTED if comparisons.fingerprint() in learnt else ScoredPeople.OTHER


def people_beside(comparisons: Any, held_out: Comparisons) -> ScoredPeople:
    """Whether people given beside those of a fit are new, by their names.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        What the model was learnt from.
    held_out : Comparisons
        Those that are predicted.

    Returns
    -------
    ScoredPeople
        "new" where no name is in both; "held-out" where one is but no comparison of theirs, else
        "fitted".
    """
    known, names = set(text_of(comparisons.users)), text_of(held_out.users)
    both = np.array([name in known for name in names], bool)
    if not both.any():
        return ScoredPeople.NEW
    if not isinstance(comparisons, Comparisons):
        return ScoredPeople.FITTED
    shared = _rows(comparisons) & _rows(held_out.take_users(both))
    return ScoredPeople.FITTED if shared else ScoredPeople.HELD_OUT


def _rows(comparisons: Comparisons) -> set[tuple[str, str, str]]:
    users, items = text_of(comparisons.users), text_of(comparisons.items)
    columns = (comparisons.user.tolist(), comparisons.winner.tolist(), comparisons.loser.tolist())
    return {(users[m], items[i], items[j]) for m, i, j in zip(*columns, strict=True)}


def hard_questions(comparisons: Any) -> tuple[HeldOutBy, float]:
    """What to hold out so that a prediction does not follow from what is given.

    Where people's comparisons come from rankings or ratings, half of a person's items are given and
    pairs of two others are predicted: in a ranking, what is held out of single comparisons follows
    in part from the rest. Of votes, a third of the items is held out, and every vote that touches
    one of them is predicted; so of rankings too short to hold out two items.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons

    Returns
    -------
    split : {"items", "touching"}
    given : float
        The part of a person's items that is given.
    """
    if isinstance(comparisons, Comparisons):
        if comparisons.ranking_id is None:
            return "touching", 2 / 3
        asked = split_comparisons(comparisons, "items", 0.5, 0)[1].n_comparisons
        enough = asked >= _LEAST_ASKED * comparisons.n_comparisons
        return ("items", 0.5) if enough else ("touching", 2 / 3)
    return ("items", 0.5) if comparisons.ranked else ("touching", 2 / 3)


_LEAST_ASKED = 0.1  # of the comparisons, or rankings are too short to hold out two items
