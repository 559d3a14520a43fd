"""`fit` on a GPU and on threads, the same data.

The same rankings, how far φ is apart, how long each takes.

python -m benchmarks.gpu_engine -o FOLDER prints a line for each size and writes gpu_engine.json
    into FOLDER.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from mallowmix.model.fit_options import SpectralOptions

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
import mallowmix as mm  # noqa: E402
from mallowmix.engine.gpu.gpu_engine import GpuEngine  # noqa: E402
from mallowmix.errors import MallowmixWarning  # noqa: E402
from mallowmix.model.permutations import match_components  # noqa: E402

# people, comparisons each, items, components
SIZES = ((3_000, 100, 60, 5), (20_000, 200, 100, 10), (200_000, 100, 100, 10))


def planted(M: int, N: int, Q: int, K: int, seed: int = 0) -> tuple[mm.M4, mm.Comparisons]:
    """A model with random references, and a population of it."""
    random = np.random.default_rng(seed)
    names = [f"{i:03d}" for i in range(Q)]
    truth = mm.M4(
        [random.permutation(Q) for _ in range(K)], np.full(K, 0.3), np.full(K, 0.1), names
    )
    return truth, truth.sample(M, N, seed=seed + 1).comparisons


def both(M: int, N: int, Q: int, K: int, refine: str) -> dict:
    """Fit on threads and on the GPU, each once to warm up on a few people and once in earnest."""
    truth, votes = planted(M, N, Q, K)
    row: dict = {"people": M, "per_person": N, "items": Q, "components": K, "refine": refine}
    found = {}
    for name, engine in (("threads", "threads"), ("gpu", GpuEngine())):
        mm.fit(
            votes.take_users(np.arange(500)),
            K,
            method=SpectralOptions(refine=refine),
            engine=engine,
            predictor=False,
        )
        start = time.perf_counter()
        found[name] = mm.fit(
            votes, K, method=SpectralOptions(refine=refine), engine=engine, predictor=False
        )
        row[f"{name}_seconds"] = time.perf_counter() - start
        row[f"{name}_error"] = float(
            match_components(found[name].sigma, truth.sigma).kendall.mean()
        )
    match = match_components(found["gpu"].sigma, found["threads"].sigma)
    row["same_rankings"] = bool(match.kendall.max() == 0)
    row["largest_difference_of_phi"] = float(
        np.abs(found["gpu"].phi[match.found] - found["threads"].phi).max()
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results")
    output = parser.parse_args().output
    warnings.simplefilter("ignore", MallowmixWarning)
    rows = []
    for size in SIZES:
        for refine in ("short", "full"):
            rows.append(both(*size, refine))
            print(json.dumps(rows[-1]), flush=True)
    output.mkdir(parents=True, exist_ok=True)
    (output / "gpu_engine.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
