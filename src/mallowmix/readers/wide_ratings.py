"""Ratings with a row for each person and a column for each item, as spreadsheets have them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from mallowmix.data.labels import as_column
from mallowmix.errors import DataError, Option
from mallowmix.readers.headers import Roles, is_role_name, item_columns
from mallowmix.readers.inputs import Input, as_numbers
from mallowmix.readers.rating_forms import STARS, reading_of_ratings
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import user_column
from mallowmix.readers.wide_rankings import rows_are_users

ROLES = Roles((), ("user",), row_is_user=True)
_SHOWN = 4  # names listed in a message


def is_rating_matrix(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether all columns but that of users hold numbers, two or more of them.

    A column that could be something else in a long table (item, rating) is none of a matrix.
    """
    names, others = _numeric(source, found)
    return not others and len(names) > 1


def read_wide_ratings(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "ratings"
) -> Reading:
    """Read one row a user, each item's column its rating; an empty cell is not rated."""
    names = item_columns(source.names, picked)
    taken = source.take(dict(picked) | {f"item {n}": name for n, name in enumerate(names)})
    stars = np.stack(
        [
            as_numbers(_blank(taken[f"item {n}"]), source.where, f"rating of {name!r}", STARS)
            for n, name in enumerate(names)
        ],
        axis=1,
    )
    columns = {"user": taken["user"]} if "user" in picked else {}
    notes = ()
    if not columns and not options.one_user:
        columns, notes = {"user": np.arange(1, len(stars) + 1)}, (rows_are_users(source.title),)
    who = user_column(columns, len(stars), one_user=options.one_user, title=source.title)
    row, item = np.nonzero(~np.isnan(stars))
    reading = reading_of_ratings(
        as_column(who, "user").take(pa.array(row)),
        as_column(list(names), "item").take(pa.array(item)),
        stars[row, item],
        options,
        form,
        picked,
        lambda n: source.where(int(row[n])),
    )
    return reading.with_notes(*notes)


def refuse_matrix(source: Input, columns: Mapping[str, Any] | None) -> None:
    """Raise a DataError if a table is one of numbers, which may be positions or ratings."""
    if len(source.names) < 2 or all(str(name).strip().isdigit() for name in source.names):
        return  # a title alone, or data where names should be
    names, others = _numeric(source, columns or {})
    if len(names) < 2 or len(others) > 1:
        return
    who = Option("columns", {"user": others[0]}) if others else None
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
    raise DataError(
        f"{source.title} has a column of numbers for each of {shown}: if they are ratings, and "
        "more is better, pass ",
        Option("format", "ratings"),
        "; if they are positions, and 1 is best, ",
        Option("format", "rankings"),
        *(("; and ", who, " if that column says who.") if who else (".",)),
    )


def _numeric(source: Input, found: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The columns of numbers, and the others; none where a name has a role in a long table."""
    names = item_columns(source.names, found)
    if any(is_role_name(name) for name in names) or len(set(names)) < len(names):
        return [], names
    taken = source.take({str(n): name for n, name in enumerate(names)})
    there = {name: _is_numeric(taken[str(n)]) for n, name in enumerate(names)}
    return [name for name in names if there[name]], [name for name in names if not there[name]]


def _is_numeric(values: Any) -> bool:
    try:
        as_column(_blank(values), "item").cast(pa.float64())
    except (pa.ArrowException, DataError):
        return False
    return True


def _blank(values: Any) -> Any:
    """The same without empty texts, which are no ratings."""
    listed = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    if not any(isinstance(value, str) for value in listed):
        return values
    return [None if isinstance(value, str) and not value.strip() else value for value in listed]
