"""What an earlier run of a study left in its result file, where the same code made it.

A study that takes hours goes on where it stopped. A result file has one record of where it comes
from, so a run may only add to what the same code has made from a clean tree.
"""

from pathlib import Path
from typing import Any

from benchmarks.record import load
from mallowmix.paper.provenance import changed_modules

ROOT = Path(__file__).resolve().parents[1]


def earlier(name: str, folder: Path, root: Path = ROOT) -> dict[str, Any]:
    """The result of an earlier run, without its record; empty where there is none to go on with.

    Nothing is kept of a file without a record, of a tree with changes, or of other code: a record
    of this run would then say of old rows what is not so.

    Parameters
    ----------
    name : str
        The result file, without ``.json``.
    folder : Path
        Where it is.
    root : Path
        The repository whose code runs now.
    """
    found = load(name, folder)
    record = found.get("record") if isinstance(found, dict) else None
    if found is None or record is None or not record["clean"]:
        return {}
    if changed_modules(record["modules"], root):
        return {}
    return {key: value for key, value in found.items() if key != "record"}
