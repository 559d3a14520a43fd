"""Rows of a small CSV file, and what to say about a field that is too long for Python's `csv`."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from mallowmix.data.spreadsheet_text import unescaped
from mallowmix.errors import FileError


def csv_rows(
    lines: Iterable[str], path: Path, *, separator: str = ",", strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not an empty line, escapes undone, with the line that it starts on.

    Parameters
    ----------
    lines : iterable of str
        The text, such as a file opened with ``newline=""``.
    path : Path
        Where it comes from, for messages.
    separator : str
        What stands between two fields.
    strict : bool
        Whether a misplaced quote is an error.

    Raises
    ------
    FileError
        Where a field is too long, or a quote is misplaced.
    """
    reader, start = csv.reader(lines, delimiter=separator, strict=strict), 1
    try:
        for fields in reader:
            if fields:
                yield start, [unescaped(field) for field in fields]
            start = reader.line_num + 1
    except csv.Error as error:
        if is_long(error):
            raise long_field(path, start) from None
        raise FileError(
            f"{path} line {start} cannot be read as CSV ({error}): close every quote."
        ) from None


def check_one_line(fields: Iterable[str], path: Path, line: int) -> None:
    """Raise a FileError where a field goes over the end of its line: two rows may be one so."""
    for field in fields:
        if "\n" in field or "\r" in field:
            raise FileError(
                f"{path} line {line}: a quote opens here and closes in a later line, so that these "
                "lines would be one row: close every quote in its line."
            )


def is_long(error: csv.Error) -> bool:
    """Return whether Python's limit for one field was the reason."""
    return "field limit" in str(error)


def long_field(path: Path, line: int) -> FileError:
    """Say that a field is longer than can be read."""
    return FileError(
        f"{path} line {line}: a field has more than {csv.field_size_limit():,} characters, the "
        "most that can be read: shorten it or remove its column, and close every quote."
    )
