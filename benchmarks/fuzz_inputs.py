"""The random files of `fuzz_readers`: how the input of a number is made, read and judged.

What stands here decides what comes out of an input, beside the readers themselves; how inputs are
spread over child processes and counted stands in `fuzz_readers`.
"""

import contextlib
import gzip
import random
import resource
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.spoilt_tables import spoilt
from benchmarks.valid_files import KINDS, Table

SECONDS = 10  # for one input
# comparisons that one input may make: the guard is lowered from the machine's memory to this
MOST_ROWS = 1_000_000
GOOD, SPOILT, BYTES = (0, 4), (1, 2, 5, 6), (3, 7)  # numbers of inputs, modulo 8
WORDS = [*(bytes([each]) for each in b',\n"\t{}[]:|#\0\xff=>'), b"\r\n", b"\xef\xbb\xbf"]
WORDS += b"user winner loser weight left right outcome item rating rank ranking best".split()
WORDS += b"nan inf -1 0 1e308 999999999999 99999999999999999999 null true tie both_bad".split()
WORDS += [b"# NUMBER ALTERNATIVES: 3\n", b"# ALTERNATIVE NAME 1: a\n", b"5: 1,{2,3}\n"]
WORDS += [b"1::2::3::4\n", b"\xc3\x28", b"a" * 3000]


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
