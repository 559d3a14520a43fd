"""A table into a file, in the format of its ending."""

import csv
import gzip
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.data.optional_packages import optional_package
from mallowmix.data.spreadsheet_text import escaped
from mallowmix.data.text import joined
from mallowmix.errors import OptionError, did_you_mean
from mallowmix.readers.compressed import ENDINGS, unpacked_name

TABLE = "votes"  # what the table is called in a database
WRITABLE = (".csv", ".tsv", ".jsonl", ".parquet", ".sqlite", ".duckdb")
_BATCH = 100_000


def check_writable(path: Path, *more: str) -> None:
    """Raise an OptionError unless the ending says how to write a table.

    `more` are endings that mean something else, which the message names too.
    """
    compressed = path.suffix.lower() in ENDINGS
    if not unpacked_name(path).endswith(WRITABLE) or (
        compressed and not unpacked_name(path).endswith(WRITABLE[:3])
    ):
        known = (*WRITABLE, *more)
        raise OptionError(
            f"{path}: the ending {path.suffix!r} does not tell how to write it; use "
            f"{joined(known, 'or')}.{did_you_mean(path.suffix, known)}",
            option="path",
            value=path,
            expected=f"a name that ends in {joined(known, 'or')}",
        )


def write_table(table: pa.Table, path: Path, name: Path | None = None) -> None:
    """Write an Arrow table to a file.

    Parameters
    ----------
    table : pyarrow.Table
    path : Path
        The file to write.
    name : Path or None
        Whose ending decides the format, where `path` is a temporary file.
    """
    name = name or path
    check_writable(name)
    ending = next(end for end in WRITABLE if unpacked_name(name).endswith(end))
    if ending == ".parquet":
        pq.write_table(table, path, compression="zstd")
    elif ending == ".sqlite":
        _write_sqlite(table, path)
    elif ending == ".duckdb":
        _write_duckdb(table, path)
    else:
        path.write_bytes(_packed(_text(table, ending).encode(), name))


def _text(table: pa.Table, ending: str) -> str:
    text = io.StringIO(newline="")
    if ending == ".jsonl":
        for batch in table.to_batches(max_chunksize=_BATCH):
            text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
        return text.getvalue()
    lines = csv.writer(text, lineterminator="\n", delimiter="\t" if ending == ".tsv" else ",")
    lines.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=_BATCH):
        columns = (map(_cell, column.to_pylist()) for column in batch.columns)
        lines.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _cell(value: object) -> object:
    """A value as a field of a line; no label is a formula in a spreadsheet."""
    return escaped(value) if isinstance(value, str) else value


def _packed(data: bytes, name: Path) -> bytes:
    kind = ENDINGS.get(name.suffix.lower())
    if kind == "gzip":
        return gzip.compress(data, mtime=0)  # no time: the same bytes every time
    if kind is None:
        return data
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, kind) as stream:
        stream.write(data)
    return packed.getvalue().to_pybytes()


@contextmanager
def _as_os_error(kind: type[Exception]) -> Iterator[None]:
    """Raise what a database says about the disk (it is full, say) as an error of the system."""
    try:
        yield
    except kind as error:
        raise OSError(" ".join(str(error).split()).rstrip(".")) from None


def _write_sqlite(table: pa.Table, path: Path) -> None:
    path.unlink(missing_ok=True)
    names = ", ".join(f'"{name}"' for name in table.column_names)
    marks = ", ".join("?" for _ in table.column_names)
    with _as_os_error(sqlite3.Error), closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {TABLE} ({names})")
        for batch in table.to_batches(max_chunksize=_BATCH):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", rows)


def _write_duckdb(table: pa.Table, path: Path) -> None:
    path.unlink(missing_ok=True)
    duckdb = optional_package("duckdb", "A DuckDB file")
    with _as_os_error(duckdb.Error), closing(duckdb.connect(str(path))) as connection:
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM given")
        connection.execute("CHECKPOINT")  # on closing it would not say that the disk is full
