"""Tables in memory: any dataframe (through narwhals), Arrow tables, mappings of columns, lists of tuples."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from mallowmix.columns import Policy, Where
from mallowmix.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from mallowmix.readers.headers import OURS, pick_columns


class Policies(NamedTuple):
    """What to do with rows that compare a thing with itself, or lack a value."""

    self_pairs: Policy = "error"
    missing: Policy = "error"


class Found(NamedTuple):
    """The columns of a source under our names, and how messages speak of its rows (counted from 0)."""

    columns: Mapping[str, Any]
    where: Where


def read_table(source: Any, columns: Mapping[str, Any] | None, policies: Policies) -> Comparisons:
    """Comparisons from any table that is not a file."""
    if isinstance(source, Comparisons):
        return source
    return to_comparisons(Found(_columns_of(source, columns), lambda row: f"Row {row + 1}"), policies)


def to_comparisons(found: Found, policies: Policies) -> Comparisons:
    """Check the columns and number their labels."""
    user, winner, loser, weight = (found.columns.get(name) for name in OURS)
    weight = None if weight is None else as_weights(weight, found.where)
    return Comparisons.from_arrays(user, winner, loser, weight, where=found.where, **policies._asdict())


def as_weights(values: Any, where: Where) -> pa.ChunkedArray:
    """A column of weights as float64, from numbers or their text; the first that is not a number is named."""
    try:
        column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values, from_pandas=True)])
        return column.cast(pa.float64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        listed = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    for row, value in enumerate(listed):
        if not _is_number(value):
            raise DataError(f"{where(row)}: the weight {value!r} is not a number. Weights are counts of at least 0.")
    return pa.chunked_array([pa.array([None if value is None else float(value) for value in listed], pa.float64())])


def _is_number(value: Any) -> bool:
    try:
        pa.scalar(value).cast(pa.float64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _columns_of(source: Any, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    if isinstance(source, Mapping):
        return {ours: source[theirs] for ours, theirs in pick_columns(list(source), columns, "The mapping").items()}
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return {ours: source.column(theirs) for ours, theirs in pick_columns(source.column_names, columns, "The table").items()}
    frame = _as_frame(source)
    if frame is not None:
        return _columns_of_frame(frame, columns)
    if hasattr(source, "__arrow_c_stream__"):
        return _columns_of(pa.table(source), columns)
    return _columns_of_rows(source, columns)


def _as_frame(source: Any) -> Any:
    """`source` as a narwhals frame, or None if it is no dataframe."""
    try:
        frame = nw.from_native(source, pass_through=True)
    except NarwhalsError as error:
        raise DataError(f"The table cannot be read: {' '.join(str(error).split())}.") from None
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def _columns_of_frame(frame: Any, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    names = frame.collect_schema().names() if isinstance(frame, nw.LazyFrame) else frame.columns
    picked = pick_columns(list(names), columns, "The table")
    if isinstance(frame, nw.LazyFrame):
        frame = frame.select(list(picked.values())).collect("pyarrow")
    return {ours: _column_of_series(frame.get_column(theirs)) for ours, theirs in picked.items()}


def _column_of_series(series: Any) -> Any:
    try:
        column = series.to_arrow()
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    except (pa.ArrowException, TypeError, ValueError):  # kinds of values are mixed: who takes the list will say so
        return series.to_list()


def _columns_of_rows(source: Any, columns: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Rows of (user, winner, loser[, weight])."""
    if columns is not None:
        raise OptionError("columns names the columns of a table or a file; rows of tuples have none.")
    if not isinstance(source, Iterable):
        raise DataError(
            f"Comparisons cannot be read from a {type(source).__name__}: give a path, a dataframe, a mapping of columns, "
            "or a list of tuples (user, winner, loser)."
        )
    rows = list(source)
    return {name: [row[n] for row in rows] for n, name in enumerate(OURS[: _width(rows)])}


def _width(rows: list[Any]) -> int:
    """How many values each row has, 3 or 4; 3 where there is no row."""
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, tuple | list | np.ndarray):
            raise DataError(f"Row {number} is {row!r}; it must be a tuple (user, winner, loser[, weight]).")
        if len(row) not in (3, 4):
            raise DataError(f"Row {number} has {len(row)} values; it must have 3 (user, winner, loser) or 4 (and a weight).")
        if len(row) != len(rows[0]):
            raise DataError(
                f"Row {number} has {len(row)} values where row 1 has {len(rows[0])}: give all rows a weight, or none."
            )
    return len(rows[0]) if rows else 3
