"""Parquet: one file, or several that are parts of one table; labels keep their type."""

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.errors import DataError, FileError
from mallowmix.labels import as_column
from mallowmix.readers.headers import NEEDED, pick_columns
from mallowmix.readers.tables import Found


def read_parquet(paths: list[Path], columns: Mapping[str, Any] | None) -> Found:
    """The needed columns of the files, one after the other."""
    parts = [_read_part(path, columns) for path in paths]
    starts = [0, *accumulate(len(part["user"]) for part in parts)]

    def where(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        return f"{paths[part]} row {row - starts[part] + 1}"

    return Found({name: _joined(name, parts, paths) for name in _names(parts, paths)}, where)


def _read_part(path: Path, columns: Mapping[str, Any] | None) -> dict[str, pa.ChunkedArray]:
    path.open("rb").close()  # what the operating system refuses, it refuses here
    try:
        with pq.ParquetFile(path) as file:
            picked = pick_columns(file.schema_arrow.names, columns, str(path))
            table = file.read(columns=list(dict.fromkeys(picked.values())))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise FileError(f"{path} is not a whole Parquet file: it is cut short, damaged, or something else ({reason}).") from None
    found = {ours: table.column(theirs) for ours, theirs in picked.items()}
    return found | {name: _labels(found[name], picked[name], path) for name in NEEDED}


def _labels(column: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    try:
        return as_column(column, name)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _names(parts: list[dict[str, pa.ChunkedArray]], paths: list[Path]) -> list[str]:
    """The columns of every part: all or none must have a weight."""
    with_weight = ["weight" in part for part in parts]
    if any(with_weight) and not all(with_weight):
        raise DataError(
            f"{paths[with_weight.index(False)]} has no column 'weight', but {paths[with_weight.index(True)]} has: "
            "give every file weights, or none."
        )
    return list(parts[0])


def _joined(name: str, parts: list[dict[str, pa.ChunkedArray]], paths: list[Path]) -> pa.ChunkedArray:
    """One column out of those of the parts; parts without a row have no say in its type."""
    filled = [(part[name], path) for part, path in zip(parts, paths, strict=True) if len(part[name])]
    if not filled:
        return parts[0][name]
    first, its_path = filled[0]
    for column, path in filled:
        if column.type != first.type and name in NEEDED:
            raise DataError(
                f"{path} holds the {name} as {column.type}, but {its_path} as {first.type}: write the files with one type."
            )
    columns = [column if column.type == first.type else column.cast(first.type) for column, _ in filled]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=first.type)
