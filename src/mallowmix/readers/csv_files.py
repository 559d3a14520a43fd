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
from mallowmix.errors import DataError, FileError
from mallowmix.readers.compressed import decompression_errors, open_bytes, unpacked_name
from mallowmix.readers.inputs import Input, check_width

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_BLOCK = 1 << 20


def open_csv(path: Path) -> Input:
    """Open a CSV or TSV file, which may be compressed."""
    with decompression_errors(path):
        names = _header(path)
    check_width(str(path), len(names))

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        with decompression_errors(path):
            table = _read(path, list(dict.fromkeys(picked.values())), len(names))
            _check_quotes(path)
        return {ours: _unescaped(table.column(theirs)) for ours, theirs in picked.items()}

    return Input(str(path), names, take, lambda row: f"{path} line {_line_of(path, row)}")


def _header(path: Path) -> list[str]:
    with open_bytes(path) as file:
        start = file.read(_BLOCK)
    if b"\0" in start:
        raise FileError(
            f"{path} is not a text file, whatever its name says: save the comparisons as CSV "
            "in UTF-8."
        )
    records = _records(path)
    _, names = next(records, (0, None))
    if names is None:
        raise FileError(
            f"{path} is empty: it needs a header line user,winner,loser and a line for each "
            "comparison."
        )
    if not all(map(_is_utf8, names)):
        raise _not_utf8(path)
    if next(records, None) is None:
        raise DataError(
            f"{path} has a header but no comparisons: give at least one line of user, "
            "winner, loser."
        )
    return names


def _read(path: Path, names: list[str], n_fields: int) -> pa.Table:
    """Read the named columns as text; weights become numbers later, where their line is known."""
    try:
        with open_bytes(path) as file:
            return pa_csv.read_csv(
                file,
                parse_options=pa_csv.ParseOptions(
                    delimiter=_delimiter(path), newlines_in_values=True
                ),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
    except pa.ArrowException as error:
        raise _explained(path, n_fields, str(error)) from None


def _unescaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Labels without the apostrophe that keeps a spreadsheet from taking them for formulas."""
    quoted = pc.call_function("starts_with", [column], pc.MatchSubstringOptions("'"))
    if not pc.call_function("any", [quoted]).as_py():
        return column
    options = pc.ReplaceSubstringOptions(f"^'({FORMULA})", r"\1")
    return pc.call_function("replace_substring_regex", [column], options)


def _explained(path: Path, n_fields: int, reason: str) -> FileError:
    """Find what is wrong with a file that pyarrow could not read, line by line."""
    if "UTF8" in reason:
        return _not_utf8(path)
    wrong = [(line, len(fields)) for line, fields in _records(path) if len(fields) != n_fields]
    if not wrong:
        return FileError(f"{path} cannot be read as CSV: {reason.splitlines()[0]}.")
    (line, count), more = wrong[0], len(wrong) - 1
    return FileError(
        f"{path} line {line} has {count} field{'s' * (count != 1)} where the header has {n_fields}"
        f"{f' (and {more:,} more such lines)' if more else ''}: give every line the fields of the "
        "header, "
        "and put quotes around a label that holds the separator."
    )


def _records(path: Path, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield every record, header first, with the line that it starts on (no blank lines)."""
    with (
        open_bytes(path) as file,
        io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text,
    ):
        reader = csv.reader(text, delimiter=_delimiter(path), strict=strict)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except csv.Error as error:
            if not strict or "unexpected end" in str(error):
                raise FileError(
                    f"{path} line {start}: a quote opens here and never closes: close or remove it."
                ) from None


def _check_quotes(path: Path) -> None:
    """Look for a quote that never closes: it would hide the lines after it."""
    with open_bytes(path) as file:
        odd = sum(block.count(b'"') for block in iter(lambda: file.read(_BLOCK), b"")) % 2
    if odd:
        for _ in _records(path, strict=True):
            pass


def _line_of(path: Path, row: int) -> int:
    """Return the line that a row, counted from 0 after the header, starts on."""
    # the header is number −1
    return next(line for number, (line, _) in enumerate(_records(path), start=-1) if number == row)


def _not_utf8(path: Path) -> FileError:
    with (
        open_bytes(path) as file,
        io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text,
    ):
        line = next(number for number, line in enumerate(text, start=1) if not _is_utf8(line))
    return FileError(
        f"{path} line {line} is not UTF-8 text: save the file with the encoding UTF-8."
    )


def _is_utf8(text: str) -> bool:
    """Whether text decoded with surrogateescape came from proper UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _delimiter(path: Path) -> str:
    return DELIMITERS[unpacked_name(path)[-4:]]
