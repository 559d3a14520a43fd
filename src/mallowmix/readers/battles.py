"""Battles: two candidates side by side and an outcome.

The outcome is a word for left, right, a tie or both bad, or the name of the winner.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_column, encode_groups
from mallowmix.data.lazy_arrow import pc
from mallowmix.data.row_checks import checked_columns
from mallowmix.errors import DataError, Option, did_you_choose
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_weights
from mallowmix.readers.reading import DROP_OR_HALF, Reading, ReadOptions, Sides, tie_notes
from mallowmix.readers.user_column import user_column

ROLES = Roles(("left", "right", "outcome"), ("user", "weight"))
LEFT, RIGHT, TIE, BOTH_BAD, UNKNOWN = 0, 1, 2, 3, 4
MEANINGS = {"left": LEFT, "right": RIGHT, "tie": TIE, "both_bad": BOTH_BAD}
WORDS = (
    dict.fromkeys(
        (
            "left",
            "a",
            "modela",
            "itema",
            "optiona",
            "candidatea",
            "answera",
            "responsea",
            "leftwins",
        ),
        LEFT,
    )
    | dict.fromkeys(
        (
            "right",
            "b",
            "modelb",
            "itemb",
            "optionb",
            "candidateb",
            "answerb",
            "responseb",
            "rightwins",
        ),
        RIGHT,
    )
    | dict.fromkeys(("tie", "tied", "draw", "equal", "same"), TIE)
    | dict.fromkeys(("bothbad", "tiebothbad", "bad", "neither"), BOTH_BAD)
)
_SHOWN = 10  # unknown words listed in a message


class Battles(NamedTuple):
    """Rows without gaps, as codes of users and items."""

    user: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    outcome: NDArray[np.int8]
    weight: NDArray[np.float64]
    items: Labels
    users: Labels


def read_battle_table(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "battles"
) -> Reading:
    """Read winners over losers; ties and both-bad battles are counted.

    Parameters
    ----------
    source : Input
        The table.
    picked : mapping
        Role to column, as `pick_columns` gives it.
    options : ReadOptions
        What to do with ties, both-bad battles, self-pairs and gaps.
    form : str
        The name of the form in the result.

    Returns
    -------
    Reading
        With `sides`, from which position bias can be measured.
    """
    battles = _checked(source, picked, options)
    total, tied, bad = (
        float(battles.weight[rows].sum())
        for rows in (..., battles.outcome == TIE, battles.outcome == BOTH_BAD)
    )
    if tied and options.ties == "error":
        raise DataError(f"There are {tied:,.12g} ties. ", *DROP_OR_HALF)
    if bad and options.both_bad == "error":
        raise DataError(
            f"There are {bad:,.12g} battles in which both were bad. Leave them out with ",
            Option("both_bad", "drop"),
            ", or treat them as ties with ",
            Option("both_bad", "tie"),
            ".",
        )
    n_ties = tied + (bad if options.both_bad == "tie" else 0)
    return Reading(
        _comparisons(battles, options),
        form,
        picked,
        ties=options.ties or "drop",
        n_ties=n_ties,
        n_both_bad=bad,
        sides=_sides(battles),
        notes=tie_notes(options, n_ties, bad, total, "battles"),
    )


def _checked(source: Input, picked: Mapping[str, Any], options: ReadOptions) -> Battles:
    columns = source.take(picked)
    left, right = (
        as_column(columns["left"], picked["left"]),
        as_column(columns["right"], picked["right"]),
    )
    user = user_column(columns, len(left), one_user=options.one_user, title=source.title)
    weight = as_weights(columns["weight"], source.where) if "weight" in columns else None
    words = _as_text(as_column(columns["outcome"], picked["outcome"]))
    present = ~pc.equal(words, "").fill_null(True).to_numpy()
    outcome = _outcomes(words, present, left, right, picked, options)
    rows = checked_columns(
        user,
        left,
        right,
        weight,
        extra={"outcome": present},
        names=("left", "right"),
        self_pairs=options.self_pairs,
        missing=options.missing,
        where=source.where,
    )
    (users, names), ((lefts, rights), items) = encode_groups([rows.user], [rows.winner, rows.loser])
    weights = np.ones(len(lefts)) if rows.weight is None else rows.weight
    return Battles(users[0], lefts, rights, outcome[rows.kept], weights, items, names)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        return column
    return pa.chunked_array(
        [
            pa.array(
                [None if value is None else str(value) for value in column.to_pylist()], pa.string()
            )
        ]
    )


def _outcomes(
    words: pa.ChunkedArray,
    present: NDArray[np.bool_],
    left: Any,
    right: Any,
    picked: Mapping[str, Any],
    options: ReadOptions,
) -> NDArray[np.int8]:
    """Code each row's word: a known word, or the name of the winner."""
    known = _vocabulary(picked, options)
    left_text, right_text = _as_text(left), _as_text(right)
    _check_names(words, left_text, right_text, known)
    hashed = words.fill_null("").combine_chunks().dictionary_encode()
    hashed = hashed.combine_chunks() if isinstance(hashed, pa.ChunkedArray) else hashed
    meaning = np.array(
        [
            known.get(word, known.get(_plain(word), UNKNOWN))
            for word in hashed.dictionary.to_pylist()
        ],
        np.int8,
    )
    outcome = meaning[hashed.indices.to_numpy()] if len(meaning) else np.zeros(0, np.int8)
    for side, names in ((LEFT, left_text), (RIGHT, right_text)):
        named = pc.equal(words, names).fill_null(False).to_numpy()
        outcome = np.where((outcome == UNKNOWN) & named, np.int8(side), outcome)
    _check_known(words, (outcome == UNKNOWN) & present)
    return outcome


