"""Whether data can support so many components: people, comparisons per person and per item, by rules of thumb."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import check_at_least


class Rule(NamedTuple):
    """Below `least` it cannot work, from `enough` on it should."""

    least: float
    enough: float


PEOPLE = Rule(10, 50)  # people with two or more comparisons, for each component
OF_A_PERSON = Rule(2, 10)  # comparisons of the median person
OF_AN_ITEM = Rule(20, 100)  # comparisons that an item takes part in, for each component


@dataclass(frozen=True)
class Support:
    """What there is for K components: `verdict` is "yes", "thin" or "no"; `sentences` say why, one for each number.

    people_per_component counts those with two or more comparisons, per_item_and_component the comparisons that an item takes part
    in, `most_components` is the largest K that all three numbers call "yes" (0: none).
    """

    n_components: int
    verdict: str
    people_per_component: float
    per_person: float
    per_item_and_component: float
    most_components: int
    sentences: list[str]


def support_for(comparisons: Comparisons, n_components: int) -> Support:
    """Rules of thumb, not a guarantee: `choose_k` and `diagnose` measure."""
    check_at_least("n_components", n_components, 1)
    counts, K = comparisons.per_user(), n_components
    people = int(np.count_nonzero(counts >= 2))
    median = float(np.median(counts))
    per_item = 2 * comparisons.n_comparisons / max(comparisons.n_items, 1)
    found = ((people / K, PEOPLE), (median, OF_A_PERSON), (per_item / K, OF_AN_ITEM))
    most = (
        int(min(people // PEOPLE.enough, per_item // OF_AN_ITEM.enough))
        if median >= OF_A_PERSON.enough
        else 0
    )
    return Support(
        K,
        _verdict([_grade(value, rule) for value, rule in found]),
        people / K,
        median,
        per_item / K,
        most,
        _sentences(people, median, per_item, K),
    )


def _grade(value: float, rule: Rule) -> int:
    return 0 if value < rule.least else 1 if value < rule.enough else 2


def _verdict(grades: list[int]) -> str:
    return ("no", "thin", "yes")[min(grades)]


_WORDS = ("far too few", "few", "enough")


def _sentences(people: int, median: float, per_item: float, K: int) -> list[str]:
    share = f"for each of {K} tastes" if K > 1 else "for the one taste"
    return [
        f"{people / K:,.0f} people {share} made two comparisons or more: {_WORDS[_grade(people / K, PEOPLE)]} "
        f"({PEOPLE.enough:g} or more are comfortable, below {PEOPLE.least:g} it cannot work).",
        f"A typical person made {median:,.12g} comparisons: {_WORDS[_grade(median, OF_A_PERSON)]} to see how somebody mixes "
        f"tastes ({OF_A_PERSON.enough:g} or more are comfortable, with one nothing can be seen).",
        f"An item takes part in {per_item / K:,.0f} comparisons {share}: {_WORDS[_grade(per_item / K, OF_AN_ITEM)]} to give it a "
        f"place ({OF_AN_ITEM.enough:g} or more are comfortable, below {OF_AN_ITEM.least:g} places are mostly guesses).",
    ]
