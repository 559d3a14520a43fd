"""What a reader gives back: the comparisons, what their source was taken for, and what was counted on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.rankings import Rankings
from mallowmix.data.row_checks import Policy
from mallowmix.errors import DataWarning, Option, OptionError, Part, check_at_least, check_choice

Ties: TypeAlias = Literal["drop", "half", "error"]
BothBad: TypeAlias = Literal["drop", "tie", "error"]
PerUser: TypeAlias = Literal["comparisons", "ratings", "equal"]
Unlisted: TypeAlias = Literal["unknown", "below"]
Zero: TypeAlias = Literal["error", "missing", "best"]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read: what to do with rows that say less than one would like. None is "nothing was said": the default, with a note.

    self_pairs, missing : a row that compares a thing with itself, or lacks a value: "error" or "drop"
    ties : "drop" leaves ties out, "half" counts each as half a win for both sides, "error" refuses them
    both_bad : battles in which both were bad: "drop" leaves them out, "tie" treats them as ties, "error" refuses them
    outcomes : battles: further words → "left", "right", "tie" or "both_bad"
    one_user : whether all rows may be one person's, where a table does not say whose they are
    per_user : ratings and rankings: what a person counts in learning (see `mallowmix.readers.order_weights.shared`)
    top_items : ratings: keep so many of the most rated things
    unlisted : rankings: nothing is known of what a ranking does not list ("unknown"), or it is below what is listed ("below")
    zero : rankings: what the position 0 means: "error", "missing" (not ranked) or "best" (positions count from 0)
    """

    self_pairs: Policy = "error"
    missing: Policy = "error"
    ties: Ties | None = None
    both_bad: BothBad | None = None
    outcomes: Mapping[str, str] | None = None
    one_user: bool = False
    per_user: PerUser = "comparisons"
    top_items: int | None = None
    unlisted: Unlisted | None = None
    zero: Zero = "error"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) is not None or name in (
                "self_pairs",
                "missing",
                "per_user",
                "zero",
            ):
                check_choice(name, getattr(self, name), choices)
        if self.top_items is not None:
            check_at_least("top_items", self.top_items, 2)
        _check_outcomes(self.outcomes)

    @property
    def half(self) -> bool:
        """Whether a tie counts as half a win for both sides."""
        return self.ties == "half"


_CHOICES = {
    "self_pairs": ("error", "drop"),
    "missing": ("error", "drop"),
    "ties": ("drop", "half", "error"),
    "both_bad": ("drop", "tie", "error"),
    "per_user": ("comparisons", "ratings", "equal"),
    "unlisted": ("unknown", "below"),
    "zero": ("error", "missing", "best"),
}


def _check_outcomes(outcomes: Any) -> None:
    if outcomes is None:
        return
    if not isinstance(outcomes, Mapping):
        raise OptionError(
            option="outcomes",
            value=outcomes,
            expected='a mapping from words to outcomes, as in {"draw": "tie"}',
        )
    for word, meaning in outcomes.items():
        if meaning not in ("left", "right", "tie", "both_bad"):
            raise OptionError(
                Option("outcomes"),
                f" gives {word!r} the meaning {meaning!r}; it must be left, right, tie or "
                "both_bad.",
                option="outcomes",
                value=outcomes,
                expected="words for left, right, tie or both_bad",
            )


# what to do about ties that are refused, as the last parts of a message
DROP_OR_HALF: tuple[Part, ...] = (
    "Leave them out with ",
    Option("ties", "drop"),
    ", or count each as half a win for both sides with ",
    Option("ties", "half"),
    ".",
)


class Sides(NamedTuple):
    """Battles in which left and right are known and one side won: numbers of people and items, whether the left side won."""

    user: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    left_won: NDArray[np.bool_]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reading:
    """Comparisons, and how they were read.

    form : what the source was taken for, by the name that `format` has for it
    said : whether that was said by `format`, not recognised
    taken : our name → the column that was taken for it
    n_ties, n_both_bad : how many battles or pairs were ties, or both bad; `ties` is what was done with ties
    sides : which side won, where left and right are known
    ratings, rankings : the table user, item, rating, or the rankings, that the comparisons were made of
    notes : what the caller should know, as warnings
    """

    comparisons: Comparisons
    form: str
    taken: Mapping[str, Any] = field(default_factory=dict)
    said: bool = True
    ties: Ties = "drop"
    n_ties: float = 0
    n_both_bad: float = 0
    sides: Sides | None = None
    ratings: pa.Table | None = None
    rankings: Rankings | None = None
    notes: tuple[DataWarning, ...] = ()


def tie_notes(
    options: ReadOptions, n_ties: float, n_both_bad: float, total: float, what: str
) -> tuple[DataWarning, ...]:
    """What to know about ties where no option says what to do with them."""
    notes = []
    if n_ties and options.ties is None:
        notes.append(
            DataWarning(
                f"{n_ties:,.12g} of {total:,.12g} {what} are ties and were left out; ",
                Option("ties", "half"),
                " counts each as half a win for both sides, ",
                Option("ties", "drop"),
                " leaves them out without this warning.",
            )
        )
    if n_both_bad and options.both_bad is None:
        notes.append(
            DataWarning(
                f"In {n_both_bad:,.12g} of {total:,.12g} {what} both were bad: that is not a "
                "tie, and "
                "they were left out; ",
                Option("both_bad", "tie"),
                " treats them as ties, ",
                Option("both_bad", "drop"),
                " leaves them out without this warning.",
            )
        )
    return tuple(notes)
