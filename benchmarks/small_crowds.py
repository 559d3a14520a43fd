"""Small crowds: what a plain fit predicts of new people where few people teach, or say little.

python -m benchmarks.small_crowds --data DIR [--sets ballots-12,ballots-60,…] [--first-seed 300]
    writes benchmarks/results/small_crowds.json

DIR holds llmfao/, irish/ and ml-1m/, from which small crowds are drawn at random, another one in
each split: 12 ballots, say, of which a third are those of test people. The splits are those of
`benchmarks.protocol`. For each kind of crowd: the log-loss of one ranking for all, and by how much
the predictor of a plain `fit`, its Gaussian utilities alone and the components alone are better,
with 95% intervals over splits. The coin's log-loss is .693: with eight people to learn from, one
ranking for all is worse than that.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import protocol
from benchmarks.real_people import gaps
from benchmarks.record import RESULTS, load, save
from benchmarks.rivals import LEVEL
from mallowmix.typing import Array

ALONE = "one ranking (log-loss)"


class Crowd(NamedTuple):
    """A kind of crowd: from which data, of how many people, and how often it is drawn."""

    source: str  # votes, ballots, or films
    n_people: int
    n_splits: int
    n_films: int = 0
    most_rated: int | None = None  # films of a person


CROWDS = {
    "votes-45": Crowd("votes", 45, 12),
    "ballots-12": Crowd("ballots", 12, 60),
    "ballots-60": Crowd("ballots", 60, 30),
    "ballots-300": Crowd("ballots", 300, 10),
    "films-10-60": Crowd("films", 60, 30, n_films=10),
    "films-20-100": Crowd("films", 100, 16, n_films=20),
    "films-50-150": Crowd("films", 150, 8, n_films=50),
    "films-100-600": Crowd("films", 600, 4, n_films=100, most_rated=10),
}


def split(crowd: Crowd, folder: Path, seed: int) -> tuple[protocol.Split, int]:
    """Draw a crowd and split it; also the number of items."""
    random = np.random.default_rng([seed, crowd.n_people])
    if crowd.source == "votes":
        everyone, Q = protocol.read_llmfao(folder / "llmfao")
        return protocol.split_votes(_some(everyone, crowd, random), seed), Q
    if crowd.source == "ballots":
        everyone, Q = protocol.read_ballots(folder / "irish" / "dublin-west-2002.soi")
    else:
        everyone, Q = protocol.read_films(folder / "ml-1m", crowd.n_films)
    return protocol.split_levels(_some(everyone, crowd, random), seed), Q


def _some(
    everyone: list[protocol.Answers], crowd: Crowd, random: np.random.Generator
) -> list[protocol.Answers]:
    people = [everyone[m] for m in random.permutation(len(everyone))[: crowd.n_people]]
    if crowd.most_rated is None:
        return people
    orders = [random.permutation(len(items))[: crowd.most_rated] for items, _ in people]
    return [(items[kept], level[kept]) for (items, level), kept in zip(people, orders, strict=True)]


def measured(crowd: Crowd, folder: Path, seed: int) -> dict[str, float]:
    """One split: the log-loss of one ranking, and what others gain; means over people."""
    parts, Q = split(crowd, folder, seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found, _ = gaps(parts, Q)
    mean = {name: float(np.nanmean(each)) for name, each in found.items()}
    utilities = [gain for name, gain in mean.items() if name.startswith("Gaussian utilities")]
    kept = {name: mean[name] for name in (ALONE, "predictor", "components alone")}
    return kept | {"Gaussian utilities": float(np.mean(utilities))} if utilities else kept


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """The mean over splits of each number, and half the width of its 95% interval."""
    names = dict.fromkeys(name for row in rows for name in row)
    values = {name: np.array([row[name] for row in rows if name in row]) for name in names}
    return {name: {"mean": float(x.mean()), "half_width": _half(x)} for name, x in values.items()}


def _half(x: Array) -> float:
    return LEVEL * float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def main(arguments: list[str] | None = None) -> None:
    """Measure the crowds asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(CROWDS))
    parser.add_argument("--splits", type=int, help="instead of as many as are usual for each")
    parser.add_argument("--first-seed", type=int, default=300)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    for name in given.sets.split(","):
        if name not in CROWDS:
            parser.error(f"no crowd {name!r}: choose from {', '.join(CROWDS)}")
    for name in given.sets.split(","):
        seeds = range(given.first_seed, given.first_seed + (given.splits or CROWDS[name].n_splits))
        results = {"splits": len(seeds)} | summary(
            [measured(CROWDS[name], given.data, seed) for seed in seeds]
        )
        print(name, results, flush=True)
        others = load("small_crowds", given.output) or {}
        save("small_crowds", others | {name: results}, given.output, seeds)


if __name__ == "__main__":
    main()
