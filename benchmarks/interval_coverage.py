"""How often the intervals of `mallowmix.intervals` hold the planted truth.

Positions, dispersions, shares, win rates.

python -m benchmarks.interval_coverage [--populations 40]    writes
    benchmarks/results/coverage.json, in half an hour on two cores

Each population is drawn from random reference rankings, learnt with `fit`, and given 90% intervals
from 60 replicates. `exact` is the part of positions that the model itself has right, `width` the
mean number of positions in an interval, `error` the fraction of pairs in the wrong order. A
standard error over populations stands beside each coverage.
"""

import argparse
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.errors import MallowmixWarning
from mallowmix.model.permutations import match_components
from mallowmix.numerics.randomness import generator

REPLICATES, LEVEL, PAIRS = 60, 0.9, 30


@dataclass(frozen=True)
class Setting:
    """What is planted."""

    Q: int
    K: int
    M: int
    N: int
    phi: float
    alpha: float


SETTINGS = [
    Setting(20, 3, 300, 60, 0.4, 0.2),
    Setting(20, 3, 300, 60, 0.7, 0.2),
    Setting(20, 3, 300, 30, 0.8, 0.2),
    Setting(20, 4, 400, 40, 0.6, 0.1),
    Setting(10, 2, 200, 20, 0.6, 0.3),
    Setting(15, 1, 60, 20, 0.8, 1.0),
]


def planted(setting: Setting, seed: int) -> mm.M4:
    """A model of the setting."""
    sigma = generator(seed, 111).permuted(np.tile(np.arange(setting.Q), (setting.K, 1)), axis=1)
    items = [f"i{i:02d}" for i in range(setting.Q)]
    return mm.M4(sigma, np.full(setting.K, setting.phi), np.full(setting.K, setting.alpha), items)


def covered(truth: mm.M4, found: Any) -> dict[str, float]:
    """The part of positions, φ, shares and win rates of a population that its intervals hold."""
    matched = match_components(found.position, truth.sigma)
    f, t = matched.found, matched.truth
    positions = inside(truth.sigma[t], found.position_low[f], found.position_high[f])
    return {
        "positions": positions,
        "phi": inside(truth.phi[t], found.phi_low[f], found.phi_high[f]),
        "share": inside(truth.share[t], found.share_low[f], found.share_high[f]),
        "win_rate": win_rates_covered(truth, found),
        "exact": float(np.mean(found.position[f] == truth.sigma[t])),
        "width": float(np.mean(found.position_high - found.position_low + 1)),
        "error": float(matched.kendall.mean()),
    }


def inside(true: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    return float(np.mean((low <= true) & (true <= high)))


def win_rates_covered(truth: mm.M4, found: Any) -> float:
    """Of some random pairs."""
    random, hits = generator(0, 112), []
    rates = np.einsum("k,kij->ij", truth.share, truth.beta())
    for _ in range(PAIRS):
        i, j = random.choice(truth.n_items, 2, replace=False)
        _, low, high = found.win_rate(truth.items[i], truth.items[j])
        hits.append(low <= rates[i, j] <= high)
    return float(np.mean(hits))


def measure(setting: Setting, populations: int) -> dict[str, Any]:
    """A row: the mean over populations of each coverage, and its standard error."""
    rows, seconds = [], 0.0
    for seed in range(populations):
        truth = planted(setting, seed)
        votes = truth.sample(setting.M, setting.N, seed=seed).comparisons
        model = mm.fit(votes, setting.K, predictor=False)
        start = time.perf_counter()
        rows.append(covered(truth, mm.intervals(model, votes, REPLICATES, LEVEL, seed=seed)))
        seconds += time.perf_counter() - start
    means = {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]}
    errors = {
        name: round(float(np.std([row[name] for row in rows]) / np.sqrt(populations)), 4)
        for name in rows[0]
    }
    return asdict(setting) | {
        "covered": means,
        "standard_error": errors,
        "seconds": round(seconds / populations, 2),
    }


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--populations", type=int, default=40)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", MallowmixWarning)
    rows = []
    for setting in SETTINGS:
        rows.append(row := measure(setting, options.populations))
        print(row, flush=True)
    found = {
        "level": LEVEL,
        "replicates": REPLICATES,
        "populations": options.populations,
        "rows": rows,
    }
    save("coverage", found, options.out, range(options.populations))


if __name__ == "__main__":
    main()
