"""Random files into every parser: good ones are read, spoilt ones refused in our own errors.

python -m benchmarks.fuzz_readers [--inputs 100000] [--only NAME ...] [--minutes 30]
    [--finished FILE]

reads so many files of each form and ending, and keeps counts in benchmarks/results/
fuzz_readers.json. It may be stopped after some minutes; what was read stands in FILE (fuzz_readers.
jsonl there), and the next call goes on; forms whose reader, or what all of them share, has changed
since begin anew.

Of eight inputs two are good files and must be read, with all their comparisons where they are
plain; four are tables that were spoilt and written as good files are; of two the bytes were cut,
spliced, doubled and overwritten. The same number gives the same input. They are read in child
processes that may use so much memory and time, so that a crash of a library is seen.
"""

import argparse
import hashlib
import importlib
import json
import math
import os
import pkgutil
import resource
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from benchmarks.fuzz_inputs import read_some
from benchmarks.record import RESULTS, about, save
from benchmarks.valid_files import KINDS
from mallowmix import readers
from mallowmix.paper.provenance import imported_modules, run_record

CHUNK = 5000  # inputs that one child process reads
MOST_BYTES = 8 << 30  # of addresses that a child may have
MOST_GROWN = 512 << 20  # of memory that all inputs of a child may add
# where the code is that makes inputs and reads them
_DECIDING = ("mallowmix.readers", "mallowmix.data", "mallowmix.errors", "benchmarks.fuzz_inputs")
_DECIDING += ("benchmarks.spoilt_tables", "benchmarks.table_bytes", "benchmarks.valid_files")
# readers that only open files of these endings: of others they decide nothing. A module of which
# every path is asked something (sql, preflib, movielens), or that others borrow from (json_lines),
# is not among them
_TEXTS = (".csv", ".tsv", ".csv.gz", ".csv.zst")
_ONLY_FOR = {
    "mallowmix.readers.csv_files": _TEXTS,
    "mallowmix.readers.csv_quotes": _TEXTS,
    "mallowmix.readers.excel_files": (".xlsx",),
    "mallowmix.readers.json_files": (".json",),
    "mallowmix.readers.mat_files": (".mat",),
    "mallowmix.readers.page_sizes": (".parquet",),
    "mallowmix.readers.parquet_batches": (".parquet",),
    "mallowmix.readers.parquet_files": (".parquet",),
}


class Piece(NamedTuple):
    """Inputs of one form, which one child process reads."""

    name: str
    first: int
    last: int


def pieces(inputs: int, names: list[str]) -> list[Piece]:
    """All forms in turn, so that they have as many inputs each when a run is stopped."""
    starts = range(0, inputs, CHUNK)
    return [Piece(name, a, min(inputs, a + CHUNK)) for a in starts for name in names]


def read_pieces(wanted: list[Piece], file: Path | None, minutes: float) -> dict[Piece, Any]:
    """What child processes counted, or had counted, as many at a time as there are cores.

    None is begun after so many minutes.
    """
    states, lock = {name: _state(name) for name in {piece.name for piece in wanted}}, Lock()
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    kept = [row for row in rows if row["state"] == states.get(row["piece"][0])]
    done: dict[Piece, Any] = {Piece(*row["piece"]): row["part"] for row in kept}
    end = time.monotonic() + 60 * minutes

    def one(piece: Piece) -> None:
        if time.monotonic() < end:
            done[piece] = _child(*piece)
            if file is not None:
                row = {"piece": piece, "state": states[piece.name]}
                row |= {"commit": run_record()["commit"], "part": done[piece]}
                with lock, file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, [piece for piece in wanted if piece not in done]))
    return done


def _state(name: str) -> str:
    """Of the code that makes inputs of a form and reads them: another one may read otherwise."""
    import_readers()
    code = [each for each in imported_modules().items() if _decides(each[0], name)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


def _decides(module: str, name: str) -> bool:
    """Whether a module plays a part in what comes out of a form."""
    return module.startswith(_DECIDING) and name.endswith(_ONLY_FOR.get(module, name))


def run(
    inputs: int, names: list[str], file: Path | None = None, minutes: float = math.inf
) -> dict[str, Any]:
    """So many inputs of each form, or as many of each as can be read in so many minutes."""
    wanted = pieces(inputs, names)
    done = read_pieces(wanted, file, minutes)
    # the same number of each form: up to the first piece that is missing in any
    inputs = min((piece.first for piece in wanted if piece not in done), default=inputs)
    forms: dict[str, Counter[str]] = {name: Counter() for name in names}
    foreign, crashes, slowest, grown = {}, [], 0.0, 0
    for name, first, last in (piece for piece in wanted if piece.last <= inputs):
        part = done[Piece(name, first, last)]
        if isinstance(part, str):
            crashes.append({"form": name, "inputs": [first, last], "said": part})
            continue
        forms[name].update(part["found"])
        foreign |= part["foreign"]
        slowest, grown = max(slowest, part["slowest_seconds"]), max(grown, part["grown_bytes"])
    total = sum(forms.values(), Counter())
    counts = {"inputs": inputs * len(names), "inputs_a_form": inputs, "found": dict(total)}
    counts |= {"forms": {name: dict(found) for name, found in forms.items()}}
    counts |= {"foreign": foreign, "crashes": crashes}
    return {"about": about()} | counts | {"slowest_seconds": slowest, "grown_bytes": grown}


def _child(name: str, first: int, last: int) -> dict[str, Any] | str:
    """What a child process counted; what it said where it did not come back."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.fuzz_readers",
        "--child",
        name,
        str(first),
        str(last),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    return json.loads(done.stdout.splitlines()[-1])


def import_readers() -> None:
    """Import what the child processes ran, so that it stands in the record of this one."""
    for found in pkgutil.walk_packages(readers.__path__, f"{readers.__name__}."):
        importlib.import_module(found.name)


def main() -> None:
    """Fuzz, and keep the counts; the exit code says whether anything foreign came out."""
    parser = argparse.ArgumentParser("python -m benchmarks.fuzz_readers", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many files of each form")
    parser.add_argument("--only", nargs="*", choices=list(KINDS), help="forms, all unless given")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin none after them")
    parser.add_argument("--finished", type=Path, default=RESULTS / "fuzz_readers.jsonl")
    parser.add_argument("--unsaved", action="store_true", help="keep no counts")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        name, first, last = options.child
        print(json.dumps(read_some(name, int(first), int(last))))
        return
    names = options.only or list(KINDS)
    result = run(options.inputs, names, options.finished, options.minutes)
    if not options.unsaved:
        import_readers()
        save("fuzz_readers", result, RESULTS)
    for each in (*result["foreign"].items(), *result["crashes"]):
        print(each, file=sys.stderr)
    print(result["slowest_seconds"], result["grown_bytes"], file=sys.stderr)
    wrong = result["foreign"] or result["crashes"] or result["grown_bytes"] > MOST_GROWN
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
