"""The same fit on one core and on more.

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
from mallowmix.model.fit_options import SpectralOptions

REFINE = ("none", "full")
MIXED = Setting(per_user=100)
REPEATS = {"none": 3, "full": 1}


def measure(setting: Setting, n_users: int, cores: Sequence[int]) -> list[dict[str, Any]]:
    """Seconds of each fit on each number of cores, and whether the model is the same bytes."""
    comparisons = draw(setting, n_users)
    rows = []
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
