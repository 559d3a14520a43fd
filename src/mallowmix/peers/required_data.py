"""Checks that data has the form a system needs, with an error that says what to use instead."""

from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError


def need_comparisons(system: Any, data: Any) -> Comparisons:
    """Comparisons, or those that rankings imply; else a DataError."""
    if isinstance(data, Rankings):
        return data.comparisons()
    if isinstance(data, Comparisons):
        return data
    raise DataError(
        f"{system.name} learns from comparisons; this is a {type(data).__name__}. "
        "Read it with read_comparisons."
    )


def need_rankings(system: Any, data: Any, instead: str) -> Rankings:
    """Rankings; comparisons and other data are a DataError, which ends with `instead`."""
    if isinstance(data, Rankings):
        return data
    what = "comparisons" if isinstance(data, Comparisons) else f"a {type(data).__name__}"
    raise DataError(f"{system.name} learns from rankings, and this is {what}. {instead}")


def need_full(system: Any, data: Any, instead: str) -> Rankings:
    """Full rankings without ties; else a DataError, which ends with `instead`."""
    rankings = need_rankings(system, data, instead)
    if not rankings.is_full:
        raise DataError(
            f"{system.name} needs full rankings, every item in a position of its own; "
            f"some here are not. {instead}"
        )
    return rankings


def known_comparisons(people: Any) -> Comparisons:
    """Comparisons, or those that rankings imply."""
    return people.comparisons() if isinstance(people, Rankings) else people
