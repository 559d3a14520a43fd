"""Rows in a CSV file that grows one by one, so that a long run can stop and continue."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mallowmix.data.atomic_write import replacing
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
        Rows that were computed before belong to the later run; of runs that differ in nothing but
        their rows, one record is kept.
    """
    runs = []
    for run in read_runs(path):
        run["rows"] = [key for key in run["rows"] if key not in record["rows"]]
        if {**run, "rows": []} == {**record, "rows": []}:
            record = {**record, "rows": run["rows"] + record["rows"]}
        elif run["rows"]:
            runs.append(run)
    text = json.dumps([*runs, record], indent=1, ensure_ascii=False) + "\n"
    with replacing(runs_file(path)) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_runs(path: Path) -> list[dict[str, Any]]:
    """Read how the rows of a CSV file came about; nothing where there is no such file.

    Parameters
    ----------
    path : Path
        The CSV file.

    Returns
    -------
    list of dict
        As `add_run` was given them.
    """
    file = runs_file(path)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
