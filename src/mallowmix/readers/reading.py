"""What a reader returns: the comparisons, the form of their source, and what was counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.rankings import Rankings
from mallowmix.data.row_checks import Policy
from mallowmix.errors import (
    DataWarning,
    Option,
    OptionError,
    Part,
    check_choice,
    check_count,
    check_flag,
    did_you_choose,
)
from mallowmix.readers.text_format import TextFormat

Ties: TypeAlias = Literal["drop", "half", "error"]
BothBad: TypeAlias = Literal["drop", "tie", "error"]
PerUser: TypeAlias = Literal["comparisons", "ratings", "equal"]
Unlisted: TypeAlias = Literal["unknown", "below"]
Zero: TypeAlias = Literal["error", "missing", "best"]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read: what to do with ties, gaps and other rows that are not plain comparisons.

    None means that the option was not given: its default applies, with a note.

    Attributes
    ----------
    self_pairs, missing : {"error", "drop"}
        A row that compares an item with itself, or that lacks a value.
    ties : {"drop", "half", "error"}
        Ties are left out, count as half a win for both sides, or are refused.
    both_bad : {"drop", "tie", "error"}
        Battles in which both were bad are left out, treated as ties, or refused.
    outcomes : mapping
        Battles: further words to "left", "right", "tie" or "both_bad".
    one_user : bool
        Whether a table without a column of users may be read as the choices of one user.
    per_user : {"comparisons", "ratings", "equal"}
        Ratings, rankings, implicit feedback: how much a user counts (see `with_user_weights`).
    top_items : int
        Ratings: keep this many of the most rated items.
    unlisted : {"unknown", "below"}
        Rankings: items that are not listed are not compared, or are below those that are.
    zero : {"error", "missing", "best"}
        Rankings: what the position 0 means: an error, not ranked, or the best.
    design : path or table
        Sawtooth's MaxDiff: what each version showed in each task.
    text : TextFormat
        How a text file is written.
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
    design: Any = None
    text: TextFormat = field(default_factory=TextFormat)

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
            check_count("top_items", self.top_items, 2)
        check_flag("one_user", self.one_user)
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


_OUTCOMES = ("left", "right", "tie", "both_bad")


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
        if meaning not in _OUTCOMES:
            raise OptionError(
                Option("outcomes"),
                f" gives {word!r} the meaning {meaning!r}; it must be left, right, tie or "
                f"both_bad.{did_you_choose(meaning, _OUTCOMES)}",
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
    """Battles with a winner, as codes of users and items: which was left, whether it won."""

    user: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    left_won: NDArray[np.bool_]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reading:
    """Comparisons, and how they were read.

    Attributes
    ----------
    comparisons : Comparisons
    form : str
        The form of the source, by the name that the option `format` has for it.
    taken : mapping
        Role to the column that was read for it.
    format_given : bool
        Whether the form was given by `format`; False where it was recognised.
    ties : {"drop", "half", "error"}
        What was done with ties.
    n_ties, n_both_bad : float
        How many battles or pairs were ties, or both bad.
    sides : Sides or None
        Which side won, where left and right are known.
    ratings : pyarrow.Table or None
        The columns user, item, rating that the comparisons were made of.
    rankings : Rankings or None
        The rankings that the comparisons were made of.
    notes : tuple of DataWarning
        What a caller should know; `read_comparisons` issues them as warnings.
    """

    comparisons: Comparisons
    form: str
    taken: Mapping[str, Any] = field(default_factory=dict)
    format_given: bool = True
    ties: Ties = "drop"
    n_ties: float = 0
    n_both_bad: float = 0
    sides: Sides | None = None
    ratings: pa.Table | None = None
    rankings: Rankings | None = None
    notes: tuple[DataWarning, ...] = ()

    def taken_from(self, picked: Mapping[str, Any]) -> "Reading":
        """Return the same with the columns of the source from which a table was made."""
        return replace(self, taken=picked)

    def relabelled(self, items: Sequence[str]) -> "Reading":
        """The same comparisons and sides, with a new label for each item, in their order."""
        new = self.comparisons.relabelled(items)
        number = {name: n for n, name in enumerate(text_of(new.items))}
        code = np.array([number[str(item)] for item in items], np.int32)
        sides = self.sides
        if sides is not None:
            sides = sides._replace(left=code[sides.left], right=code[sides.right])
        return replace(self, comparisons=new, sides=sides)

    def with_notes(self, *notes: DataWarning) -> "Reading":
        """Return the same with notes before its own."""
        return replace(self, notes=(*notes, *self.notes)) if notes else self


def tie_notes(
    options: ReadOptions, n_ties: float, n_both_bad: float, total: float, what: str
) -> tuple[DataWarning, ...]:
    """Describe the ties that were left out because no option said what to do with them."""
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
