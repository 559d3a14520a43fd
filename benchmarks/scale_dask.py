"""The pass over all users on a cluster of processes here.

One worker and two, what it moves, and one worker killed on the way.

`python -m benchmarks.scale_dask STORE` takes a folder of `mallowmix.store_comparisons`; results go
into scale_dask.json.
"""

import argparse
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.planted import truth_of
from benchmarks.record import RESULTS, about, save
from benchmarks.scale import SETTING
from mallowmix.engine import ThreadEngine, make_shards
from mallowmix.engine.dask import DaskEngine
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.learn.spectral.large_data import tabulate_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale_dask", description=__doc__.splitlines()[0]
    )
    parser.add_argument("store", type=Path, help="a folder of stored comparisons")
    parser.add_argument(
        "-o", "--output", type=Path, default=RESULTS, help="the folder of scale_dask.json"
    )
    options = parser.parse_args(arguments)
    found = measure(StoredComparisons(options.store))
    save("scale_dask", {"about": about(), **found}, options.output)
    print(json.dumps(found, indent=1))


def measure(stored: StoredComparisons) -> dict[str, Any]:
    """Seconds of one pass by the number of workers, its bytes, and the run that loses a worker
    half-way.
    """
    truth = truth_of(SETTING)
    components, alpha = (
        MallowsComponents(np.array(truth.sigma)[:, : stored.n_items], np.array(truth.phi)),
        np.array(truth.alpha),
    )
    work = (stored.blocks(), components, alpha)
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
    for workers in (1, 2):
        found["workers"][workers], tables = _timed(work, workers, lost=False)
        found["same bytes"] = tables.tobytes() == expected.tobytes()
    found["one of two lost"], tables = _timed(work, 2, lost=True)
    return found | {"same bytes after the loss": tables.tobytes() == expected.tobytes()}


def _timed(work: tuple[Any, ...], workers: int, *, lost: bool) -> tuple[float, np.ndarray]:
    engine = DaskEngine(workers=workers)
    try:
        victims = list(engine.client.run(os.getpid).values()) if lost else []
        tabulate_all_users(work[0][:1], *work[1:], engine)  # workers import and compile
        start = time.perf_counter()
        tables = tabulate_all_users(*work, engine, progress=_killer(victims))
        return time.perf_counter() - start, tables
    finally:
        engine.close()


def _killer(victims: list[int]) -> Any:
    def progress(done: int, total: int) -> None:
        if victims and done >= total // 2:
            os.kill(victims.pop(), signal.SIGKILL)
            victims.clear()

    return progress


if __name__ == "__main__":
    main()
