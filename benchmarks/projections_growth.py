"""Theorem 1: how the time of `method="projections"` grows with M, N, K and Q, against O(MNK +
Q²K³).

python -m benchmarks.projections_growth    writes benchmarks/results/projections_growth.json

Each of the four is doubled three times, the others held. A ratio of 2 a doubling is linear, 4 is
quadratic. With P = 150 K projections the first term is MN·P: linear in M, N and K, and without Q.
The second is a loose bound of the regression: quadratic in Q, at most cubic in K. Neither counts
the neighbourhoods: a row of E for every ball that is looked at, which is what grows with Q. One
thread, its own processor time; the lesser of two runs.
"""

import argparse
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.engine import ThreadEngine
from mallowmix.learn.paper.components_from_topics import components_from_topics
from mallowmix.learn.paper.novel_pairs import find_novel_pairs
from mallowmix.learn.paper.pair_moments import HalfMoments
from mallowmix.learn.paper.ranking_matrix import estimate_ranking_matrix

BASE = {"M": 8000, "N": 50, "K": 2, "Q": 30}
VALUES = {
    "M": [4000, 8000, 16_000, 32_000],
    "N": [25, 50, 100, 200],
    "K": [2, 4, 8, 16],
    "Q": [10, 20, 40, 80],
}


def draw(M: int, N: int, K: int, Q: int) -> mm.Comparisons:
    """Comparisons of a planted model."""
    random = np.random.default_rng(1)
    model = mm.M4(
        [random.permutation(Q) for _ in range(K)], np.full(K, 0.1), np.full(K, 0.3), np.arange(Q)
    )
    return model.sample(M, N, seed=1).comparisons


def time_stages(comparisons: mm.Comparisons, K: int) -> dict[str, float]:
    """Seconds in each algorithm, one thread."""
    marks = [time.process_time()]
    E = HalfMoments(comparisons, engine=ThreadEngine(1))
    marks.append(time.process_time())
    novel = find_novel_pairs(E, K, min_count=0.2)
    marks.append(time.process_time())
    B = estimate_ranking_matrix(E, novel.pairs).B
    marks.append(time.process_time())
    components_from_topics(B)
    marks.append(time.process_time())
    stages = ("halves", "novel_pairs", "ranking_matrix", "components")
    assert not [note for note in novel.notes if "zeta" in note], (
        "ζ was lowered: that is more than one search"
    )
    seconds = [end - start for start, end in pairwise(marks)]
    return dict(zip(stages, seconds, strict=True)) | {"all": sum(seconds)}


def measure(sizes: dict[str, int], repeats: int = 2) -> dict[str, float]:
    """The least time of each stage over some runs."""
    comparisons = draw(**sizes)
    runs = [time_stages(comparisons, sizes["K"]) for _ in range(repeats)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def growth(name: str, values: list[int]) -> dict:
    """Times as one size is doubled, and the ratio of each to the one before."""
    times = [measure(BASE | {name: value}) for value in values]
    ratios = {stage: [b[stage] / a[stage] for a, b in pairwise(times)] for stage in times[0]}
    return {"doubled": name, "values": values, "seconds": times, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measure({"M": 50, "N": 10, "K": 2, "Q": 6}, repeats=1)  # compile the kernels
    with threadpool_limits(1):
        tables = [growth(name, values) for name, values in VALUES.items()]
    about = {"base": BASE, "bound": "O(MNK + Q²K³)", "min_count": 0.2, "threads": 1}
    save("projections_growth", {"about": about, "growth": tables}, options.out)
    for table in tables:
        seconds = ", ".join(f"{run['all']:.2f}" for run in table["seconds"])
        ratios = ", ".join(f"{ratio:.2f}" for ratio in table["ratios"]["all"])
        print(f"{table['doubled']} = {table['values']}: {seconds} s, ratios {ratios}")


if __name__ == "__main__":
    main()
