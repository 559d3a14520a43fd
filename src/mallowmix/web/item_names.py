"""Names of items: what may be one, and the list in a file."""

import csv
import unicodedata
from pathlib import Path

from mallowmix.errors import DataError, FileError

LONGEST = 120
MOST_ITEMS = 2000
# would turn the text around them, too
_TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


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
    if any(unicodedata.category(letter) in ("Cc", "Cs") or letter in _TURNING for letter in name):
        raise DataError(
            "The name of an item has a control character in it: use letters, digits and "
            "punctuation."
        )
    return name


def read_items(path: Path) -> list[str]:
    """Read one item a line, or the column `item` (or `name`, or the first) of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if any(field.strip() for field in row)]
    except FileNotFoundError:
        raise FileError(f"There is no file {path}: check the name and the folder.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} cannot be read as a list of items in UTF-8: {error}.") from None
    header = [field.strip().lower() for field in rows[0]] if rows else []
    column = next((header.index(word) for word in ("item", "name") if word in header), None)
    names = [row[column or 0] for row in rows[column is not None :] if len(row) > (column or 0)]
    return _distinct([_named(path, n, name) for n, name in enumerate(names, 1)], path)


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
