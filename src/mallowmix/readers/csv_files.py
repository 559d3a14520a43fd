"""CSV and TSV files: labels are text, only the empty field is missing, errors name their line."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from mallowmix.data.spreadsheet_text import FORMULA
from mallowmix.errors import DataError, DataWarning, FileError, Option
from mallowmix.readers.compressed import decompression_errors, open_bytes
from mallowmix.readers.csv_quotes import misplaced_quotes, never_closes, odd_quotes, opened_text
from mallowmix.readers.csv_rows import is_long, long_field
from mallowmix.readers.inputs import NUMBERS, Input, check_width
from mallowmix.readers.text_format import (
    TextDialect,
    TextFormat,
    find_dialect,
    not_this_text,
    with_decimal_points,
)

_BLOCK = 1 << 20
_ROOM = 16 << 20  # bytes of memory: Arrow ends the process where it finds too few for its blocks
_AS_IT_IS = TextFormat()


def open_csv(path: Path, text: TextFormat = _AS_IT_IS) -> Input:
    """Open a text file of fields with separators between them, which may be compressed."""
    with decompression_errors(path):
        dialect = find_dialect(path, text)
        names = _names(dialect)
    check_width(str(path), len(names))
    notes: list[DataWarning] = list(dialect.notes)

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        with decompression_errors(path):
            table = _read(dialect, names, list(dict.fromkeys(picked.values())))
            notes.extend(_noted_quotes(dialect))
        columns = {ours: _unescaped(table.column(theirs)) for ours, theirs in picked.items()}
        for ours in set(columns) & set(NUMBERS):
            columns[ours], said = with_decimal_points(columns[ours], dialect, picked[ours])
            notes.extend(said)
        return columns

    def where(row: int) -> str:
        return f"{path} line {_line_of(dialect, row)}"

    return Input(str(path), names, take, where, notes, headed=dialect.header)


def _names(dialect: TextDialect) -> list[str]:
    """Return the names of the columns: the first record, or numbers from 1 without a header."""
    path = dialect.path
    _check_text(dialect)
    records = _records(dialect)
    _, names = next(records, (0, None))
    if names is None:
        raise FileError(
            f"{path} is empty: it needs a header line user,winner,loser and a line for each "
            "comparison."
        )
    if not all(map(_is_proper, names)):
        raise _not_this_text(dialect)
    if not dialect.header:
        return [str(number + 1) for number in range(len(names))]
    if next(records, None) is None:
        raise DataError(
            f"{path} has a header but no comparisons: give at least one line of user, "
            "winner, loser."
        )
    return names


def _check_text(dialect: TextDialect) -> None:
    """Refuse a file with zero bytes, unless it is in an encoding that has them."""
    with open_bytes(dialect.path) as file:
        start = file.read(_BLOCK)
    if not dialect.is_utf8 or b"\0" not in start:
        return
    even, odd = (start[first:400:2].strip(b"\0") for first in (0, 1))
    order = "le" if even and not odd else "be" if odd and not even else None
    raise FileError(
        f"{dialect.path} is not a text file, whatever its name says: save the comparisons as CSV "
        "in UTF-8",
        *(() if order is None else (", or pass ", Option("encoding", f"utf-16-{order}"))),
        ".",
    )


def _read(dialect: TextDialect, names: list[str], wanted: list[str]) -> pa.Table:
    """Read the wanted columns as text; numbers are made later, where their line is known."""
    bytes(_ROOM)  # a MemoryError here, and not the end of the process; it touches no memory
    try:
        with open_bytes(dialect.path) as file:
            return pa_csv.read_csv(
                file,
                read_options=pa_csv.ReadOptions(
                    encoding="utf8" if dialect.is_utf8 else dialect.encoding,
                    column_names=None if dialect.header else names,
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=dialect.separator, newlines_in_values=True
                ),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
    except pa.ArrowException as error:
        raise _explained(dialect, len(names), str(error)) from None
    except UnicodeError:
        raise _not_this_text(dialect) from None


def _noted_quotes(dialect: TextDialect) -> list[DataWarning]:
    misplaced = misplaced_quotes(dialect)
    advice = "it was read without these quotes. Write a quote inside of quotes twice."
    return [DataWarning(f"{misplaced}: {advice}")] if misplaced else []


def _unescaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Labels without the apostrophe that keeps a spreadsheet from taking them for formulas."""
    quoted = pc.call_function("starts_with", [column], pc.MatchSubstringOptions("'"))
    if not pc.call_function("any", [quoted]).as_py():
        return column
    options = pc.ReplaceSubstringOptions(f"^'({FORMULA})", r"\1")
    return pc.call_function("replace_substring_regex", [column], options)


def _explained(dialect: TextDialect, n_fields: int, reason: str) -> FileError:
    """Find what is wrong with a file that pyarrow could not read, line by line."""
    path = dialect.path
    if "UTF8" in reason:
        return _not_this_text(dialect)
    misplaced_quotes(dialect)  # they may be the reason
    wrong = [(line, len(fields)) for line, fields in _records(dialect) if len(fields) != n_fields]
    if not wrong:
        return FileError(f"{path} cannot be read as CSV: {reason.splitlines()[0]}.")
    (line, count), more = wrong[0], len(wrong) - 1
    first = "header" if dialect.header else "first line"
    return FileError(
        f"{path} line {line} has {count} field{'s' * (count != 1)} where the {first} has {n_fields}"
        f"{f' (and {more:,} more such lines)' if more else ''}: give every line the fields of the "
        f"{first}, "
        "and put quotes around a label that holds the separator."
    )


def _records(dialect: TextDialect) -> Iterator[tuple[int, list[str]]]:
    """Yield every record, header first, with the line that it starts on (no blank lines)."""
    with opened_text(dialect) as text:
        reader = csv.reader(text, delimiter=dialect.separator)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except UnicodeError:
            raise _not_this_text(dialect) from None
        except csv.Error as error:
            if is_long(error):
                unclosed = odd_quotes(dialect, start)
                explain = never_closes if unclosed else long_field
                raise explain(dialect.path, start) from None


def _line_of(dialect: TextDialect, row: int) -> int:
    """Return the line that a row, counted from 0 after the header, starts on."""
    first = -1 if dialect.header else 0  # the header is number −1
    return next(
        line for number, (line, _) in enumerate(_records(dialect), start=first) if number == row
    )


def _not_this_text(dialect: TextDialect) -> FileError:
    """Name the first line that is not text in the file's encoding."""
    encoding = "utf-8-sig" if dialect.is_utf8 else dialect.encoding
    with (
        open_bytes(dialect.path) as file,
        io.TextIOWrapper(file, encoding, "replace", newline="") as text,
    ):
        lines = enumerate(text, start=1)
        line = next((number for number, content in lines if "\ufffd" in content), 1)
    return not_this_text(dialect, line)


def _is_proper(text: str) -> bool:
    """Return whether text holds no byte that could not be decoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
