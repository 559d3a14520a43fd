"""A million people out of core: weights and predictions, block by block from disk.

    python -m benchmarks.many_people [--people 1e6] [--per-person 20]
        writes benchmarks/results/many_people.json

People of a planted model are written as Parquet and sorted into a store; a plain `fit` of the
store gives the model and its predictor. Then everyone's weights are inferred, and everyone's
answers to five pairs are predicted, by the components alone and by the predictor. CPU milliseconds
a person, the ratio of the two predictions, and the peak of memory.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.planted import Setting, truth_of
from benchmarks.record import RESULTS, about, save, timed
from benchmarks.scale_data import write_shards
from mallowmix.model.predictor import member_name

SETTING = Setting(n_items=20, n_components=3, phi=0.6)
MEMORY = "1GB"


def measure(folder: Path, n_people: int, per_person: int) -> dict[str, Any]:
    """Write, store, fit, infer and predict; the row for the results."""
    truth = truth_of(SETTING)
    write_shards(folder / "votes", truth, n_people, n_people * per_person)
    stored = mm.store_comparisons(folder / "votes", folder / "store", memory=MEMORY)
    fit_seconds, model = timed(lambda: mm.fit(stored), time.process_time)
    pairs = [(str(i), str(i + 10)) for i in range(5)]

    def a_person(call: Callable[[], Any]) -> tuple[float, Any]:
        seconds, answer = timed(call, time.process_time)
        return 1000 * seconds / n_people, answer

    weights_ms, theta = a_person(lambda: mm.weights(model, stored))
    alone_ms, alone = a_person(lambda: mm.predict(model.components, stored, pairs))
    predict_ms, found = a_person(lambda: mm.predict(model, stored, pairs))
    assert len(theta) == len(found) == len(alone)
    return {
        "people": len(found),
        "comparisons": n_people * per_person,
        "members": [member_name(each) for each in model.predictor.members],
        "fit_cpu_seconds": fit_seconds,
        "weights_ms": weights_ms,
        "components_ms": alone_ms,
        "predictor_ms": predict_ms,
        "ratio": predict_ms / alone_ms,
        "mean_gap": float(np.abs(np.asarray(found) - np.asarray(alone)).mean()),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "memory_bound": MEMORY,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=float, default=1e6)
    parser.add_argument("--per-person", type=int, default=20)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mallowmix-people-") as folder:
        row = measure(Path(folder), int(given.people), given.per_person)
    print({key: row[key] for key in ("people", "weights_ms", "predictor_ms", "ratio", "peak_mb")})
    save("many_people", about() | row, given.output)


if __name__ == "__main__":
    main()
