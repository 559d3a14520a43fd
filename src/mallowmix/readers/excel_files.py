"""Excel workbooks (.xlsx): the first sheet that has rows, as a table.

A workbook is a zip of XML files, and 200 kB of it can become gigabytes in four ways: it unpacks to
more; it has a great many elements, which take far more memory than their four letters; cells refer
again and again to one long text; a cell far to the right, or a range that the sheet claims to have,
makes rows of thousands of empty cells. All of them stop at the limit of `unpacked_limit`, and of a
row nothing is kept to the right of its last value.
"""

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from mallowmix.data.optional_packages import optional_package
from mallowmix.errors import DataError, DataWarning, FileError, MallowmixError
from mallowmix.readers.inputs import Input, check_width
from mallowmix.readers.unpacked_limit import check_unpacked, most_unpacked, too_large

ENDINGS = (".xlsx", ".xlsm")
_ROW, _CELL = 32, 8  # bytes that a row and a value of it count, beside the text
_TAG, _PIECE = 32, 1 << 20  # bytes that a tag counts, beside its letters; read at a time
_Rows = list[tuple[int, tuple[Any, ...]]]  # by their number in the sheet


def open_excel(path: Path, *, header: bool = True) -> Input:
    """Open a workbook; numbers stay numbers, and a column that mixes kinds becomes text.

    Parameters
    ----------
    path : Path
        The workbook.
    header : bool
        Whether the first row names the columns; they are called 1, 2, … where it does not.

    Returns
    -------
    Input
    """
    path.open("rb").close()  # what the operating system refuses, it refuses here
    sheets = _sheets(path)
    if not sheets:
        raise FileError(f"{path} has no row in it: give a row with names, and one a comparison.")
    sheet, rows = sheets[0]
    first, width = rows[0][1], max(len(row) for _, row in rows)
    names = [_name(_value(first, n), n + 1) if header else str(n + 1) for n in range(width)]
    rows = rows[1:] if header else rows
    if not rows:
        raise DataError(f"{path} has a row of names but no other: give at least one comparison.")
    check_width(str(path), len(names))

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        return {ours: _column(rows, names.index(theirs)) for ours, theirs in picked.items()}

    def where(row: int) -> str:
        return f"{path} row {rows[row][0]}"

    notes = _other_sheets(path, sheet, sheets[1:])
    return Input(str(path), names, take, where, notes, headed=header)


def _sheets(path: Path) -> list[tuple[str, _Rows]]:
    """Return the sheets with rows, by name: numbered rows that are not empty."""
    openpyxl = optional_package("openpyxl", f"The Excel file {path}")
    try:
        _check_parts(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        size = _Size(path)
        sheets = [(sheet.title, list(_filled(_as_read(sheet), size))) for sheet in book]
        book.close()
    except MallowmixError:
        raise
    except Exception as error:  # a damaged file ends in any error of zip, XML or openpyxl
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100].rstrip(".")
        raise FileError(
            f"{path} cannot be read as an Excel workbook: {reason}. Save it as CSV."
        ) from None
    return [(title, rows) for title, rows in sheets if rows]


def _check_parts(path: Path) -> None:
    """Refuse a workbook whose parts unpack to too much: their letters, and their tags.

    First by the sizes that the zip declares, then as they are unpacked. A part that is larger than
    it says is no way out: zipfile cuts it there.
    """
    with zipfile.ZipFile(path) as parts:
        total = sum(part.file_size for part in parts.infolist())
        check_unpacked(path, total)
        for part in parts.infolist():
            with parts.open(part) as stream:
                while piece := stream.read(_PIECE):
                    total += _TAG * piece.count(b"<")
                    check_unpacked(path, total)


def _as_read(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sheet, each as long as its cells reach, whatever the sheet claims."""
    sheet.reset_dimensions()
    return sheet.iter_rows(values_only=True)


class _Size:
    """What the rows of all sheets come to, in bytes; a FileError where it is more than may be."""

    def __init__(self, path: Path) -> None:
        self._path, self._left = path, most_unpacked(path)

    def add(self, n_cells: int, row: tuple[Any, ...]) -> None:
        """Count a row of so many cells, of which these are kept; a text counts wherever it is."""
        texts = sum(len(value) for value in row if isinstance(value, str))
        self._left -= _ROW + _CELL * len(row) + n_cells + texts
        if self._left < 0:
            raise too_large(self._path)


def _filled(rows: Iterable[tuple[Any, ...]], size: _Size) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows that are not empty, with their numbers, up to the last value of each."""
    for number, row in enumerate(rows, start=1):
        kept = row[: _width(row)]
        size.add(len(row), kept)
        if kept:
            yield number, kept


def _width(row: tuple[Any, ...]) -> int:
    width = len(row)
    while width and not _is_there(row[width - 1]):
        width -= 1
    return width


def _value(row: tuple[Any, ...], index: int) -> Any:
    """Return a value of a row; None to the right of the last one, and for an empty text."""
    return row[index] if index < len(row) and _is_there(row[index]) else None


def _is_there(value: Any) -> bool:
    return value not in (None, "")


def _name(value: Any, number: int) -> str:
    return str(value).strip() if _is_there(value) else f"column {number}"


def _column(rows: _Rows, index: int) -> pa.ChunkedArray:
    values = [_value(row, index) for _, row in rows]
    kinds = {type(value) for value in values if value is not None}
    if not (kinds <= {int, float} or kinds == {str} or kinds == {bool}):
        values = [None if value is None else _as_text(value) for value in values]
    return pa.chunked_array([pa.array(values)])


def _as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _other_sheets(path: Path, sheet: str, others: list[Any]) -> tuple[DataWarning, ...]:
    if not others:
        return ()
    names = ", ".join(repr(title) for title, _ in others)
    return (
        DataWarning(
            f"{path}: the sheet {sheet!r} was read, and not {names}: save a sheet as CSV to "
            "read another one."
        ),
    )
