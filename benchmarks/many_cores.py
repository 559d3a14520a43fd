"""The same fit on one core and on more, and a loop of arithmetic, which says what the cores can do.

python -m benchmarks.many_cores [--comparisons 1e7] [--cores 1 2 4 8 16]
    writes benchmarks/results/many_cores.json; a section of docs/benchmarks.md is made of it
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mallowmix as mm
from benchmarks.planted import Setting, draw
from benchmarks.record import RESULTS, about, repeated, save, timed
from mallowmix.engine import parallel_map
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.numerics.compiled import compiled

REFINE = ("none", "full")
MIXED = Setting(per_user=100)
REPEATS = {"none": 5, "full": 3}
ARITHMETIC = "arithmetic"  # the name of the loop that reads no memory
_LOOPS, _STEPS = 64, 20_000_000


def measure(setting: Setting, n_users: int, cores: Sequence[int]) -> list[dict[str, Any]]:
    """Seconds of each fit on each number of cores, and whether the model is the same bytes."""
    comparisons = draw(setting, n_users)
    rows = [arithmetic(n_jobs) for n_jobs in cores]
    for refine in REFINE:
        first = None
        for n_jobs in cores:
            seconds, model = repeated(
                lambda n=n_jobs, r=refine: _fit(comparisons, setting.n_components, r, n),
                REPEATS[refine],
            )
            first = first or model.m4
            row = {"method": refine, "cores": n_jobs, "seconds": seconds}
            rows.append(row | {"same_model": model.m4 == first})
            print(rows[-1], flush=True)
    return rows


def arithmetic(n_jobs: int, loops: int = _LOOPS, steps: int = _STEPS) -> dict[str, Any]:
    """Seconds of loops that read no memory, on some cores."""
    _count(1)
    seconds, _ = repeated(lambda: parallel_map(_count, [steps] * loops, n_jobs), 3)
    return {"method": ARITHMETIC, "cores": n_jobs, "seconds": seconds}


@compiled
def _count(n):
    x = 0.0
    for i in range(n):
        x = 0.5 * x + i
    return x


def _fit(comparisons: mm.Comparisons, K: int, refine: Any, n_jobs: int) -> mm.FittedModel:
    options = SpectralOptions(refine=refine)
    return mm.fit(comparisons, K, method=options, n_jobs=n_jobs, predictor=False)


def main(arguments: list[str] | None = None, folder: Path = RESULTS) -> None:
    """Measure, say each row, and keep all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=float, default=1e7)
    parser.add_argument("--cores", type=int, nargs="+", default=_powers(os.cpu_count() or 1))
    parser.add_argument("--output", type=Path, default=folder)
    given = parser.parse_args(arguments)
    small = draw(Setting(20, 3, 50), 100)
    for refine in REFINE:  # compiles
        timed(lambda r=refine: _fit(small, 3, r, 1))
    rows = measure(MIXED, round(given.comparisons / MIXED.per_user), given.cores)
    result = {"about": about(), "setting": asdict(MIXED), "comparisons": given.comparisons}
    save("many_cores", result | {"rows": rows}, given.output)


def _powers(most: int) -> list[int]:
    """1, 2, 4, … up to this number."""
    return [2**n for n in range(most.bit_length()) if 2**n <= most]


if __name__ == "__main__":
    main()
