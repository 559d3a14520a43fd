"""Attributes of users: a table with a column of users, joined by text."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw

from mallowmix.data.labels import Labels, text_of
from mallowmix.data.text import a_or_an
from mallowmix.errors import (
    DataError,
    Option,
    OptionError,
    did_you_mean,
    shown_value,
)
from mallowmix.readers.csv_rows import check_one_line, csv_rows
from mallowmix.readers.inputs import unreadable_text
from mallowmix.readers.parquet_batches import read_parquet

_SHOWN = 10  # names of columns in a message
Attributes = dict[str, list[str | None]]


def read_attributes(source: Any, users: Labels, *, user: str = "user") -> Attributes:
    """Read attributes: for each column one value per user, as text.

    Parameters
    ----------
    source : path, dataframe, Arrow table, or mapping of columns
        A path ends in .csv, .tsv or .parquet.
    users : Labels
        The users, in the order of the result.
    user : str
        The name of the column that holds the users.

    Returns
    -------
    dict of str to list of (str or None)
        None where a value is missing.
    """
    columns = _columns(source)
    if str(user) not in columns:
        few = [repr(name) for name in columns][:_SHOWN] + ["…"] * (len(columns) > _SHOWN)
        raise DataError(
            f"The attributes have no column {shown_value(user)}; they have {', '.join(few)}."
            f"{did_you_mean(user, columns)} Say which one holds the users, as in ",
            Option("user", str(next(iter(columns), "NAME"))),
            ".",
        )
    names = [str(name) for name in columns.pop(str(user))]
    if len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise DataError(
            f"The attributes have the user {twice!r} more than once. Keep one row for each."
        )
    row = {name: n for n, name in enumerate(names)}
    wanted = [row.get(text) for text in text_of(users)]
    if all(n is None for n in wanted):
        either = (
            f"there is {text_of(users)[0]!r} in the comparisons, {names[0]!r} in the attributes"
            if names
            else "they have no rows"
        )
        raise DataError(
            f"None of the {len(wanted)} users is in the attributes: {either}. "
            "People must be named alike in both."
        )
    return {
        name: [None if n is None else _text(values[n]) for n in wanted]
        for name, values in columns.items()
    }


def _text(value: Any) -> str | None:
    """A value as text; nothing, NaN and the empty text are missing."""
    return None if value is None or value != value or str(value) == "" else str(value)


def _listed(name: Any, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataError(
            f"Of the attributes, {name!r} is {shown_value(values)}, not a column: give a mapping "
            'of columns, as in {"user": ["ann", "bob"], "age": [31, 27]}.'
        )
    return list(values)


def _columns(source: Any) -> dict[str, list[Any]]:
    if isinstance(source, str | PathLike):
        return _from_file(Path(source))
    if isinstance(source, Mapping):
        return {str(name): _listed(name, values) for name, values in source.items()}
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise OptionError(
            f"Attributes cannot be read from {a_or_an(type(source).__name__)}: "
            "give a path, a dataframe, or a mapping of columns.",
            option="attributes",
            value=source,
            expected="a path, a dataframe, or a mapping of columns",
        ) from None
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: whole.get_column(name).to_list() for name in whole.columns}


def _from_file(path: Path) -> dict[str, list[Any]]:
    try:
        if path.suffix.lower() == ".parquet":
            return read_parquet(path).to_pydict()
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            rows = list(csv_rows(file, path, separator=separator, strict=True))
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable_text(path, "attributes of users", error) from None
    if not rows:
        raise DataError(f"{path} is empty: it needs a line of column names, one of them user.")
    (_, names), *others = rows
    for line, row in others:
        if len(row) != len(names):
            raise DataError(
                f"{path} line {line}: {len(row)} fields where the first line has {len(names)}."
            )
        check_one_line(row, path, line)
    return {name: [row[n] for _, row in others] for n, name in enumerate(names)}
