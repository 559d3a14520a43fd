"""Rows in a CSV file that grows one by one, so that a long run can stop and continue."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mallowmix.errors import FileError, Option
from mallowmix.paper.experiment import Row, TextRow


def read_log(path: Path, columns: Sequence[str]) -> list[TextRow]:
    """Read the rows of earlier runs; a last line that was cut short is removed from the file.

    Parameters
    ----------
    path : Path
        The CSV file; where there is none, there are no rows.
    columns : sequence of str
        The columns that it must have.

    Returns
    -------
    list of dict
        The rows, as text.
    """
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8", newline="\n")
    lines = csv.DictReader(whole.splitlines())
    if whole and list(lines.fieldnames or ()) != list(columns):
        raise FileError(
            f"{path} has other columns than this version writes ({', '.join(columns)}). ",
            "Move it away, or name another folder with ",
            Option("output"),
            ".",
        )
    return list(lines)


def append_row(path: Path, row: Row) -> None:
    """Add one row to the file, and the heading before the first.

    Parameters
    ----------
    path : Path
        The CSV file.
    row : dict
        The values by column.
    """
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, list(row), lineterminator="\n")
            if file.tell() == 0:
                lines.writeheader()
            lines.writerow(row)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None


def runs_file(path: Path) -> Path:
    """The file beside a CSV file that says how its rows came about: ``fig4.runs.json``."""
    return path.with_suffix(".runs.json")


def add_run(path: Path, record: dict[str, Any]) -> None:
    """Add how some rows came about to the file beside a CSV file.

    Parameters
    ----------
    path : Path
        The CSV file.
    record : dict
        The rows (``rows``, keys as lists) and where they come from (`provenance.run_record`).
        Rows that were computed before belong to the later run.
    """
    file = runs_file(path)
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    for run in runs:
        run["rows"] = [key for key in run["rows"] if key not in record["rows"]]
    runs = [run for run in runs if run["rows"]] + [record]
    text = json.dumps(runs, indent=1, ensure_ascii=False) + "\n"
    file.write_text(text, encoding="utf-8", newline="\n")