def _vocabulary(picked: Mapping[str, Any], options: ReadOptions) -> dict[str, int]:
    """Map words to outcomes: built-in ones, the two column names, the option's."""
    left, right = _plain(picked["left"]), _plain(picked["right"])
    columns = {left: LEFT, right: RIGHT}
    if left[:-1] == right[:-1] and (left[-1:], right[-1:]) == ("1", "2"):
        columns |= {"1": LEFT, "2": RIGHT}
    said = {word: MEANINGS[meaning] for word, meaning in (options.outcomes or {}).items()}
    return WORDS | columns | said | {_plain(word): meaning for word, meaning in said.items()}


def _plain(word: Any) -> str:
    """Return a word in small letters, without spaces and hyphens; −1 stays what it is."""
    text = str(word).strip().lower()
    return text if re.fullmatch(r"-\d+", text) else re.sub(r"[\s_()-]", "", text)


def _check_names(
    words: pa.ChunkedArray, left: pa.ChunkedArray, right: pa.ChunkedArray, known: Mapping[str, int]
) -> None:
    """Refuse an outcome word that is also the name of a candidate: it would be ambiguous."""
    candidates = {*pc.unique(left).to_pylist(), *pc.unique(right).to_pylist()}
    used = {word for word in pc.unique(words).to_pylist() if word and _plain(word) in known}
    if both := sorted(used & candidates):
        raise DataError(
            f"The outcome {both[0]!r} is also the name of a candidate, so nobody can tell what it "
            "means: rename the candidate, "
            "or write the outcomes in other words."
        )


def _check_known(words: pa.ChunkedArray, unknown: NDArray[np.bool_]) -> None:
    if not unknown.any():
        return
    counts = Counter(words.filter(pa.array(unknown)).to_pylist()).most_common()
    shown = ", ".join(f"{word!r} ({count:,})" for word, count in counts[:_SHOWN])
    more = f" and {len(counts) - _SHOWN:,} more" if len(counts) > _SHOWN else ""
    raise DataError(
        f"Unknown outcomes, with how often they occur: {shown}{more}. An outcome is left, "
        "right, tie, "
        "both_bad, the name of one of the two candidates, or a word that you explain: ",
        Option("outcomes", {counts[0][0]: "tie"}),
        f".{did_you_choose(counts[0][0], MEANINGS)}",
    )


def _comparisons(battles: Battles, options: ReadOptions) -> Comparisons:
    """Make one row for each win, and two of half its weight for a tie that counts."""
    won = battles.outcome <= RIGHT
    tied = np.flatnonzero(
        (battles.outcome == TIE) | ((battles.outcome == BOTH_BAD) & (options.both_bad == "tie"))
    )
    tied = tied if options.half else tied[:0]
    if not won.any() and not len(tied):
        raise DataError("There are no comparisons: not one battle has a winner.")
    left_won = battles.outcome[won] == LEFT
    left, right = battles.left, battles.right
    return Comparisons.from_codes(
        np.r_[battles.user[won], battles.user[tied], battles.user[tied]],
        np.r_[np.where(left_won, left[won], right[won]), left[tied], right[tied]],
        np.r_[np.where(left_won, right[won], left[won]), right[tied], left[tied]],
        np.r_[battles.weight[won], battles.weight[tied] / 2, battles.weight[tied] / 2],
        battles.items,
        battles.users,
    )


def _sides(battles: Battles) -> Sides:
    won = battles.outcome <= RIGHT
    user, left, right = battles.user[won], battles.left[won], battles.right[won]
    return Sides(user, left, right, battles.outcome[won] == LEFT, battles.weight[won])
