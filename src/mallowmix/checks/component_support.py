"""Rules of thumb for how many components data can support.

They look at the number of users, and at the comparisons of a user and of an item.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
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
    counts, K = comparisons.per_user(), n_components
    n_users = int(np.count_nonzero(counts >= 2))
    median = float(np.median(counts))
    per_item = 2 * comparisons.n_comparisons / max(comparisons.n_items, 1)
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
        _sentences(n_users, median, per_item, K),
    )


def _grade(value: float, rule: Rule) -> int:
    return 0 if value < rule.least else 1 if value < rule.enough else 2


def _verdict(grades: list[int]) -> str:
    return ("no", "thin", "yes")[min(grades)]


_WORDS = ("far too few", "few", "enough")


def _sentences(n_users: int, median: float, per_item: float, K: int) -> list[str]:
    each = f"for each of {K} components" if K > 1 else "for the one component"
    of_users = _WORDS[_grade(n_users / K, USERS)]
    of_a_user = _WORDS[_grade(median, OF_A_USER)]
    of_an_item = _WORDS[_grade(per_item / K, OF_AN_ITEM)]
    return [
        f"{n_users / K:,.0f} people {each} made two comparisons or more: {of_users} "
        f"({USERS.enough:g} or more are comfortable, below {USERS.least:g} it cannot work).",
        f"A typical person made {median:,.12g} comparisons: {of_a_user} to see how somebody mixes "
        f"components ({OF_A_USER.enough:g} or more are comfortable, with one nothing can be seen).",
        f"An item takes part in {per_item / K:,.0f} comparisons {each}: {of_an_item} to find its "
        f"position ({OF_AN_ITEM.enough:g} or more are comfortable, below {OF_AN_ITEM.least:g} "
        "positions are mostly guesses).",
    ]
