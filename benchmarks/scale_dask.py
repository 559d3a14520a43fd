"""The pass over all users on a cluster of processes here.

By the number of workers, what it moves, one worker killed on the way, and the scheduler killed with
all workers and started again.

`python -m benchmarks.scale_dask STORE [--workers 1 2 4]` takes a folder of
`mallowmix.store_comparisons`; results go into scale_dask.json.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.planted import truth_of
from benchmarks.record import RESULTS, about, save
from benchmarks.scale import SETTING
from mallowmix.engine import ThreadEngine, make_shards
from mallowmix.engine.blocks import StoredBlock
from mallowmix.engine.dask import DaskEngine
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import OptionError
from mallowmix.learn.spectral.large_data import tabulate_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.typing import Array

# stored blocks, components and α; and the seconds of a pass with its tables
Work: TypeAlias = tuple[list[StoredBlock], MallowsComponents, Array]
Timed: TypeAlias = tuple[float, Array]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale_dask", description=__doc__.splitlines()[0]
    )
    parser.add_argument("store", type=Path, help="a folder of stored comparisons")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "-o", "--output", type=Path, default=RESULTS, help="the folder of scale_dask.json"
    )
    options = parser.parse_args(arguments)
    found = measure(StoredComparisons(options.store), options.workers)
    save("scale_dask", {"about": about(), **found}, options.output)
    print(json.dumps(found, indent=1))


def measure(stored: StoredComparisons, workers: Sequence[int]) -> dict[str, Any]:
    """Seconds of one pass by the number of workers, its bytes, and the runs that lose a worker, or
    the scheduler, half-way.
    """
    truth = truth_of(SETTING)
    components, alpha = (
        MallowsComponents(np.array(truth.sigma)[:, : stored.n_items], np.array(truth.phi)),
        np.array(truth.alpha),
    )
    work: Work = (list(stored.blocks()), components, alpha)
    start = time.perf_counter()
    expected = tabulate_all_users(*work, ThreadEngine(1))
    found: dict[str, Any] = {
        "comparisons": stored.n_comparisons,
        "shards": len(make_shards(work[0])),
    }
    found |= {
        "one thread": time.perf_counter() - start,
        "bytes a shard": expected.nbytes // 2,
        "workers": {},
    }
    for number in workers:
        found["workers"][number], tables = _timed(work, number)
        found["same bytes"] = tables.tobytes() == expected.tobytes()
    found["one worker lost"], tables = _timed(work, max(workers), lost=True)
    found["same bytes after that loss"] = tables.tobytes() == expected.tobytes()
    found["scheduler lost"], tables = _scheduler_lost(work, max(workers))
    return found | {"same bytes after its loss": tables.tobytes() == expected.tobytes()}


def _timed(work: Work, workers: int, *, lost: bool = False) -> Timed:
    engine = DaskEngine(workers=workers)
    try:
        engine.client.wait_for_workers(workers)
        victims = list(engine.client.run(os.getpid).values())
        return _pass(engine, work, lambda: os.kill(victims[0], signal.SIGKILL) if lost else None)
    finally:
        engine.close()


def _pass(engine: DaskEngine, work: Work, half_way: Any) -> Timed:
    """Seconds of a pass and its tables; `half_way` is called once on the way."""
    blocks, components, alpha = work
    tabulate_all_users(blocks[:1], components, alpha, engine)  # workers import and compile
    calls = [half_way]

    def progress(done: int, total: int) -> None:
        if calls and done >= total // 2:
            calls.pop()()

    start = time.perf_counter()
    tables = tabulate_all_users(*work, engine, progress=progress)
    return time.perf_counter() - start, tables


def _scheduler_lost(work: Work, workers: int) -> Timed:
    """The same with a scheduler and workers of their own, all killed and started again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    running = _start(address, workers)

    def restart() -> None:
        _stop(running)
        running.extend(_start(address, workers))

    engine = _connected(f"tcp://{address}")
    try:
        engine.client.wait_for_workers(workers)
        return _pass(engine, work, restart)
    finally:
        engine.client.close()
        _stop(running)


def _connected(address: str) -> DaskEngine:
    for _ in range(60):  # a scheduler takes a while to start
        try:
            return DaskEngine(address)
        except OptionError:
            time.sleep(1)
    raise SystemExit(f"No scheduler started at {address}.")


def _start(address: str, workers: int) -> list[subprocess.Popen[bytes]]:
    host, port = address.split(":")
    own = ["--host", host, "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", f"tcp://{address}", "--nthreads", "1", "--no-nanny"]
    commands = [["distributed.cli.dask_scheduler", "--port", port], *[worker] * workers]
    null = subprocess.DEVNULL
    return [
        subprocess.Popen([sys.executable, "-m", *each, *own], stdout=null, stderr=null)
        for each in commands
    ]


def _stop(running: list[subprocess.Popen[bytes]]) -> None:
    while running:
        process = running.pop()
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
