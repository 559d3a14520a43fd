"""Rules of thumb for how many components data can support.

They look at the number of users, and at the comparisons of a user and of an item.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.text import counted
from mallowmix.errors import check_count


class Rule(NamedTuple):
    """Below `least` a fit cannot work, from `enough` on it should."""

    least: float
    enough: float


USERS = Rule(10, 50)  # users with two or more comparisons, for each component
OF_A_USER = Rule(2, 10)  # comparisons of the median user
OF_AN_ITEM = Rule(20, 100)  # comparisons that an item takes part in, for each component


@dataclass(frozen=True)
class Support:
    """Whether data supports K components.

    Attributes
    ----------
    n_components : int
        K.
    verdict : {"yes", "thin", "no"}
        The worst of what the three numbers say.
    people_per_component : float
        Users with two or more comparisons, for each component.
    per_person : float
        Comparisons of the median user.
    per_item_and_component : float
        Comparisons that an item takes part in, for each component.
    most_components : int
        The largest K for which all three numbers say "yes" (0: none).
    sentences : list of str
        Why, a sentence for each number.
    """

    n_components: int
    verdict: str
    people_per_component: float
    per_person: float
    per_item_and_component: float
    most_components: int
    sentences: list[str]


def support_for(comparisons: Comparisons, n_components: int) -> Support:
    """Apply the rules of thumb; no guarantee, which `choose_k` and `diagnose` come closer to.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.
    n_components : int
        K.

    Returns
    -------
    Support
        The verdict and the numbers behind it.
    """
    check_count("n_components", n_components, 1)
    K = n_components
    n_users, median, per_item = _numbers(comparisons)
    found = ((n_users / K, USERS), (median, OF_A_USER), (per_item / K, OF_AN_ITEM))
    most = (
        int(min(n_users // USERS.enough, per_item // OF_AN_ITEM.enough))
        if median >= OF_A_USER.enough
        else 0
    )
    return Support(
        K,
        _verdict([_grade(value, rule) for value, rule in found]),
        n_users / K,
        median,
        per_item / K,
        most,
        _sentences(
            n_users,
            median,
            per_item,
            K,
            each=f" for each of {K} components" if K > 1 else " for the one component",
        ),
    )


def shortage(comparisons: Comparisons) -> list[str]:
    """What is far too little even for one ranking of all items, a sentence each.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.

    Returns
    -------
    list of str
        Empty where no number is below the least of its rule.
    """
    return _sentences(*_numbers(comparisons), 1, each="", worst=0)


def _numbers(comparisons: Comparisons) -> tuple[int, float, float]:
    """Users with two or more comparisons, those of the median user, and those of an item."""
    counts = comparisons.per_user()
    per_item = 2 * comparisons.n_comparisons / max(comparisons.n_items, 1)
    return int(np.count_nonzero(counts >= 2)), float(np.median(counts)), per_item


def _grade(value: float, rule: Rule) -> int:
    return 0 if value < rule.least else 1 if value < rule.enough else 2


def _verdict(grades: list[int]) -> str:
    return ("no", "thin", "yes")[min(grades)]


_WORDS = ("far too few", "few", "enough")


def _sentences(
    n_users: int, median: float, per_item: float, K: int, *, each: str, worst: int = 2
) -> list[str]:
    """A sentence for each number whose grade is `worst` or below."""
    grades = (
        _grade(n_users / K, USERS),
        _grade(median, OF_A_USER),
        _grade(per_item / K, OF_AN_ITEM),
    )
    of_users, of_a_user, of_an_item = (_WORDS[grade] for grade in grades)
    people = counted(round(n_users / K), "person", "people")
    of_median, per_one = (
        counted(n, "comparison", "comparisons") for n in (median, round(per_item / K))
    )
    said = (
        f"{people}{each} made two comparisons or more: {of_users} "
        f"({USERS.enough:g} or more are comfortable, below {USERS.least:g} it cannot work).",
        f"A typical person made {of_median}: {of_a_user} to see how somebody "
        f"mixes components ({OF_A_USER.enough:g} or more are comfortable, with one nothing can be "
        "seen).",
        f"An item takes part in {per_one}{each}: "
        f"{of_an_item} to find its position ({OF_AN_ITEM.enough:g} or more are comfortable, below "
        f"{OF_AN_ITEM.least:g} positions are mostly guesses).",
    )
    return [sentence for sentence, grade in zip(said, grades, strict=True) if grade <= worst]
