"""Mutated files into every parser: only our own errors may come out, run_quick and in little
memory.

`python -m benchmarks.fuzz_readers --inputs 100000` keeps its counts in
benchmarks/results/fuzz_readers.json. Good files of every form are cut, spliced, doubled and
overwritten at random; the same number gives the same inputs. They are read in child processes, so
that a crash of a library is seen, too.
"""

import argparse
import gzip
import io
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, about, save

CHUNK = 2000  # inputs that one child process reads
SECONDS = 10  # for one input
# comparisons that one input may make: the guard is lowered from the machine's memory to this
MOST_ROWS = 1_000_000
WORDS = [
    *(
        b",",
        b"\n",
        b"\r\n",
        b'"',
        b"\t",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"|",
        b"#",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"=",
        b">",
    ),
    *(
        b"user",
        b"winner",
        b"loser",
        b"weight",
        b"left",
        b"right",
        b"outcome",
        b"item",
        b"rating",
        b"rank",
        b"ranking",
        b"best",
    ),
    *(
        b"nan",
        b"inf",
        b"-1",
        b"0",
        b"1e308",
        b"999999999999",
        b"99999999999999999999",
        b"null",
        b"true",
        b"tie",
        b"both_bad",
    ),
    *(
        b"# NUMBER ALTERNATIVES: 3\n",
        b"# ALTERNATIVE NAME 1: a\n",
        b"5: 1,{2,3}\n",
        b"1::2::3::4\n",
        b"\xc3\x28",
        b"a" * 3000,
    ),
]


def seeds() -> dict[str, bytes]:
    """Good files by name."""
    plain = b"user,winner,loser,weight\n" + b"".join(
        b"u%d,%c,%c,%d\n" % (n % 4, 97 + n % 5, 98 + n % 5, n % 3 + 1) for n in range(9)
    )
    battles = (
        b"judge,model_a,model_b,winner\nu,a,b,model_a\nu,b,c,tie\nv,c,a,both_bad\nv,a,b,model_b\n"
    )
    ratings = b"userId,movieId,rating\n1,10,4.5\n1,11,3\n1,12,3\n2,10,1\n2,12,5\n"
    wide = b"user,rank_1,rank_2,rank_3\nu,a,b,c\nv,c,b,\n"
    lists = (
        b'{"user": "u", "ranking": ["a", ["b", "c"], "d"]}\n{"user": "v", "ranking": ["d", "a"]}\n'
    )
    objects = (
        b'{"user": 1, "winner": "a", "loser": "b", "weight": 1.5}\n'
        b'{"user": 2, "winner": "b", "loser": "c", "weight": 2}\n'
    )
    shown = b"user,shown,best,worst\nu,a|b|c,a,c\nv,b|c|d,d,b\n"
    clicks = b"user,list,item,clicked\nu,1,a,1\nu,1,b,0\nv,1,b,yes\nv,1,c,no\n"
    preflib = (
        b"# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 3\n"
        b"# NUMBER VOTERS: 6\n# NUMBER UNIQUE ORDERS: 2\n"
        + b"".join(b"# ALTERNATIVE NAME %d: %c\n" % (n, 96 + n) for n in (1, 2, 3))
    )
    texts = {
        "plain.csv": plain,
        "plain.tsv": plain.replace(b",", b"\t"),
        "battles.csv": battles,
        "ratings.csv": ratings,
    }
    texts |= {
        "wide.csv": wide,
        "lists.jsonl": lists,
        "objects.jsonl": objects,
        "shown.csv": shown,
        "clicks.csv": clicks,
    }
    texts |= {
        "orders.toi": preflib + b"4: 1,{2,3}\n2: 3\n",
        "orders.soc": preflib.replace(b"toi", b"soc") + b"4: 1,2,3\n2: 3,1,2\n",
    }
    texts |= {
        "ratings.dat": b"1::10::5::978300760\n1::11::3::978300761\n"
        b"2::10::1::978300762\n2::11::2::978300763\n"
    }
    return texts | _binary(plain)


def _binary(plain: bytes) -> dict[str, bytes]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq
    from scipy.io import savemat

    from mallowmix.writers import write_table

    table, parquet, mat = pa_csv.read_csv(io.BytesIO(plain)), io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    stars = np.array([[1, 10, 5], [1, 11, 3], [2, 10, 1], [2, 11, 4]], np.uint16)
    savemat(
        mat,
        {"train_vec": stars, "probe_vec": stars + np.array([2, 0, 0], np.uint16)},
        do_compression=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_table(table, Path(folder) / "plain.sqlite")
        sqlite = (Path(folder) / "plain.sqlite").read_bytes()
    zst = pa.compress(plain, "zstd", asbytes=True)
    return {
        "plain.csv.gz": gzip.compress(plain, mtime=0),
        "plain.csv.zst": zst,
        "plain.parquet": parquet.getvalue(),
        "moviedata.mat": mat.getvalue(),
        "plain.sqlite": sqlite,
    }


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One to five random changes."""
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


def read_some(first: int, last: int) -> dict[str, Any]:
    """Read the inputs of these numbers; what came out, counted."""
    from mallowmix.errors import MallowmixError
    from mallowmix.readers import order_weights as shares
    from mallowmix.readers import read

    shares.memory_bytes = lambda: 2.0 * MOST_ROWS * shares.ROW_BYTES
    signal.signal(signal.SIGALRM, _too_long)
    good, found, foreign, slowest = seeds(), Counter(), {}, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, data in good.items():  # what is loaded and compiled once does not count
            _try(read, Path(folder) / name, data)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(first, last):
            chance = random.Random(number)
            name = chance.choice(list(good))
            begun = time.perf_counter()
            try:
                signal.alarm(SECONDS)
                _try(read, Path(folder) / name, mutated(good[name], chance))
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


def _try(read: Any, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    read(path, query="SELECT * FROM votes") if path.suffix == ".sqlite" else read(path)


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"longer than {SECONDS} seconds")


def run(inputs: int) -> dict[str, Any]:
    """All inputs, in child processes one after the other."""
    found, foreign, crashes, slowest, grown = Counter(), {}, [], 0.0, 0
    for first in range(0, inputs, CHUNK):
        last = min(inputs, first + CHUNK)
        child = [sys.executable, "-m", "benchmarks.fuzz_readers", "--child", str(first), str(last)]
        done = subprocess.run(child, capture_output=True, text=True, check=False)
        if done.returncode:
            crashes.append(
                {"inputs": [first, last], "code": done.returncode, "said": done.stderr[-300:]}
            )
            continue
        part = json.loads(done.stdout.splitlines()[-1])
        found.update(part["found"])
        foreign |= part["foreign"]
        slowest, grown = max(slowest, part["slowest_seconds"]), max(grown, part["grown_bytes"])
        print(f"{last:,} of {inputs:,}: {dict(found)}", file=sys.stderr, flush=True)
    counts = {"inputs": inputs, "found": dict(found), "foreign": foreign, "crashes": crashes}
    return {"about": about()} | counts | {"slowest_seconds": slowest, "grown_bytes": grown}


def main() -> None:
    """Fuzz, and keep the counts; the exit code says whether anything foreign came out."""
    parser = argparse.ArgumentParser("python -m benchmarks.fuzz_readers", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many mutated files")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(read_some(*options.child)))
        return
    result = run(options.inputs)
    save("fuzz_readers", result, RESULTS)
    sys.exit(1 if result["foreign"] or result["crashes"] else 0)


if __name__ == "__main__":
    main()
