"""The next question: the most informative pair, or pairs spread evenly while there is no model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.web.prepared_answers import ServedModel
from mallowmix.web.settings import Settings
from mallowmix.web.tally import Tally
from mallowmix.web.vote_store import ACTIVE, Item

_NEW_ITEM = 3  # every so many questions are about an item that the model does not know yet
Answers = NDArray[np.int64]  # (n, 3) low, high, choice


@dataclass(frozen=True)
class PairQuestion:
    """A pair of items as it is shown, and the information of its answer (None: not known)."""

    first: int
    second: int
    information: float | None


def next_question(
    fitted: ServedModel | None, items: dict[int, Item], answers: Answers, tally: Tally, person: int
) -> PairQuestion | None:
    """Return the next pair for one person, never an answered or skipped one; None at the end."""
    active = np.array(sorted(item.id for item in items.values() if item.status == ACTIVE), np.int64)
    closed = {(low, high) for low, high, _ in answers.tolist()}
    new = (
        set()
        if fitted is None
        else {i for i in active.tolist() if items[i].name not in fitted.number}
    )
    if fitted is not None and not (new and len(answers) % _NEW_ITEM == _NEW_ITEM - 1):
        found = _most_informative(fitted, items, active, answers, closed)
        if found is not None:
            return _shown(*found, person)
    pair = (
        tally.spread(active, closed, person, len(answers), new or None) if len(active) > 1 else None
    )
    return None if pair is None else _shown(*pair, None, person)


def finished(
    settings: Settings, n_answers: int, question: PairQuestion | None, *, more: bool = False
) -> bool:
    """Return whether to stop: no pair left, enough asked, or no informative question any more."""
    if question is None:
        return True
    if more:
        return False
    nats = question.information
    return n_answers >= settings.questions or (
        n_answers >= settings.least and nats is not None and nats < settings.enough
    )


def block_of(fitted: ServedModel, items: dict[int, Item], answers: Answers) -> Block:
    """The decided answers of one person about items that the model knows."""
    couples = [
        (low, high) if choice > 0 else (high, low)
        for low, high, choice in answers.tolist()
        if choice
    ]
    number = fitted.number
    numbers = [
        [number.get(items[i].name, -1) if i in items else -1 for i in couple] for couple in couples
    ]
    known = np.array([couple for couple in numbers if min(couple) >= 0], np.int64).reshape(-1, 2)
    return fitted.block(known[:, 0], known[:, 1])


def _most_informative(
    fitted: ServedModel,
    items: dict[int, Item],
    active: NDArray[np.int64],
    answers: Answers,
    closed: set[tuple[int, int]],
) -> tuple[int, int, float] | None:
    """Return the open pair of known items whose answer carries most information."""
    Q = fitted.model.n_items
    item_at = np.zeros(Q, np.int64)  # 0: not asked
    for i in active.tolist():
        if (n := fitted.number.get(items[i].name)) is not None:
            item_at[n] = i
    is_open = np.triu((item_at[:, None] > 0) & (item_at[None, :] > 0), 1)
    for couple in closed:
        ends = [fitted.number.get(items[i].name, -1) for i in couple if i in items]
        if len(ends) == 2 and min(ends) >= 0:
            is_open[min(ends), max(ends)] = False
    codes = np.flatnonzero(is_open)
    if not len(codes):
        return None
    best, nats = fitted.question(block_of(fitted, items, answers), codes)
    i, j = divmod(int(codes[best]), Q)
    return int(item_at[i]), int(item_at[j]), nats


def _shown(a: int, b: int, information: float | None, person: int) -> PairQuestion:
    """Either may stand first, by a coin of the pair and the person: a reload shows the same."""
    coin = (person * 2_654_435_761 ^ min(a, b) * 40_503 ^ max(a, b) * 2_246_822_519) >> 7 & 1
    return (
        PairQuestion(min(a, b), max(a, b), information)
        if coin
        else PairQuestion(max(a, b), min(a, b), information)
    )
