"""Quotes in a CSV file that stand where none may: they can join rows without an error.

Of ``u1,"tea,milk`` and ``u2,"tea,water`` in two lines, a reader makes one row: its second field
goes from the first quote over the end of the line to the second quote. Such rows are refused with
their line. A quote that stands wrong and joins nothing is counted, and a warning says so.
"""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from mallowmix.errors import FileError
from mallowmix.readers.compressed import open_bytes
from mallowmix.readers.csv_rows import is_long, long_field
from mallowmix.readers.text_format import TextDialect

_BLOCK = 1 << 20
_QUOTE, _ENDS, _MARK = ord('"'), b'\r\n"', b"\xef\xbb\xbf"  # a quote is written as two


def misplaced_quotes(dialect: TextDialect) -> str:
    """Look for quotes that stand where none may.

    Parameters
    ----------
    dialect : TextDialect
        The file, and how it is written.

    Returns
    -------
    str
        The first line with a misplaced quote that joins no rows, and how many more there are;
        empty where there is none.

    Raises
    ------
    FileError
        Where one joins rows, or a quote never closes.
    """
    if dialect.is_utf8 and _is_well_formed(dialect):
        return ""
    wrong = [line for line, rows in _records(dialect) if _is_misplaced(dialect, line, rows)]
    if not wrong:
        return ""
    more = f" (and {len(wrong) - 1:,} more such lines)" if len(wrong) > 1 else ""
    return f"{dialect.path} line {wrong[0]} has text after a closing quote{more}"


def opened_text(dialect: TextDialect) -> io.TextIOWrapper:
    """Open a file as text; bytes that are none become lone surrogates."""
    errors = "surrogateescape" if dialect.is_utf8 else "strict"
    encoding = "utf-8-sig" if dialect.is_utf8 else dialect.encoding
    return io.TextIOWrapper(open_bytes(dialect.path), encoding, errors, newline="")


def never_closes(path: Path, line: int) -> FileError:
    """Say that a quote which opens in a line is the last of the file."""
    return FileError(
        f"{path} line {line}: a quote opens here and never closes: close or remove it."
    )


def odd_quotes(dialect: TextDialect, line: int) -> bool:
    """Return whether one quote too many stands in a line or after it."""
    with opened_text(dialect) as text:
        return sum(content.count('"') for content in islice(text, line - 1, None)) % 2 == 1


def _is_well_formed(dialect: TextDialect) -> bool:
    """Whether every quote, taken in turn as opening and closing, stands at an end of a field.

    Quotes within a field that does not begin with one are well formed, too, and are not known here.
    """
    separator = dialect.separator.encode()
    before, after = np.zeros(256, bool), np.zeros(256, bool)  # whether a byte may stand there
    before[list(_ENDS + separator[-1:])] = after[list(_ENDS + separator[:1])] = True
    last, n_quotes = ord("\n"), 0  # the byte before the block, the quotes before it
    with open_bytes(dialect.path) as file:
        block = file.read(_BLOCK).removeprefix(_MARK)
        while block:
            following = file.read(_BLOCK)
            data = np.frombuffer(block + (following[:1] or b"\n"), np.uint8)
            at = np.flatnonzero(data[:-1] == _QUOTE)
            opening, closing = at[n_quotes % 2 :: 2], at[1 - n_quotes % 2 :: 2]
            left = np.where(opening > 0, data[opening - 1], last)
            if not (before[left].all() and after[data[closing + 1]].all()):
                return False
            n_quotes += len(at)
            last, block = data[-2], following
    return n_quotes % 2 == 0


def _records(dialect: TextDialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line's number and the lines of each record, as a lenient reader takes them.

    A field that is too long for Python is passed over where it is in one line without quotes.
    """
    with opened_text(dialect) as text:
        lines: list[str] = []
        reader = csv.reader(_kept(text, lines), delimiter=dialect.separator)
        while True:
            first = reader.line_num + 1
            lines.clear()
            try:
                next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if is_long(error) and '"' in "".join(lines):
                    raise _too_long(dialect, first, lines) from None
            yield first, lines


def _kept(text: io.TextIOWrapper, lines: list[str]) -> Iterator[str]:
    for line in text:
        lines.append(line)
        yield line


def _too_long(dialect: TextDialect, first: int, lines: list[str]) -> FileError:
    if odd_quotes(dialect, first):
        return never_closes(dialect.path, first)
    return _joined(dialect, first, lines) if len(lines) > 1 else long_field(dialect.path, first)


def _is_misplaced(dialect: TextDialect, first: int, lines: list[str]) -> bool:
    """Whether a record has a quote that stands wrong; a FileError where that joins lines."""
    try:
        for _ in csv.reader(lines, delimiter=dialect.separator, strict=True):
            pass
    except csv.Error as error:
        if is_long(error):
            return False
        if "unexpected end" in str(error):
            raise never_closes(dialect.path, first) from None
        if len(lines) > 1:
            raise _joined(dialect, first, lines) from None
        return True
    return False


def _joined(dialect: TextDialect, first: int, lines: list[str]) -> FileError:
    return FileError(
        f"{dialect.path} line {first}: a quote opens here, and the next one, in line "
        f"{first + len(lines) - 1}, does not end its field, so that these lines would be one row: "
        "close or remove the quote, and write a quote inside of quotes twice."
    )
