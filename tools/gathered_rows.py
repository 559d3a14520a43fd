"""Rows of many processes into one CSV file: each has a folder of its own, and one process gathers.

A folder begins as a copy of the rows that are known. What its process adds is appended to the one
file as it comes, whole lines only, each row once; the records of where rows come from follow when
the process has ended. What a run that was cut off has left is gathered by the next one.
"""

import csv
import shutil
from pathlib import Path

from mallowmix.paper.registry import EXPERIMENTS
from mallowmix.paper.result_log import add_run, append_row, read_log, read_runs

FOLDER = ".pieces"  # in that of the results: it holds one folder for each process


def done_keys(folder: Path, experiment: str) -> set[tuple[str, ...]]:
    """The keys of the rows that the CSV file of an experiment holds."""
    known = EXPERIMENTS[experiment].load()
    rows = read_log(folder / f"{experiment}.csv", known.columns)
    return {known.key_of(row) for row in rows}


def begin(folder: Path, experiment: str, slug: str) -> Path:
    """Make the folder of a process, with the rows that are known.

    Parameters
    ----------
    folder : Path
        Where the results are.
    experiment : str
        Which experiment's.
    slug : str
        The name of the folder.

    Returns
    -------
    Path
        The folder.
    """
    own, file = folder / FOLDER / slug, f"{experiment}.csv"
    own.mkdir(parents=True, exist_ok=True)
    if (folder / file).exists():
        done_keys(folder, experiment)  # removes a line that was cut short
        shutil.copyfile(folder / file, own / file)
    return own


def gather(folder: Path, own: Path) -> int:
    """Append the new rows of a process, which may be running, to the one file.

    Parameters
    ----------
    folder : Path
        Where the results are.
    own : Path
        The folder of the process.

    Returns
    -------
    int
        How many rows were new.
    """
    experiment = own.name.partition("-")[0]
    known, done, n_new = EXPERIMENTS[experiment].load(), done_keys(folder, experiment), 0
    for row in _whole_rows(own / f"{experiment}.csv"):
        if known.key_of(row) not in done:
            append_row(folder / f"{experiment}.csv", row)
            done.add(known.key_of(row))
            n_new += 1
    return n_new


def finish(folder: Path, own: Path) -> int:
    """Gather the rows and records of a process that has ended, and remove its folder.

    Returns
    -------
    int
        How many rows were new.
    """
    n_new = gather(folder, own)
    file = f"{own.name.partition('-')[0]}.csv"
    for record in read_runs(own / file):
        add_run(folder / file, record)
    shutil.rmtree(own)
    if not any(own.parent.iterdir()):
        own.parent.rmdir()
    return n_new


def finish_all(folder: Path) -> int:
    """Gather what processes have left that were cut off; the number of new rows."""
    left = folder / FOLDER
    return sum(finish(folder, own) for own in sorted(left.iterdir())) if left.exists() else 0


def _whole_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file that another process may be writing: no line that is not at its end."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))
