"""One cheap row of each result file, run again: `python -m tools.cheap_rows [--data DIR]`.

A result file that was made by other code than today's is stale. To make all of them anew takes
nights; a cheap row of each takes minutes, and shows whether the change moved its numbers.
tools/cheap_rows.toml names a command for each file, which numbers of what it makes are compared
with those of the file, and how far they may differ. What was found is kept in
benchmarks/results/cheap_rows.json with a hash of the code; `make claims` (tools/claims.py) then
says "checked" of such a file instead of "stale", until the code changes again.

Rows that agreed with today's code are not run again. DIR holds llmfao/, irish/ and ml-1m/; without
it, rows of real people are left out.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mallowmix.paper.provenance import hashes_today
from tools.result_values import json_part, part_of, results
from tools.timed_command import HERE

KEPT, RESULTS_VARIABLE = "cheap_rows.json", "MALLOWMIX_RESULTS"
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOWMIX_N_JOBS": "1"}
Row = Mapping[str, Any]


class Number(NamedTuple):
    """A number of a result file beside the same of a run with today's code."""

    name: str
    stands: float
    found: float
    within: float

    @property
    def agrees(self) -> bool:
        """Whether they differ by no more than they may."""
        return math.isfinite(self.found) and abs(self.found - self.stands) <= self.within + 1e-12


class Rerun(NamedTuple):
    """A cheap row of a result file, run again with the code of a hash."""

    file: str
    code: str
    numbers: tuple[Number, ...]
    new_modules: tuple[str, ...] = ()  # which it imports, and the run that made the file did not

    @property
    def agrees(self) -> bool:
        """Whether there are numbers, and all of them do."""
        return bool(self.numbers) and all(number.agrees for number in self.numbers)


def main() -> int:
    """Run what was not run with today's code; the exit code says whether all agree."""
    given = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    entries = entries_of(HERE)
    waiting = [
        name
        for name in given.only or entries
        if (given.data or "{data}" not in entries[name]["command"]) and not checked(name, HERE)
    ]
    agree = True
    with ThreadPoolExecutor(given.n_jobs) as pool:
        runs = {pool.submit(run_again, name, entries[name], HERE, given.data) for name in waiting}
        try:
            for done in as_completed(runs):
                rerun = done.result()
                keep(rerun, HERE)
                agree &= rerun.agrees
                print(said(rerun), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)  # or all that wait would still be run
            print("stopped: rows that were compared are kept; run it again for the others")
            return 130
    return int(not agree)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="holds llmfao/, irish/ and ml-1m/")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(entries_of(HERE)),
        metavar="FILE",
        help="these result files alone",
    )
    parser.add_argument("--n-jobs", type=int, default=1, help="how many rows at a time")
    given = parser.parse_args()
    if given.n_jobs < 1:
        parser.error(f"--n-jobs is {given.n_jobs}; at least one row is run at a time")
    if given.data and not given.data.is_dir():
        parser.error(f"--data: there is no folder {given.data} (of llmfao/, irish/, ml-1m/)")
    return given


def entries_of(root: Path) -> dict[str, Any]:
    """The cheap row of each result file, by its name."""
    file = root / "tools" / "cheap_rows.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def run_again(name: str, entry: Row, root: Path, data: Path | None) -> Rerun:
    """Run the command of an entry, and compare what it makes with the file.

    A command that fails, or makes no such number, disagrees: what was found is not a number.
    """
    code = code_today(name, root, entry)
    with tempfile.TemporaryDirectory() as folder:
        filled = entry["command"].format(folder=folder, data=data.resolve() if data else "")
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(filled)],
            cwd=root, env={**os.environ, **_ONE_THREAD, RESULTS_VARIABLE: folder},
            capture_output=True, text=True,
        )  # fmt: skip
        made = Path(folder) / entry.get("made", name)
        if done.returncode or not made.exists():
            print(done.stderr[-2000:], file=sys.stderr)
            return Rerun(name, code, (Number(entry["command"], 0.0, math.nan, 0.0),))
        if code_today(name, root, entry) != code:
            return Rerun(name, code, (Number("the code changed meanwhile", 0.0, math.nan, 0.0),))
        new = tuple(sorted(_modules(made) - _modules(results(root, name))))
        numbers = tuple(compared(results(root, name), made, entry))
        return Rerun(name, code_today(name, root, entry, new), numbers, new)


