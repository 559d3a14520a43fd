"""Checks of the rows of comparisons: missing values, self-pairs, and weights that are no counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import alike, as_arrow, as_column
from mallowmix.data.lazy_arrow import pa, pc
from mallowmix.errors import DataError, Option, Part, check_choice

Policy: TypeAlias = Literal["error", "drop"]
Where: TypeAlias = Callable[[int], str]
Mask: TypeAlias = NDArray[np.bool_]

# what to do about a row that cannot be used, as the last parts of a message
FILL_OR_DROP: tuple[Part, ...] = ("Fill such rows in, or pass ", Option("missing", "drop"), ".")
DROP_SELF_PAIRS: tuple[Part, ...] = ("Drop such rows, or pass ", Option("self_pairs", "drop"), ".")
WEIGHTS_ARE_COUNTS = "Weights are counts of at least 0."


class Columns(NamedTuple):
    """Rows that can be used: no value missing, no self-pair, every weight finite and above 0."""

    user: pa.ChunkedArray
    winner: pa.ChunkedArray
    loser: pa.ChunkedArray
    weight: NDArray[np.float64] | None
    kept: NDArray[np.int64]  # the numbers of these rows in the source
    n_rows: int  # of the source


def checked_columns(
    user: Any,
    winner: Any,
    loser: Any,
    weight: Any = None,
    *,
    extra: Mapping[str, Mask] | None = None,
    names: tuple[str, str] = ("winner", "loser"),
    self_pairs: Policy = "error",
    missing: Policy = "error",
    where: Where | None = None,
) -> Columns:
    """Columns of comparisons without the rows that the options drop and those of weight 0.

    Parameters
    ----------
    user, winner, loser : sequences of labels
        The columns.
    weight : sequence of float, optional
        How often each comparison was made.
    extra : mapping from name to mask, optional
        Of further columns: which rows have a value.
    names : tuple of two str
        What messages call the two items.
    self_pairs, missing : {"error", "drop"}
        What to do with a row that compares an item with itself, or that lacks a value.
    where : callable, optional
        Turns a row number into words for messages ("votes.csv line 812").

    Returns
    -------
    Columns

    Raises
    ------
    DataError
        If a row cannot be used and no option drops it, or if no row is left.
    """
    check_choice("self_pairs", self_pairs, ("error", "drop"))
    check_choice("missing", missing, ("error", "drop"))
    where = where or _row_name
    columns = _label_columns(user, winner, loser)
    weights = _as_weights(weight, len(columns[0]))
    keep = _present(columns, weights, names, extra or {}, missing, where)
    keep &= _positive(weights, keep, where)
    keep &= _unequal(columns, keep, self_pairs, where)
    if not keep.any():
        raise DataError("There are no comparisons: give at least one row of user, winner, loser.")
    if not keep.all():
        columns = tuple(column.filter(pa.array(keep)) for column in columns)
        weights = None if weights is None else weights[keep]
    return Columns(columns[0], columns[1], columns[2], weights, np.flatnonzero(keep), len(keep))


def _row_name(row: int) -> str:
    return f"Row {row + 1}"


def _label_columns(user: Any, winner: Any, loser: Any) -> tuple[pa.ChunkedArray, ...]:
    columns = (
        as_column(user, "user"),
        *alike(as_column(winner, "winner"), as_column(loser, "loser")),
    )
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise DataError(
            f"user, winner and loser have {', '.join(map(str, lengths))} rows; "
            "they must be equally long."
        )
    return columns


def _as_weights(weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """The weights as floats, NaN where one is missing."""
    if weight is None:
        return None
    try:
        weights = as_arrow(weight, "weight").cast(pa.float64()).to_numpy()
    except (DataError, pa.ArrowException):
        raise DataError(
            "The weights are not a list of numbers: give how often each comparison was made."
        ) from None
    if len(weights) != n_rows:
        raise DataError(
            f"There are {len(weights)} weights for {n_rows} comparisons; there must be one each."
        )
    return weights


def _present(
    columns: tuple[pa.ChunkedArray, ...],
    weights: NDArray[np.float64] | None,
    names: tuple[str, str],
    extra: Mapping[str, Mask],
    missing: Policy,
    where: Where,
) -> Mask:
    """Which rows lack nothing. An empty text counts as missing."""
    lacking = {name: gaps(column) for name, column in zip(("user", *names), columns, strict=True)}
    lacking |= {name: ~present for name, present in extra.items()}
    if weights is not None:
        lacking["weight"] = np.isnan(weights)
    for name, gap in lacking.items():
        if gap.any() and missing == "error":
            raise DataError(
                f"{where(_first(gap))}: the {name} is missing{_more(gap)}. ", *FILL_OR_DROP
            )
    return ~np.logical_or.reduce(list(lacking.values()))


def gaps(column: pa.ChunkedArray) -> Mask:
    """Which rows have no value; an empty text and NaN are none."""
    gap = column.is_null(nan_is_null=True).to_numpy()
    return (
        gap | pc.equal(column, "").fill_null(True).to_numpy()
        if pa.types.is_string(column.type)
        else gap
    )


def _positive(weights: NDArray[np.float64] | None, keep: Mask, where: Where) -> Mask:
    """Which rows count: a weight is a number of repetitions, so a row of weight 0 is no row."""
    if weights is None:
        return keep
    for bad, what in ((np.isinf(weights), "is not a finite number"), (weights < 0, "is negative")):
        bad &= keep
        if bad.any():
            row = _first(bad)
            raise DataError(
                f"{where(row)}: the weight {weights[row]:g} {what}{_more(bad)}. "
                f"{WEIGHTS_ARE_COUNTS}"
            )
    return weights > 0


def _unequal(
    columns: tuple[pa.ChunkedArray, ...], keep: Mask, self_pairs: Policy, where: Where
) -> Mask:
    """Which rows compare two different things."""
    user, winner, loser = columns
    same = pc.equal(winner, loser).fill_null(False).to_numpy() & keep
    if same.any() and self_pairs == "error":
        row = _first(same)
        raise DataError(
            f"{where(row)}: user {user[row].as_py()!r} compares {winner[row].as_py()!r} with itself"
            f"{_more(same)}. ",
            *DROP_SELF_PAIRS,
        )
    return ~same


def _first(rows: Mask) -> int:
    return int(np.argmax(rows))


def _more(rows: Mask) -> str:
    count = np.count_nonzero(rows)
    return f" (and {count - 1:,} more like it)" if count > 1 else ""
