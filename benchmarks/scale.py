"""Comparisons larger than memory.

Time, peak memory and the ratio to one plain scan of the same Parquet, by DuckDB.

`python -m benchmarks.scale` writes a planted population as shards, counts every pair with DuckDB
(the least that any method must read), sorts the shards into a store and fits it within a bound of
memory, each in a process of its own. Results go to scale.json, one row a size. `--comparisons 1e9`
is the same command.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.planted import Setting, error_of, truth_of
from benchmarks.record import RESULTS, about, load, save
from benchmarks.scale_data import write_shards
from mallowmix.engine import Shard
from mallowmix.model.fit_options import SpectralOptions

SETTING = Setting(n_items=200, n_components=20, per_user=100, phi=0.2, alpha=0.1)
STAGES = ("scan", "store", "none", "full")


def main(arguments: list[str] | None = None) -> None:
    """Measure one size, and put its row into the results."""
    options = _parser().parse_args(arguments)
    if options.stage:
        print(
            json.dumps(
                stage(
                    options.stage,
                    Path(options.folder),
                    options.memory,
                    _setting(options),
                    int(options.comparisons),
                )
            )
        )
        return
    folder = Path(options.folder or tempfile.mkdtemp(prefix="mallowmix-scale-"))
    try:
        row = measure(options, folder)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    keep(row, options.output)
    print(json.dumps(row, indent=1))


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Write the shards unless they are there, then one process for each stage."""
    n, setting = int(options.comparisons), _setting(options)
    row: dict[str, Any] = {
        "comparisons": n,
        "items": setting.n_items,
        "components": setting.n_components,
    }
    row |= {"users": n // setting.per_user, "memory": options.memory, "cores": os.cpu_count()}
    if not (folder / "written").exists():
        start = time.perf_counter()
        write_shards(folder / "votes", truth_of(setting), row["users"], n)
        row["written in"] = time.perf_counter() - start
        (folder / "written").touch()
    shutil.rmtree(folder / "votes.blocks", ignore_errors=True)
    row["parquet bytes"] = sum(file.stat().st_size for file in (folder / "votes").glob("*.parquet"))
    for name in [name for name in STAGES if name in options.stages.split(",")]:
        row[name] = _child(name, options, folder)
        print(f"{name}: {row[name]['seconds']:.1f} s", file=sys.stderr, flush=True)
    return row | {"scans": scans(row)}


def scans(row: dict[str, Any]) -> dict[str, float]:
    """The spectral fit and the refined one, partitioning included, in plain scans.

    Of those that were run.
    """
    if "scan" not in row or "store" not in row:
        return {}
    scan, store = row["scan"]["seconds"], row["store"]["seconds"]
    return {name: (store + row[name]["seconds"]) / scan for name in ("none", "full") if name in row}


def _child(name: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale",
        "--stage",
        name,
        "--folder",
        str(folder),
        "--memory",
        options.memory,
    ]
    for option in ("comparisons", "items", "components", "per_user"):
        command += [f"--{option.replace('_', '-')}", str(getattr(options, option))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"The stage {name} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def stage(name: str, folder: Path, memory: str, setting: Setting, n: int) -> dict[str, Any]:
    """One stage in this process: seconds, and resident memory at its peak and before it began."""
    work = {"scan": scan, "store": store, "none": fit, "short": fit, "full": fit}[name]
    before = _peak()
    start = time.perf_counter()
    found = work(folder, memory, setting, name)
    return {"seconds": time.perf_counter() - start, **found, "peak": _peak(), "before": before}


def _peak() -> int:
    """The most memory that this process had resident.

    `ru_maxrss` would begin with that of the process which started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = re.findall(r"VmHWM:\s*(\d+)", status.read_text())
        return 1024 * int(peak)
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def scan(folder: Path, memory: str, setting: Setting, name: str) -> dict[str, Any]:
    """The plain scan: the median of three."""
    import duckdb

    con = duckdb.connect()
    con.execute(f"SET threads={os.cpu_count()}")
    query = (
        f"SELECT count(*), winner, loser FROM read_parquet('{folder}/votes/*.parquet') "
        "GROUP BY winner, loser"
    )
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        con.execute(query).fetchall()
        seconds.append(time.perf_counter() - start)
    return {"seconds": statistics.median(seconds), "each": seconds}


def store(folder: Path, memory: str, setting: Setting, name: str) -> dict[str, Any]:
    """From shards to the sorted rows of all people, and the digest that a model file keeps."""
    from mallowmix.engine.out_of_core.store import store_comparisons

    stored = store_comparisons(folder / "votes", cache=folder / "votes.blocks", memory=memory)
    start = time.perf_counter()
    stored.fingerprint()
    nbytes = sum(file.stat().st_size for file in stored.folder.iterdir())
    return {"rows": stored.n_rows, "bytes": nbytes, "fingerprint in": time.perf_counter() - start}


def fit(folder: Path, memory: str, setting: Setting, name: str) -> dict[str, Any]:
    """A fit of what is stored.

    Which passes went over all users, and how far it is from what was planted.
    """
    import mallowmix as mm
    from mallowmix.engine.out_of_core.disk import DiskEngine
    from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons

    stored, seconds = StoredComparisons(folder / "votes.blocks"), Counter()
    model = mm.fit(
        stored,
        setting.n_components,
        method=SpectralOptions(refine=name),
        engine=_clocked(DiskEngine, seconds)(memory=memory),
        predictor=False,
    )
    passes = {step: value for step, value in seconds.items() if step.startswith("all users")}
    # shards hold labels as text, which are numbered in another order
    number = [int(item) for item in model.items]
    return {
        "passes": passes,
        "sample": sum(value for step, value in seconds.items() if step not in passes),
        "error": error_of(model.sigma[:, np.argsort(number)], truth_of(setting)),
        "phi": float(abs(model.phi - setting.phi).max()),
        "alpha": float(model.alpha.sum()),
    }


def _clocked(engine: type, seconds: Counter[str]) -> type:
    """The engine, with a note of how long each pass over stored shards took."""

    class Clocked(engine):
        def map(self, step: Any, blocks: Any, *args: Any, **options: Any) -> Any:
            return self._clocked(super().map, step, blocks, *args, **options)

        def reduce(self, step: Any, blocks: Any, *args: Any, **options: Any) -> Any:
            return self._clocked(super().reduce, step, blocks, *args, **options)

        def _clocked(self, run: Any, step: Any, blocks: Any, *args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            answer = run(step, blocks, *args, **options)
            where = "all users" if blocks and isinstance(blocks[0], Shard) else "sample"
            seconds[f"{where}: {step.name}"] += time.perf_counter() - start
            return answer

    return Clocked


def keep(row: dict[str, Any], folder: Path) -> None:
    """The rows of all sizes measured so far, the least first."""
    rows = [
        old
        for old in (load("scale", folder) or {}).get("rows", [])
        if old["comparisons"] != row["comparisons"]
    ]
    save(
        "scale",
        {"about": about(), "rows": sorted([*rows, row], key=lambda each: each["comparisons"])},
        folder,
    )


def _setting(options: argparse.Namespace) -> Setting:
    return Setting(
        int(options.items),
        int(options.components),
        int(options.per_user),
        SETTING.phi,
        SETTING.alpha,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--comparisons", type=float, default=1e8, help="how many; 1e8 unless given")
    parser.add_argument("--items", type=int, default=SETTING.n_items)
    parser.add_argument("--components", type=int, default=SETTING.n_components)
    parser.add_argument("--per-user", type=int, default=SETTING.per_user)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument(
        "--folder", help="where shards and store are kept; a temporary folder unless given"
    )
    parser.add_argument("--stages", default=",".join(STAGES), help=f"which of {', '.join(STAGES)}")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument(
        "-o", "--output", type=Path, default=RESULTS, help="the folder of scale.json"
    )
    return parser


if __name__ == "__main__":
    main()