def compared(stands: Path, made: Path, entry: Row) -> Iterable[Number]:
    """The numbers of an entry in both files: at the paths of `numbers`, or in rows of one key."""
    for path, within in entry.get("numbers", {}).items():
        yield Number(path, *(_at(file, path) for file in (stands, made)), within)
    if "within" not in entry:
        return
    old = {_key(row, entry["key"]): row for row in _rows(stands, entry)}
    for row in _rows(made, entry):
        key = _key(row, entry["key"])
        for column, within in entry["within"].items():
            if key in old and (found := _column(row, column)) not in (None, ""):
                label = " ".join((*key, column))
                yield Number(label, _number(_column(old[key], column)), _number(found), within)


def _column(row: Row, column: str) -> Any:
    """A value of a row; "full.error" is in the part of it that is called "full"."""
    try:
        return part_of(row, column)
    except (KeyError, IndexError, TypeError):
        return None


def checked(name: str, root: Path) -> bool:
    """Whether a cheap row of a file was run with today's code, and agrees with it."""
    kept = _kept(root).get(name)
    return bool(kept) and kept["agrees"] and _is_of_today(name, kept, root)


def disagreeing(root: Path) -> list[str]:
    """Files whose cheap row was run with today's code, and has another number."""
    return [
        f"{name}: {kept['found']}"
        for name, kept in _kept(root).items()
        if not kept["agrees"] and _is_of_today(name, kept, root)
    ]


def _is_of_today(name: str, kept: Row, root: Path) -> bool:
    entry = entries_of(root).get(name, {})
    return kept["code"] == code_today(name, root, entry, kept["new_modules"])


def code_today(name: str, root: Path, entry: Row, new_modules: Iterable[str] = ()) -> str:
    """Eight hexadecimal digits of today's code, of all modules that a file was made by.

    Parameters
    ----------
    name : str
        The result file.
    root : Path
        The repository.
    entry : mapping
        The cheap row: what is compared, and how far it may differ, counts like code.
    new_modules : iterable of str
        Others, which a run imports today.
    """
    names = sorted(_modules(results(root, name)) | set(new_modules))
    text = json.dumps([hashes_today(names, root), entry], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _modules(file: Path) -> set[str]:
    return {name for record in records_of(file) for name in record["modules"]}


def records_of(file: Path) -> list[dict[str, Any]]:
    """Where a result file comes from: of JSON its own record, of a CSV file those beside it."""
    if file.suffix == ".csv":
        beside = file.with_suffix(".runs.json")
        return json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else []
    found = json.loads(file.read_text(encoding="utf-8"))
    return [found["record"]] if isinstance(found, dict) and "record" in found else []


def keep(rerun: Rerun, root: Path) -> None:
    """Add what was found to the others."""
    kept = _kept(root) | {
        rerun.file: {
            "agrees": rerun.agrees,
            "code": rerun.code,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "command": entries_of(root)[rerun.file]["command"],
            "numbers": len(rerun.numbers),
            "found": said(rerun),
            "new_modules": list(rerun.new_modules),
        }
    }
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    results(root, KEPT).write_text(text + "\n", encoding="utf-8")


def said(rerun: Rerun) -> str:
    """A line about a rerun: the number that differs most, in units of what it may."""
    if not rerun.numbers:
        return f"{rerun.file}: there is no number to compare"
    far = max(rerun.numbers, key=_how_far)
    word = "agrees" if rerun.agrees else "DISAGREES"
    return (
        f"{rerun.file}: {word}: of {len(rerun.numbers)} numbers the farthest is {far.name}: "
        f"{far.found:.6g}, where the file has {far.stands:.6g} (may differ by {far.within:g})"
    )


def _how_far(number: Number) -> float:
    difference = abs(number.found - number.stands)
    return math.inf if math.isnan(difference) else difference / max(number.within, 1e-12)


def _kept(root: Path) -> dict[str, Any]:
    file = results(root, KEPT)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _rows(file: Path, entry: Row) -> list[Row]:
    if file.suffix == ".json":
        found = json_part(file, entry.get("rows", "rows"))
        return (
            [{"name": name, **row} for name, row in found.items()]
            if isinstance(found, dict)
            else found
        )
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _key(row: Row, columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(str(row[column]) for column in columns)


def _at(file: Path, path: str) -> float:
    try:
        return _number(json_part(file, path))
    except (KeyError, IndexError, TypeError):
        return math.nan


def _number(value: Any) -> float:
    """A number; of a list its length; nan where there is none."""
    if isinstance(value, list):
        return float(len(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


if __name__ == "__main__":
    sys.exit(main())
