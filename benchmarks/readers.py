"""Reading: text becomes numbers in about the time that pyarrow needs to hash it, ratings become
comparisons in little memory.
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.growth import peak_bytes, reset_peak, resident_bytes
from benchmarks.record import Tell, about
from mallowmix.data.labels import encode_groups
from mallowmix.readers import read_comparisons
from mallowmix.readers.rating_forms import comparisons_from_ratings

ROOT = Path(__file__).parents[1]
GOAL_RATIO, GOAL_BYTES = 1.5, 1e9


@dataclass(frozen=True)
class Sizes:
    """A table of text: rows, people, items, how often each call is timed.

    And ratings: people, ratings of each, items.
    """

    rows: int = 5_000_000
    users: int = 100_000
    items: int = 1000
    repeats: int = 5
    raters: int = 1_000_000
    ratings: int = 10
    things: int = 2000


FULL = Sizes()
QUICK = Sizes(rows=100_000, users=2000, repeats=3, raters=10_000)


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """Processor seconds beside pyarrow's on the same table, in turn.

    Bytes at the peak, in a process of its own.
    """
    votes = text_votes(sizes)
    seconds: dict[str, list[float]] = {name: [] for name in CALLS}
    for _ in range(sizes.repeats):
        for name, call in CALLS.items():
            before = time.process_time()
            call(votes)
            seconds[name].append(time.process_time() - before)
    least = {name: min(times) for name, times in seconds.items()}
    tell(
        ", ".join(
            f"{name} {spent / least['dictionary_encode']:.2f}" for name, spent in least.items()
        )
    )
    del votes
    memory = _in_a_process(sizes)
    tell(f"{memory['ratings']:,} ratings: {memory['beyond'] / 1e6:,.0f} MB beyond the result")
    return {
        "about": about() | {"pyarrow": pa.__version__},
        "sizes": asdict(sizes),
        "seconds": least,
        "memory": memory,
    }


def text_votes(sizes: Sizes) -> pa.Table:
    """user, winner, loser as text, drawn at random."""
    random = np.random.default_rng(0)
    users = pa.array([f"user-{n:06d}" for n in range(sizes.users)])
    items = pa.array([f"item number {n}" for n in range(sizes.items)])
    winner = random.integers(0, sizes.items, sizes.rows)
    loser = (winner + random.integers(1, sizes.items, sizes.rows)) % sizes.items
    who = random.integers(0, sizes.users, sizes.rows)
    return pa.table(
        {
            "user": users.take(pa.array(who)),
            "winner": items.take(pa.array(winner)),
            "loser": items.take(pa.array(loser)),
        }
    )


def _hash(votes: pa.Table) -> Any:
    return [votes.column(name).dictionary_encode() for name in ("user", "winner", "loser")]


def _number(votes: pa.Table) -> Any:
    return encode_groups([votes.column("user")], [votes.column("winner"), votes.column("loser")])


CALLS = {"dictionary_encode": _hash, "numbers": _number, "read_comparisons": read_comparisons}


def _in_a_process(sizes: Sizes) -> dict[str, Any]:
    given = json.dumps([sizes.raters, sizes.ratings, sizes.things])
    child = [sys.executable, "-m", "benchmarks.readers", given]
    done = subprocess.run(child, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def rated(raters: int, ratings: int, things: int) -> tuple[Any, Any, Any]:
    """Columns of so many ratings of each person, of different things."""
    random = np.random.default_rng(1)
    first, step = random.integers(0, things, raters), random.integers(1, things // ratings, raters)
    item = (first[:, None] + step[:, None] * np.arange(ratings)) % things
    return (
        np.repeat(np.arange(raters), ratings),
        item.ravel(),
        random.integers(1, 11, raters * ratings) / 2,
    )


def memory_of(raters: int, ratings: int, things: int) -> dict[str, Any]:
    """How much more than the input and the result was held at the peak."""
    comparisons_from_ratings(*rated(20, ratings, things))  # compiled and loaded
    columns = rated(raters, ratings, things)
    reset_peak()
    before = resident_bytes()
    made = comparisons_from_ratings(*columns)
    held = sum(
        getattr(made, name).nbytes
        for name in ("user", "winner", "loser", "weight", "user_weight", "users", "items")
    )
    return {
        "ratings": len(columns[0]),
        "comparisons": len(made),
        "result": held,
        "beyond": max(0, peak_bytes() - before - held),
    }


if __name__ == "__main__":
    print(json.dumps(memory_of(*json.loads(sys.argv[1]))))
