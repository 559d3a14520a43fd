"""Parquet files: labels keep their type."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.data.labels import as_column
from mallowmix.errors import DataError, FileError
from mallowmix.readers.inputs import NUMBERS, Input, check_width
from mallowmix.readers.unpacked_limit import check_unpacked

_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError)
_LEAST_BYTES = 4  # that a value takes in memory: the offset of a text, a number


def open_parquet(path: Path) -> Input:
    """Open one Parquet file."""
    path.open("rb").close()  # what the operating system refuses, it refuses here
    try:
        names = pq.read_schema(path).names
    except _BROKEN as error:
        raise _not_whole(path, error) from None
    check_width(str(path), len(names))

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with pq.ParquetFile(path) as file:
                wanted = list(dict.fromkeys(picked.values()))
                # one run of equal values can stand for any number of rows
                check_unpacked(path, file.metadata.num_rows * len(wanted) * _LEAST_BYTES)
                table = file.read(columns=wanted)
            table.validate(full=True)  # text is UTF-8, offsets point into it
        except _BROKEN as error:
            raise _not_whole(path, error) from None
        return {
            ours: _column(table.column(theirs), ours, theirs, path)
            for ours, theirs in picked.items()
        }

    return Input(str(path), names, take, lambda row: f"{path} row {row + 1}")


def _not_whole(path: Path, error: Exception) -> FileError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return FileError(
        f"{path} is not a whole Parquet file: it is cut short, damaged, or something else "
        f"({reason})."
    )


def _column(column: pa.ChunkedArray, ours: str, theirs: Any, path: Path) -> pa.ChunkedArray:
    """Convert labels to the type that `Comparisons` keeps; numbers and lists stay as they are."""
    if ours in NUMBERS or pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return column
    try:
        return as_column(column, theirs)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
