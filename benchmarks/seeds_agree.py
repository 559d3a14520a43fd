"""Does the shown model depend on the seed, and what do its intervals cost?

python -m benchmarks.seeds_agree --data DIR [--sets llmfao,dublin,ml100,rankings] [--seeds 10]
    writes benchmarks/results/seeds_agree.json

Each data set is fitted with several seeds and nothing else changed. The model of seed 0 gets 90%
intervals; of every other model with as many components, matched to those of seed 0, it is counted
how many positions, dispersions and shares lie inside. Components that a fit itself calls unstable
are counted apart. `rankings` is made here: 5,000 people, each with one ranking of 10 items from a
mixture of four Mallows components (φ = .6). CPU-seconds are of one thread.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mallowmix as mm
from benchmarks import protocol
from benchmarks.choose_k import Setting, drawn
from benchmarks.record import RESULTS, save, timed
from benchmarks.rivals import comparisons as comparisons_of_people

STAND_IN = Setting(4, 10, 5000, 0, 0.6, form="rankings")
SETS = ("llmfao", "dublin", "ml100", "rankings")
LEVEL = 0.9


def data_of(name: str, folder: Path) -> mm.Comparisons:
    """All people of a data set."""
    if name == "rankings":
        return drawn(STAND_IN, 0)
    if name == "dublin":
        return mm.read(folder / "irish" / "dublin-west-2002.soi")
    if name == "llmfao":
        people, Q = protocol.read_llmfao(folder / "llmfao")
    else:
        rated, Q = protocol.read_films(folder / "ml-1m", int(name.removeprefix("ml")))
        people = protocol.answers_of(rated, 0)
    return comparisons_of_people(people, Q)


def inside(model: mm.FittedModel, found: Any, matching: Any) -> dict[str, NDArray[np.bool_]]:
    """Which estimates of a model lie in the intervals, a row for each matched component."""
    here, there = matching.found, matching.truth
    sigma = model.sigma[here]
    values = {"phi": model.phi[here], "share": model.share[here]}
    table = {
        name: (getattr(found, f"{name}_low")[there] <= value)
        & (value <= getattr(found, f"{name}_high")[there])
        for name, value in values.items()
    }
    low, high = found.position_low[there], found.position_high[there]
    return table | {"position": (low <= sigma) & (sigma <= high)}


def agreement(models: list[mm.FittedModel], found: Any) -> dict[str, Any]:
    """How often estimates of the other seeds lie in the intervals of seed 0."""
    first, *others = models
    alike = [model for model in others if len(model.phi) == len(first.phi)]
    unstable = {k - 1 for k in first.report.unstable}
    counts: dict[str, dict[str, list[bool]]] = {"stable": {}, "unstable": {}}
    for model in alike:
        matching = mm.match_components(model.sigma, first.sigma)
        for name, rows in inside(model, found, matching).items():
            for k, row in zip(matching.truth, rows, strict=True):
                kind = "unstable" if int(k) in unstable else "stable"
                counts[kind].setdefault(name, []).extend(np.ravel(row).tolist())
    return {
        "components": [len(model.phi) for model in models],
        "unstable components of seed 0": sorted(k + 1 for k in unstable),
        **{
            kind: {name: float(np.mean(each)) for name, each in table.items()}
            for kind, table in counts.items()
            if table
        },
    }


def run_set(name: str, folder: Path, n_seeds: int) -> dict[str, Any]:
    """Fits with all seeds, intervals of the first, and what both cost."""
    data, models, seconds = data_of(name, folder), [], []
    for seed in range(n_seeds):
        cpu, model = timed(
            lambda seed=seed: mm.fit(data, predictor=False, seed=seed, n_jobs=1),
            time.process_time,
        )
        models.append(model)
        seconds.append(cpu)
    cpu, found = timed(
        lambda: mm.intervals(models[0], data, level=LEVEL, n_jobs=1), time.process_time
    )
    result = agreement(models, found)
    width = float(np.mean(found.position_high - found.position_low + 1))
    return result | {
        "mean number of positions in an interval": width,
        "cpu": {"fit": float(np.median(seconds)), "intervals": cpu},
    }


def main() -> None:
    """Run the data sets asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="holds llmfao/, irish/, ml-1m/")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    file = given.output / "seeds_agree.json"
    for name in given.sets.split(","):
        if name not in SETS:
            parser.error(f"no set {name!r}: choose from {', '.join(SETS)}")
    for name in given.sets.split(","):
        old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        result = run_set(name, given.data, given.seeds)
        print(name, json.dumps(result, indent=1), flush=True)
        save("seeds_agree", old | {name: result}, given.output, range(given.seeds))


if __name__ == "__main__":
    main()
