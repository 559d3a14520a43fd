"""Rows of a Parquet file, some at a time, up to the limit of what a file may unpack to.

A Parquet file writes a label once and a run of equal rows as one number, so that a file of 50 kB
can hold 50 GB. What its footer and the headers of its pages say is checked before anything is
unpacked; then labels stay numbers, as they are in the file, until it is known how long they are
together.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from mallowmix.data.lazy_arrow import LazyModule, pc
from mallowmix.errors import FileError, MallowmixError
from mallowmix.readers.page_sizes import page_bytes
from mallowmix.readers.unpacked_limit import check_unpacked, most_unpacked

pq: Any = LazyModule("pyarrow.parquet")
_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError)
_LEAST_BYTES = 4  # that a value takes in memory: the offset of a text, a number
_ROWS, _FEW = 1 << 16, 1 << 10  # at a time; the latter where labels may grow from row to row
_BYTES = "BYTE_ARRAY"


def parquet_names(path: Path) -> list[str]:
    """Return the names of the columns."""
    with _explained(path):
        return pq.read_schema(path).names


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read columns of a Parquet file; texts are texts, also where the file numbers them.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str, optional
        Those to read; all unless given.

    Raises
    ------
    FileError
        Where it is not a whole Parquet file, or unpacks to more than it may.
    """
    batches = list(parquet_batches(path, columns))
    with _explained(path):
        if not batches:
            nothing = pq.read_schema(path).empty_table()
            return nothing if columns is None else nothing.select(columns)
        return pa.Table.from_batches(batches)


def parquet_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield rows of `read_parquet`, some at a time; a FileError before the limit is passed."""
    with _explained(path):
        check_parquet(path, columns)
        leaves = _leaves(path, columns).values()
        labels = [each.path for each in leaves if each.physical_type == _BYTES]
        unpacked = 0
        with pq.ParquetFile(path, read_dictionary=labels) as numbered, pq.ParquetFile(path) as bare:
            for group in range(numbered.num_row_groups):
                try:
                    batches, unpacked = _group(path, numbered, group, columns, unpacked, _ROWS)
                except OSError:
                    # texts are written as what they add to the one before: Arrow cannot number
                    # these; what is damaged fails again
                    rows = _few_rows(path, bare.metadata.row_group(group).total_byte_size)
                    batches, unpacked = _group(path, bare, group, columns, unpacked, rows)
                yield from map(_decoded, batches)


def check_parquet(path: Path, columns: Sequence[str] | None = None) -> None:
    """Raise a FileError where a file says that it unpacks to more than it may.

    Its footer says so of all, which may be too little, and the header of each page, on which Arrow
    and DuckDB rely. Arrow is not asked for the footer's entries of single columns: it ends the
    process where one is damaged.
    """
    with _explained(path):
        found = pq.read_metadata(path)
        groups = [found.row_group(n) for n in range(found.num_row_groups)]
        leaves = _leaves(path, columns)
        n_values = sum(group.num_rows for group in groups) * len(leaves)
        n_bytes = sum(group.total_byte_size for group in groups)  # of all columns
        check_unpacked(path, max(n_bytes, n_values * _LEAST_BYTES))
        check_unpacked(path, sum(page_bytes(path, leaves)))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn Arrow's errors into a FileError that names the truncated or damaged file."""
    path.open("rb").close()  # what the operating system refuses, it refuses here
    try:
        yield
    except MallowmixError:  # some of them are ValueErrors
        raise
    except _BROKEN as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise FileError(
            f"{path} is not a whole Parquet file: it is cut short, damaged, or something else "
            f"({reason})."
        ) from None


def _leaves(path: Path, columns: Sequence[str] | None) -> dict[int, Any]:
    """The columns of values that the wanted columns are made of, by their numbers."""
    schema = pq.read_metadata(path).schema
    leaves = {n: schema.column(n) for n in range(len(schema))}
    if columns is None:
        return leaves
    wanted = tuple(f"{name}." for name in columns)
    return {n: each for n, each in leaves.items() if f"{each.path}.".startswith(wanted)}


def _few_rows(path: Path, n_bytes: int) -> int:
    """Few enough rows that labels which grow from row to row stay within the limit together."""
    return max(1, min(_FEW, most_unpacked(path) // max(n_bytes, 1)))


def _group(
    path: Path, file: Any, group: int, columns: Sequence[str] | None, unpacked: int, rows: int
) -> tuple[list[pa.RecordBatch], int]:
    """A group of rows as batches of so many, and the bytes that all rows up to here unpack to."""
    batches = []
    for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
        batch.validate(full=True)  # text is UTF-8, offsets point into it
        unpacked += sum(map(_unpacked_bytes, batch.columns))
        check_unpacked(path, unpacked)
        batches.append(batch)
    return batches, unpacked


def _unpacked_bytes(values: pa.Array) -> int:
    """Bytes of an array once each value stands by itself."""
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _LEAST_BYTES * len(values) + _unpacked_bytes(values.flatten())
    if not pa.types.is_dictionary(kind) or not _has_length(kind.value_type):
        return values.nbytes
    lengths = pc.call_function("binary_length", [values.dictionary]).cast(pa.int64())
    total = pc.call_function("sum", [lengths.take(values.indices)]).as_py()
    return _LEAST_BYTES * len(values) + (total or 0)


def _has_length(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_binary(kind)


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with every value by itself."""
    return pa.RecordBatch.from_arrays(
        [column.cast(_value_type(column.type)) for column in batch.columns], batch.schema.names
    )


def _value_type(kind: pa.DataType) -> pa.DataType:
    """The type without numbers for values, in lists too."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(_value_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_value_type(kind.value_type))
    return kind
