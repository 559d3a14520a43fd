"""A table as a file of each ending that is read, written without the package."""

import csv
import io
import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple


class Table(NamedTuple):
    """Names of columns, and rows of values."""

    names: list[str]
    rows: list[list[Any]]


def _text(value: Any) -> str:
    return "" if value is None else json.dumps(value) if isinstance(value, list) else str(value)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def as_csv(table: Table, separator: str = ",") -> bytes:
    """Text with separators."""
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, delimiter=separator, lineterminator="\n")
    writer.writerows([table.names, *([_text(value) for value in row] for row in table.rows)])
    return _encoded(sink.getvalue())


def as_json_lines(table: Table) -> bytes:
    """An object a line."""
    rows = (dict(zip(table.names, row, strict=False)) for row in table.rows)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_json(table: Table) -> bytes:
    """One list of objects."""
    return b"[" + b",".join(as_json_lines(table).splitlines()) + b"]"


def as_zstd(table: Table) -> bytes:
    """CSV that is packed."""
    import pyarrow as pa

    return pa.compress(as_csv(table), "zstd", asbytes=True)


def _arrow(table: Table) -> Any:
    import pyarrow as pa

    columns = [_column([_cell(row, n) for row in table.rows]) for n in range(len(table.names))]
    return pa.Table.from_arrays(columns, table.names)


def _cell(row: list[Any], n: int) -> Any:
    return row[n] if n < len(row) else None


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        texts = (None if value is None else _text(value) for value in values)
        clean = [text and text.encode(errors="replace").decode() for text in texts]
        return pa.array(clean, pa.string())


def as_parquet(table: Table) -> bytes:
    """Columns that have types."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(_arrow(table), sink)
    return sink.getvalue()


def as_sqlite(table: Table) -> bytes:
    """A database with a table called votes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.sqlite"
        with closing(sqlite3.connect(path)) as database:
            names = [
                f"{n}" if _is_known(table.names, n) else name for n, name in enumerate(table.names)
            ]
            columns = ", ".join(f'"{name}"' for name in names)
            marks = ", ".join("?" * len(names))
            database.execute(f"CREATE TABLE votes ({columns})")
            rows = [[_stored(_cell(row, n)) for n in range(len(names))] for row in table.rows]
            database.executemany(f"INSERT INTO votes VALUES ({marks})", rows)
            database.commit()
        return path.read_bytes()


def _is_known(names: list[str], n: int) -> bool:
    """Whether a database would take a name for one before it."""
    return names[n].lower() in (name.lower() for name in names[:n])


def _stored(value: Any) -> Any:
    """What a database can hold of a value."""
    if isinstance(value, str):
        return value.replace("\0", "").encode(errors="replace").decode()
    small = isinstance(value, int) and abs(value) < 2**63
    return value if value is None or isinstance(value, float) or small else _text(value)


def as_workbook(table: Table) -> bytes:
    """A sheet of a spreadsheet, without formulas and control characters."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    def cell(value: Any) -> Any:
        if isinstance(value, int):
            return value
        made = WriteOnlyCell(sheet, _shown(_text(value)))
        made.data_type = "s"  # "=x" is a label, no formula
        return made

    book, sink = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet()
    for row in (table.names, *table.rows):
        sheet.append([cell(value) for value in row])
    book.save(sink)
    return sink.getvalue()


def _shown(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())


def as_movielens(table: Table) -> bytes:
    """Fields with two colons between them, and no header."""
    return _encoded("".join("::".join(map(_text, row)) + "\n" for row in table.rows))


def as_matlab(table: Table) -> bytes:
    """Two arrays of whole numbers, packed."""
    import numpy as np
    from scipy.io import savemat

    numbers = [[_number(_cell(row, n)) for n in range(3)] for row in table.rows]
    array, sink = np.array(numbers).reshape(-1, 3), io.BytesIO()  # also of no rows
    savemat(
        sink, {"train_vec": array, "probe_vec": array + np.array([9, 0, 0])}, do_compression=True
    )
    return sink.getvalue()


def _number(value: Any) -> float:
    return value if isinstance(value, int) and abs(value) < 2**31 else -1


def as_preflib(kind: str) -> Callable[[Table], bytes]:
    """PrefLib's text: names of alternatives, then counts and orders."""

    def write(table: Table) -> bytes:
        voters = sum(row[0] for row in table.rows if row and isinstance(row[0], int))
        head = {"DATA TYPE": kind, "NUMBER ALTERNATIVES": len(table.names), "NUMBER VOTERS": voters}
        head["NUMBER UNIQUE ORDERS"] = len(table.rows)
        head |= {f"ALTERNATIVE NAME {n}": name for n, name in enumerate(table.names, 1)}
        lines = [f"# {name}: {value}" for name, value in head.items()]
        lines += [": ".join(map(_text, row)) for row in table.rows]
        return _encoded("\n".join(lines) + "\n")

    return write
