"""How often `choose_k` finds the planted number of components, and what it says of coin answers and
of too little data.

python -m benchmarks.choose_k [--seeds 3]    writes benchmarks/results/choose_k.json, in half an
    hour on two cores

Planted: random reference rankings, α = .1 each unless said, uniform pairs; numbers from 1 to K + 3
are tried.
"""

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixWarning
from mallowmix.numerics.randomness import generator

RESULTS = Path(__file__).parent / "results" / "choose_k.json"


@dataclass(frozen=True)
class Setting:
    """What is planted; K = 0 means that every answer is a coin's."""

    K: int
    Q: int
    M: int
    N: int
    phi: float = 0.5
    alpha: float = 0.1


SETTINGS = [
    Setting(3, 30, 600, 100, 0.3),
    Setting(3, 30, 600, 100, 0.5),
    Setting(5, 40, 800, 100, 0.3),
    Setting(5, 40, 800, 100, 0.5),
    Setting(5, 40, 800, 100, 0.5, 0.3),
    Setting(8, 50, 1000, 100, 0.3),
    Setting(8, 50, 1000, 100, 0.5),
    Setting(8, 50, 1000, 200, 0.5),
    Setting(1, 30, 600, 100, 0.5, 1.0),
    Setting(0, 30, 600, 100),
    Setting(0, 10, 60, 20),
]


def drawn(setting: Setting, seed: int) -> Comparisons:
    """A population of the setting."""
    random = generator(seed, 110)
    items = [f"i{i:03d}" for i in range(setting.Q)]
    K = max(setting.K, 1)
    sigma = random.permuted(np.tile(np.arange(setting.Q), (K, 1)), axis=1)
    phi = setting.phi if setting.K else 1.0  # a Mallows component with φ = 1 is a coin
    return (
        mm.M4(sigma, np.full(K, phi), np.full(K, setting.alpha), items)
        .sample(setting.M, setting.N, seed=seed)
        .comparisons
    )


def measure(setting: Setting, seed: int) -> dict[str, Any]:
    """What was chosen, why, and how long it took."""
    votes, start = drawn(setting, seed), time.perf_counter()
    choice = mm.choose_k(votes, range(1, setting.K + 4))
    seconds = round(time.perf_counter() - start, 1)
    found = {
        "k": choice.k,
        "right": choice.k == (setting.K or None),
        "certain": choice.certain,
        "reason": choice.reason,
    }
    return asdict(setting) | {"seed": seed} | found | {"seconds": seconds}


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="populations of each setting")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", MallowmixWarning)
    rows = []
    for setting in SETTINGS:
        for seed in range(options.seeds):
            rows.append(row := measure(setting, seed))
            print(row, flush=True)
    found = {"right": sum(row["right"] for row in rows), "of": len(rows), "rows": rows}
    options.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
