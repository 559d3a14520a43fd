"""Names of items: what may be one, and the list in a file."""

import io
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

from mallowmix.errors import DataError, FileError
from mallowmix.readers.csv_rows import csv_rows
from mallowmix.readers.inputs import unreadable_text

LONGEST = 120
MOST_ITEMS = 2000
# Letters and symbols by their category that show nothing: fillers of Hangul, a blank of Braille.
_BLANK = set("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Marks, and code points that no character has yet, which show nothing by themselves: Unicode's
# Default_Ignorable_Code_Point without the category Cf.
_IGNORED = re.compile(
    r"[\u034f\u180b-\u180d\u180f\u2065\ufe00-\ufe0f\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# What of all this has a task where it stands.
_MEANT = re.compile(
    # It joins or separates two letters of Persian or Hindi, or the parts of an emoji. Between two
    # letters of Latin it would make two names that look the same.
    r"(?<=[^\u0000-\u02ff])[\u200c\u200d](?=[^\u0000-\u02ff])"
    r"|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"  # the flag of England, say
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"  # a digit on a key
    # a form of a Chinese character, or of a Mongolian letter
    r"|(?<=[\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    r"[\U000e0100-\U000e01ef]"
    r"|(?<=[\u1820-\u1878\u1880-\u1884\u1887-\u18aa])[\u180b-\u180d\u180f]"
)
_TEXT_OR_PICTURE = "\ufe0e\ufe0f"  # how the symbol before it is shown, as that of a red heart
_PICTURES = "\u203c\u2049\u2139\u3030"  # and no symbols: two marks, the i of information, a wave


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
    plain = _without_meant(name)
    for letter in plain:
        # Cc control, Cf format (also what turns the direction of text), Cs half a character
        if (
            unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")
            or letter in _BLANK
            or _IGNORED.match(letter)
        ):
            raise DataError(
                f"The name of an item has an invisible or control character in it "
                f"(U+{ord(letter):04X}): use letters, digits and punctuation."
            )
    if not any(unicodedata.category(letter)[0] in "LNPS" for letter in plain):
        raise DataError("The name of an item shows nothing: give it some text.")


def _without_meant(name: str) -> str:
    """Return a name without those invisible characters that have a task where they stand."""
    meant = {n for found in _MEANT.finditer(name) for n in range(*found.span())}
    for n, (sign, letter) in enumerate(pairwise(name), 1):
        if letter in _TEXT_OR_PICTURE and _may_be_picture(sign):
            meant.add(n)
    return "".join(letter for n, letter in enumerate(name) if n not in meant)


def _may_be_picture(sign: str) -> bool:
    return sign in _PICTURES or (not sign.isascii() and unicodedata.category(sign)[0] == "S")


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
