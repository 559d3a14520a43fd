"""A table of pairs to ask about: two columns of items and, if there is one, a column of users."""

import csv
import gzip
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.errors import DataError
from mallowmix.readers.csv_files import DELIMITERS
from mallowmix.readers.files import read_columns

NAMES = (("first", "second"), ("item_a", "item_b"), ("left", "right"), ("winner", "loser"))


class AskedPairs(NamedTuple):
    """The rows of the table: couples of items, whom each is for (None: everybody), and the names of the two columns."""

    pairs: list[tuple[Any, Any]]
    users: list[Any] | None
    taken: tuple[str, str]


def read_pairs(path: Path) -> AskedPairs:
    """Pairs from a file (.csv, .tsv, either with .gz, .parquet); the columns are called as in `NAMES`, the first that fits."""
    names = _names(path)
    taken = next((both for both in NAMES if set(both) <= set(names)), NAMES[0])
    if names and not set(taken) <= set(names):
        other = "; ".join(", ".join(both) for both in NAMES[1:])
        raise DataError(
            f"{path} has the columns {', '.join(map(repr, names))}: call those of the two items {', '.join(NAMES[0])} ({other})."
        )
    user = "user" if "user" in names else taken[0]
    found = read_columns(path, {"user": user, "winner": taken[0], "loser": taken[1], "weight": None})
    first, second, users = (_filled(found, name) for name in ("winner", "loser", "user"))
    return AskedPairs(list(zip(first, second, strict=True)), users if "user" in names else None, taken)


def _filled(found: Any, name: str) -> list[Any]:
    """A column as a list; every row must have a value."""
    values = found.columns[name].to_pylist()
    for row, value in enumerate(values):
        if value is None:
            raise DataError(f"{found.where(row)} lacks a value: give two items (and a user, where there is such a column).")
    return values


def _names(path: Path) -> list[str]:
    """The columns of a file; none where it cannot be read, which whoever reads it will explain."""
    name = path.name.lower().removesuffix(".gz")
    try:
        if name.endswith(tuple(DELIMITERS)):
            opened = gzip.open if path.suffix.lower() == ".gz" else open
            with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
                return [*next(csv.reader(file, delimiter=DELIMITERS[name[-4:]]), [])]
        return pq.read_schema(path).names if path.is_file() else []
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, pa.ArrowException):
        return []
