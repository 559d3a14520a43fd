"""Random files into every parser: good ones are read, spoilt ones refused in our own errors.

python -m benchmarks.fuzz_readers [--inputs 100000] [--only NAME ...] [--minutes 30]
    [--finished FILE]

reads so many files of each form and ending, and keeps counts in benchmarks/results/
fuzz_readers.json. It may be stopped after some minutes; what was read stands in FILE (fuzz_readers.
jsonl there), and the next call goes on, unless readers, data or this study have changed since.

Of eight inputs two are good files and must be read, with all their comparisons where they are
plain; four are tables that were spoilt and written as good files are; of two the bytes were cut,
spliced, doubled and overwritten. The same number gives the same input. They are read in child
processes that may use so much memory and time, so that a crash of a library is seen.
"""

import argparse
import contextlib
import gzip
import hashlib
import importlib
import json
import math
import os
import pkgutil
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from benchmarks.record import RESULTS, about, save
from benchmarks.spoilt_tables import spoilt
from benchmarks.valid_files import KINDS, Table
from mallowmix import readers
from mallowmix.paper.provenance import imported_modules, run_record

CHUNK = 5000  # inputs that one child process reads
SECONDS = 10  # for one input
MOST_BYTES = 8 << 30  # of addresses that a child may have
MOST_GROWN = 512 << 20  # of memory that all inputs of a child may add
# comparisons that one input may make: the guard is lowered from the machine's memory to this
MOST_ROWS = 1_000_000
# where the code is that makes inputs and reads them
_DECIDING = ("mallowmix.readers", "mallowmix.data", "mallowmix.errors", "benchmarks.fuzz_readers")
_DECIDING += ("benchmarks.spoilt_tables", "benchmarks.table_bytes", "benchmarks.valid_files")
GOOD, SPOILT, BYTES = (0, 4), (1, 2, 5, 6), (3, 7)  # numbers of inputs, modulo 8
WORDS = [*(bytes([each]) for each in b',\n"\t{}[]:|#\0\xff=>'), b"\r\n", b"\xef\xbb\xbf"]
WORDS += b"user winner loser weight left right outcome item rating rank ranking best".split()
WORDS += b"nan inf -1 0 1e308 999999999999 99999999999999999999 null true tie both_bad".split()
WORDS += [b"# NUMBER ALTERNATIVES: 3\n", b"# ALTERNATIVE NAME 1: a\n", b"5: 1,{2,3}\n"]
WORDS += [b"1::2::3::4\n", b"\xc3\x28", b"a" * 3000]


class Piece(NamedTuple):
    """Inputs of one form, which one child process reads."""

    name: str
    first: int
    last: int


class NotRead(Exception):
    """A good file was refused, or read as something else."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One to five random changes of bytes."""
    for _ in range(chance.choice((1, 1, 1, 1, 2, 5))):
        a, b = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
        b = min(b, a + chance.choice((1, 1, 4, 40)))
        middle = chance.choice(
            (
                b"",
                data[a:b] * 2,
                chance.choice(WORDS),
                bytes(chance.randrange(256) for _ in range(min(b - a, 16))),
                bytes(each ^ (1 << chance.randrange(8)) for each in data[a : a + 1])
                + data[a + 1 : b],
            )
        )
        data = data[:a] + middle + data[b:]
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.1 else data


def input_of(name: str, number: int) -> tuple[Table, bytes]:
    """The table that an input was made from, and its bytes."""
    chance, kind = random.Random(f"{name} {number}"), KINDS[name]
    table = kind.make(chance)
    if number % 8 in SPOILT:
        return table, kind.write(spoilt(table, chance))
    data = kind.write(table)
    if number % 8 in GOOD:
        return table, data
    if name.endswith(".gz") and chance.random() < 0.5:  # what is packed is spoilt
        return table, gzip.compress(mutated(gzip.decompress(data), chance), mtime=0)
    return table, mutated(data, chance)


def read_some(name: str, first: int, last: int) -> dict[str, Any]:
    """Read the inputs of these numbers; what came out, counted."""
    from mallowmix.errors import MallowmixError
    from mallowmix.readers import order_weights as shares

    shares.memory_bytes = lambda: 2.0 * MOST_ROWS * shares.ROW_BYTES
    signal.signal(signal.SIGALRM, _too_long)
    found, foreign, slowest = Counter(), {}, 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / name
        with contextlib.suppress(MallowmixError):  # what is loaded once does not count
            _try(path, *input_of(name, 0), is_good=False)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(first, last):
            table, data = input_of(name, number)
            begun = time.perf_counter()
            try:
                signal.alarm(SECONDS)
                _try(path, table, data, is_good=number % 8 in GOOD)
                found["read"] += 1
            except MallowmixError as error:
                found[type(error).__name__] += 1
            except BaseException as error:
                found["foreign"] += 1
                foreign[f"{name}: {type(error).__name__}: {str(error)[:200]}"] = number
            finally:
                signal.alarm(0)
                slowest = max(slowest, time.perf_counter() - begun)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {"found": found, "foreign": foreign, "slowest_seconds": slowest, "grown_bytes": grown}


def _try(path: Path, table: Table, data: bytes, *, is_good: bool) -> None:
    """Read an input; `NotRead` where it is good and does not come back."""
    from mallowmix.errors import MallowmixError
    from mallowmix.readers import read

    path.write_bytes(data)
    options = {"query": "SELECT * FROM votes"} if path.suffix == ".sqlite" else {}
    try:
        reading = read(path, **options)
    except MallowmixError as error:
        if is_good:
            raise NotRead(str(error)) from None
        raise
    if is_good and path.name.startswith("plain"):
        _check_rows(table, reading.comparisons)


def _check_rows(table: Table, found: Any) -> None:
    """Every row of a plain table must have come back, with its weight."""
    wanted: Counter[tuple[str, ...]] = Counter()
    for user, winner, loser, *weight in table.rows:
        wanted[str(user), str(winner), str(loser)] += float(weight[0]) if weight else 1.0
    frame = found.to_arrow().to_pydict()
    keys = zip(*(map(str, frame[name]) for name in ("user", "winner", "loser")), strict=True)
    got = dict(zip(keys, frame["weight"], strict=True))
    if got != dict(wanted):
        raise NotRead(f"{sorted(set(got.items()) ^ set(wanted.items()))[:4]}")


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"longer than {SECONDS} seconds")


def pieces(inputs: int, names: list[str]) -> list[Piece]:
    """All forms in turn, so that they have as many inputs each when a run is stopped."""
    starts = range(0, inputs, CHUNK)
    return [Piece(name, a, min(inputs, a + CHUNK)) for a in starts for name in names]


def read_pieces(wanted: list[Piece], file: Path | None, minutes: float) -> dict[Piece, Any]:
    """What child processes counted, or had counted, as many at a time as there are cores.

    None is begun after so many minutes.
    """
    state, lock = _state(), Lock()
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    done: dict[Piece, Any] = {Piece(*r["piece"]): r["part"] for r in rows if r["state"] == state}
    end = time.monotonic() + 60 * minutes

    def one(piece: Piece) -> None:
        if time.monotonic() < end:
            done[piece] = _child(*piece)
            if file is not None:
                commit = run_record()["commit"]
                row = {"piece": piece, "state": state, "commit": commit, "part": done[piece]}
                with lock, file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, [piece for piece in wanted if piece not in done]))
    return done


def _state() -> str:
    """Of the code that makes inputs and reads them: another one may read otherwise."""
    import_readers()
    code = [each for each in imported_modules().items() if each[0].startswith(_DECIDING)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


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
