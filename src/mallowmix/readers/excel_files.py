"""Excel workbooks (.xlsx): the first sheet that has rows, as a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from mallowmix.data.optional_packages import optional_package
from mallowmix.errors import DataError, DataWarning, FileError
from mallowmix.readers.inputs import Input, check_width

ENDINGS = (".xlsx", ".xlsm")
_Rows = list[tuple[Any, ...]]


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
    first = rows[0][1]
    names = [_name(value, n) if header else str(n) for n, value in enumerate(first, start=1)]
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


def _sheets(path: Path) -> list[tuple[str, list[tuple[int, tuple[Any, ...]]]]]:
    """Return the sheets with rows, by name: numbered rows that are not empty, equally long."""
    openpyxl = optional_package("openpyxl", f"The Excel file {path}")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = [(sheet.title, list(sheet.iter_rows(values_only=True))) for sheet in book]
        book.close()
    except Exception as error:  # a damaged file ends in any error of zip, XML or openpyxl
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100].rstrip(".")
        raise FileError(
            f"{path} cannot be read as an Excel workbook: {reason}. Save it as CSV."
        ) from None
    return [(title, filled) for title, rows in sheets if (filled := _filled(rows))]


def _filled(rows: _Rows) -> list[tuple[int, tuple[Any, ...]]]:
    numbered = [(n, row) for n, row in enumerate(rows, start=1) if any(map(_is_there, row))]
    width = max((_width(row) for _, row in numbered), default=0)
    return [(n, (row + (None,) * width)[:width]) for n, row in numbered]


def _width(row: tuple[Any, ...]) -> int:
    return max(n for n, value in enumerate(row, start=1) if _is_there(value))


def _is_there(value: Any) -> bool:
    return value is not None and value != ""


def _name(value: Any, number: int) -> str:
    return str(value).strip() if _is_there(value) else f"column {number}"


def _column(rows: list[tuple[int, tuple[Any, ...]]], index: int) -> pa.ChunkedArray:
    values = [row[index] if _is_there(row[index]) else None for _, row in rows]
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
