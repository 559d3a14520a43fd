"""Rows in a CSV file that grows one by one, so that a long run can stop anywhere and go on from there."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mallowmix.errors import FileError

Row = dict[str, Any]


def read_log(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of an earlier run, as text; a last line that was cut short is dropped from the file. No file, no rows."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8", newline="\n")
    lines = csv.DictReader(whole.splitlines())
    if whole and list(lines.fieldnames or ()) != list(columns):
        raise FileError(
            f"{path} has other columns than this version writes ({', '.join(columns)}). "
            "Move it away, or name another folder with -o."
        )
    return list(lines)


def append_row(path: Path, row: Row) -> None:
    """Add one row, and the heading before the first; it is on its way to the disk when this returns."""
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, list(row), lineterminator="\n")
            if file.tell() == 0:
                lines.writeheader()
            lines.writerow(row)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
