"""Tables in memory: dataframes (through narwhals), Arrow tables, mappings of columns, tuples."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mallowmix.data.lazy_arrow import LazyModule
from mallowmix.data.text import a_or_an
from mallowmix.errors import DataError
from mallowmix.readers.inputs import Input, check_width

nw: Any = LazyModule("narwhals")

WIDTHS = {
    2: ("winner", "loser"),
    3: ("user", "winner", "loser"),
    4: ("user", "winner", "loser", "weight"),
}


def open_table(source: Any) -> Input:
    """Open a table that is not a file."""
    if isinstance(source, Mapping):
        return _input("The mapping", list(source), lambda name: source[name])
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return _input("The table", source.column_names, source.column)
    frame = _as_frame(source)
    if frame is not None:
        return _open_frame(frame)
    if hasattr(source, "__arrow_c_stream__"):
        return open_table(pa.table(source))
    return _open_rows(source)


def _input(title: str, names: list[Any], column: Callable[[Any], Any]) -> Input:
    check_width(title, len(names))

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        return {ours: column(theirs) for ours, theirs in picked.items()}

    return Input(title, names, take, lambda row: f"Row {row + 1}")


def _as_frame(source: Any) -> Any:
    """Return `source` as a narwhals frame, or None if it is no dataframe."""
    try:
        frame = nw.from_native(source, pass_through=True)
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"The table cannot be read: {' '.join(str(error).split())}.") from None
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def _open_frame(frame: Any) -> Input:
    if isinstance(frame, nw.DataFrame):
        return _input(
            "The table", list(frame.columns), lambda name: _column_of_series(frame.get_column(name))
        )
    names = list(frame.collect_schema().names())

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        found = frame.select(list(dict.fromkeys(picked.values()))).collect("pyarrow")
        return {
            ours: _column_of_series(found.get_column(theirs)) for ours, theirs in picked.items()
        }

    return Input("The table", names, take, lambda row: f"Row {row + 1}")


def _column_of_series(series: Any) -> Any:
    try:
        column = series.to_arrow()
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
    ):  # kinds of values are mixed: who takes the list will say so
        return series.to_list()


def _open_rows(source: Any) -> Input:
    """Open rows of (user, winner, loser[, weight]), or of (winner, loser) alone."""
    if hasattr(source, "items") and hasattr(source, "alpha"):
        raise DataError(
            f"A {type(source).__name__} is a model, not comparisons: the model comes first and the "
            "comparisons second, as in mallowmix.weights(model, comparisons)."
        )
    if not isinstance(source, Iterable):
        raise DataError(
            f"Comparisons cannot be read from {a_or_an(type(source).__name__)}: give a path, a "
            "dataframe, a mapping of columns, "
            "or a list of tuples (user, winner, loser)."
        )
    rows = list(source)
    names = WIDTHS[_width(rows)]
    return _input("The list", list(names), lambda name: [row[names.index(name)] for row in rows])


def _width(rows: list[Any]) -> int:
    """Return how many values each row has, 2 to 4; 3 where there is no row."""
    for number, row in enumerate(rows, start=1):
        if isinstance(row, PathLike) or (isinstance(row, str) and Path(row).suffix):
            raise DataError(
                f"Row {number} is the name of a file: give one file, a pattern such as "
                "'votes-*.csv' for several, or store_comparisons([…]) for many."
            )
        if not isinstance(row, tuple | list | np.ndarray):
            raise DataError(
                f"Row {number} is {row!r}; it must be a tuple (user, winner, loser[, weight])."
            )
        if len(row) not in WIDTHS or (len(row) == 2 and len(rows[0]) != 2):
            raise DataError(
                f"Row {number} has {len(row)} values; it must have 3 (user, winner, loser) or 4 "
                "(and a weight)."
            )
        if len(row) != len(rows[0]):
            raise DataError(
                f"Row {number} has {len(row)} values where row 1 has {len(rows[0])}: give all "
                "rows a weight, or none."
            )
    return len(rows[0]) if rows else 3
