"""A table of pairs to predict: two columns of items and, optionally, a column of users."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from mallowmix.errors import DataError
from mallowmix.readers.small_csv import Columns, small_columns

NAMES = (("first", "second"), ("item_a", "item_b"), ("left", "right"), ("winner", "loser"))


class WantedPairs(NamedTuple):
    """Pairs of items, the user of each (None: all users), and the names of the two columns."""

    pairs: list[tuple[Any, Any]]
    users: list[Any] | None
    taken: tuple[str, str]


def read_pairs(path: Path) -> WantedPairs:
    """Read pairs from a file (.csv, .tsv, .jsonl, .parquet, …); columns as in `NAMES`."""
    return _small_pairs(small_columns(path)) or _read_pairs(path)


def _small_pairs(columns: Columns | None) -> WantedPairs | None:
    taken = None if columns is None else _taken(columns)
    if columns is None or taken is None:
        return None
    pairs = list(zip(*(columns[name] for name in taken), strict=True))
    return WantedPairs(pairs, columns.get("user"), taken)


def _taken(names: Collection[Any]) -> tuple[str, str] | None:
    """The first two columns that are there."""
    return next((both for both in NAMES if set(both) <= set(names)), None)


def _read_pairs(path: Path) -> WantedPairs:
    from mallowmix.readers.files import open_path
    from mallowmix.readers.inputs import error_context

    with error_context(str(path)):
        source = open_path(path)
        taken = _taken(source.names)
        if taken is None:
            other = "; ".join(", ".join(both) for both in NAMES[1:])
            raise DataError(
                f"{path} has the columns {', '.join(map(repr, source.names))}: "
                f"call those of the two items {', '.join(NAMES[0])} ({other})."
            )
        wanted = dict(zip(("first", "second"), taken, strict=True)) | (
            {"user": "user"} if "user" in source.names else {}
        )
        columns = source.take(wanted)
        first, second = (_filled(columns[name], source.where) for name in ("first", "second"))
        users = _filled(columns["user"], source.where) if "user" in columns else None
    return WantedPairs(list(zip(first, second, strict=True)), users, taken)


def _filled(column: Any, where: Any) -> list[Any]:
    """Convert a column to a list; every row must have a value."""
    values = column.to_pylist()
    for row, value in enumerate(values):
        if value is None:
            raise DataError(
                f"{where(row)} lacks a value: give two items (and a user, where there is such a "
                "column)."
            )
    return values
