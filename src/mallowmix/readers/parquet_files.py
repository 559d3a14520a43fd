"""Parquet files: labels keep their type."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from mallowmix.data.labels import as_column
from mallowmix.errors import DataError
from mallowmix.readers.inputs import NUMBERS, Input, check_width
from mallowmix.readers.parquet_batches import parquet_names, read_parquet


def open_parquet(path: Path) -> Input:
    """Open one Parquet file."""
    names = parquet_names(path)
    check_width(str(path), len(names))
    times = Counter(names)

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        for name in picked.values():
            if times[name] > 1:  # of a wide table, whose columns are taken as they come
                raise DataError(
                    f"{path} has {times[name]} columns named {name!r}: give each its own name."
                )
        table = read_parquet(path, list(dict.fromkeys(picked.values())))
        return {
            ours: _column(table.column(theirs), ours, theirs, path)
            for ours, theirs in picked.items()
        }

    return Input(str(path), names, take, lambda row: f"{path} row {row + 1}")


def _column(column: pa.ChunkedArray, ours: str, theirs: Any, path: Path) -> pa.ChunkedArray:
    """Convert labels to the type that `Comparisons` keeps; numbers and lists stay as they are."""
    if ours in NUMBERS or pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return column
    try:
        return as_column(column, theirs)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
