"""Names of items: what may be one, and the list in a file."""

import io
import re
import unicodedata
from pathlib import Path

from mallowmix.errors import DataError, FileError
from mallowmix.readers.csv_rows import csv_rows
from mallowmix.readers.inputs import unreadable_text

LONGEST = 120
MOST_ITEMS = 2000
# Letters and symbols by their category that show nothing: fillers of Hangul, a blank of Braille.
_BLANK = set("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# What joins or separates two letters of Persian or Hindi, or the parts of an emoji. Between two
# letters of Latin it would make two names that look the same.
_JOINED = re.compile("(?<=[^\\u0000-\\u02ff])[\\u200c\\u200d](?=[^\\u0000-\\u02ff])")
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f")  # of England, say


def clean_name(text: str) -> str:
    """Normalise a name (single spaces, NFC); a DataError says why something cannot be a name."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise DataError("The name of an item is empty: give it some text.")
    if len(name) > LONGEST:
        raise DataError(
            f"The name {name[:30]!r}… has {len(name)} characters; at most {LONGEST} fit on "
            "a button."
        )
    check_visible(name)
    return name


def check_visible(name: str) -> None:
    """Raise a DataError where a name has characters that nobody sees, or that turn text around.

    Examples
    --------
    >>> check_visible("crème brûlée")
    """
    plain = _FLAG.sub("", _JOINED.sub("", name))
    for letter in plain:
        # Cc control, Cf format (also what turns the direction of text), Cs half a character
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or letter in _BLANK:
            raise DataError(
                f"The name of an item has an invisible or control character in it "
                f"(U+{ord(letter):04X}): use letters, digits and punctuation."
            )
    if not any(unicodedata.category(letter)[0] in "LNPS" for letter in plain):
        raise DataError("The name of an item shows nothing: give it some text.")


def read_items(path: Path) -> list[str]:
    """Read one item a line, or the column `item` (or `name`) of a CSV file whose header has one.

    A line of a list is an item as it is, commas and quotes included; quotes around a whole line are
    taken off.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable_text(path, "a list of items", error) from None
    lines = [line for line in text.splitlines() if line.strip()]
    _, first = next(csv_rows(lines[:1], path), (1, []))
    header = [field.strip().lower() for field in first]
    if {"winner", "loser"} <= set(header):
        raise DataError(
            f"{path} holds comparisons, not items: give a file with one item a line, or learn a "
            "model of them first and serve that."
        )
    column = next((header.index(word) for word in ("item", "name") if word in header), None)
    if column is not None and len(header) > 1:
        names = _column(text, column, len(header), path)
    else:
        names = [_unquoted(line) for line in lines[column is not None :]]
    return _distinct([_named(path, n, name) for n, name in enumerate(names, 1)], path)


def _column(text: str, column: int, width: int, path: Path) -> list[str]:
    """Return a column of a CSV file with a header; a line with too many fields is refused."""
    names = []
    for line, row in csv_rows(io.StringIO(text, newline=""), path, strict=True):
        if len(row) > width:
            raise FileError(
                f"{path} line {line} has {len(row)} fields where the header has {width}: put "
                "quotes around a name with a comma in it."
            )
        if any(field.strip() for field in row):
            names.append(row[column] if len(row) > column else "")
    return names[1:]


def _unquoted(line: str) -> str:
    """Return a line without the quotes around it, where they enclose it as one CSV field."""
    line = line.strip()
    if re.fullmatch(r'"(?:[^"]|"")*"', line):
        return line[1:-1].replace('""', '"')
    return line


def _named(path: Path, n: int, name: str) -> str:
    try:
        return clean_name(name)
    except DataError as error:
        raise DataError(f"{path}, item {n}: {error}") from None


def _distinct(names: list[str], path: Path) -> list[str]:
    names = list(dict.fromkeys(names))
    if not 2 <= len(names) <= MOST_ITEMS:
        raise DataError(
            f"{path} names {len(names)} items; a survey needs from 2 to {MOST_ITEMS:,}, one a line."
        )
    return names
