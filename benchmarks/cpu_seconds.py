"""CPU-seconds of a fit on one thread, which a loaded machine does not change much.

python -m benchmarks.cpu_seconds [--comparisons 1e5 1e6 1e7] [--data DIR] [--earlier DIR]
    writes benchmarks/results/cpu_seconds.json; a section of docs/benchmarks.md is made of it

For each population: the components alone with their number given (`predictor=False`), the same with
the predictor, beside one product of the users × pairs matrix with 20 columns on the same data
(scipy), and the error of the rankings. For one component Bradley–Terry stands beside it. The folder
of data holds ml-1m/ and irish/, for films and ballots; with the checkout of an earlier version its
fit, of components alone, stands beside the others. The predictor is left out of the largest.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks.earlier_version import seconds_of
from benchmarks.planted import Setting, count_matrix, draw, error_of, truth_of
from benchmarks.protocol import Answers, answers_of, read_ballots, read_films
from benchmarks.record import RESULTS, about, save, timed
from mallowmix.peers.baselines import BradleyTerry

N_COLUMNS = 20
MIXED = Setting(per_user=100)
ONE = Setting(n_items=200, n_components=1, per_user=100)
FILMS, FILM_COMPONENTS = (100, 200), 8
BALLOTS, BALLOT_COMPONENTS = 2000, 4
MOST = 2_000_000  # comparisons: larger data are fitted without a predictor


class Case(NamedTuple):
    """Comparisons, how many components they are fitted with, and the planted model if any."""

    name: str
    comparisons: mm.Comparisons
    n_components: int
    truth: mm.M4 | None = None


def planted_cases(sizes: list[float]) -> Iterator[Case]:
    """Ten components of 100 items; then one of 200 items, a million comparisons of it."""
    for n in sizes:
        M = round(n / MIXED.per_user)
        yield Case(f"{n:,.0f} comparisons", draw(MIXED, M), MIXED.n_components, truth_of(MIXED))
    yield Case("1,000,000 comparisons, one ranking", draw(ONE, 10_000), 1, truth_of(ONE))


def films_case(folder: Path, n_films: int) -> Case:
    """The most rated films of MovieLens, as in `benchmarks.protocol`."""
    people = read_films(folder / "ml-1m", n_films)[0]
    return Case(f"{n_films} films", _comparisons(people), FILM_COMPONENTS)


def ballots_case(folder: Path) -> Case:
    """Some ballots of Dublin West, drawn at random."""
    people = read_ballots(folder / "irish" / "dublin-west-2002.soi")[0]
    drawn = np.random.default_rng(0).choice(len(people), BALLOTS, replace=False)
    ballots = _comparisons([people[m] for m in drawn])
    return Case(f"{BALLOTS:,} ballots", ballots, BALLOT_COMPONENTS)


def _comparisons(people: list[Answers]) -> mm.Comparisons:
    answers = answers_of(people, seed=0)
    winner, loser = (np.concatenate(side) for side in zip(*answers, strict=True))
    user = np.repeat(np.arange(len(answers)), [len(each[0]) for each in answers])
    return mm.Comparisons.from_arrays(user, winner, loser)


def cases_of(sizes: list[float], folder: Path | None) -> Iterator[Case]:
    """Planted populations, then real people where their data are; one at a time in memory."""
    yield from planted_cases(sizes)
    if folder:
        yield ballots_case(folder)
        yield from (films_case(folder, n) for n in FILMS)


def row_of(case: Case, earlier: Path | None = None) -> dict[str, Any]:
    """CPU-seconds of a product, of fits, and of Bradley–Terry for one component."""
    X = count_matrix(case.comparisons)
    V = np.random.default_rng(0).standard_normal((X.shape[1], N_COLUMNS))
    given, K = case.comparisons, case.n_components
    product = min(_cpu(lambda: X @ V)[0] for _ in range(9))
    alone, model = _cpu(lambda: mm.fit(given, K, n_jobs=1, predictor=False))
    row = {"name": case.name, "comparisons": given.n_comparisons, "n_components": K}
    row |= {"product_seconds": product, "seconds": alone}
    if case.truth is not None:
        row["error"] = error_of(model.sigma, case.truth)
    if given.n_comparisons <= MOST:
        row["seconds_with_predictor"] = _cpu(lambda: mm.fit(given, K, n_jobs=1))[0]
    if earlier:
        row["earlier_seconds"] = seconds_of(earlier, given, K)
    if K == 1:
        row["bradley_terry_seconds"] = _cpu(lambda: BradleyTerry().fit(given))[0]
    return row


def _cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    with threadpool_limits(1):  # threads of BLAS that wait for each other count as busy
        return timed(call, time.process_time)


def main(arguments: list[str] | None = None, folder: Path = RESULTS) -> None:
    """Measure, say each row, and keep all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--data", type=Path, help="the folder of ml-1m/ and irish/")
    parser.add_argument("--earlier", type=Path, help="a checkout of an earlier version")
    options = parser.parse_args(arguments)
    for K in (1, 3):  # compiles
        small = draw(Setting(20, 3, 50), 100)
        timed(lambda K=K, small=small: mm.fit(small, K, n_jobs=1))
        BradleyTerry().fit(small)
    rows = []
    for case in cases_of(options.comparisons, options.data):
        rows.append(row_of(case, options.earlier))
        print(rows[-1], flush=True)
    save("cpu_seconds", {"about": about(), "rows": rows}, folder)


if __name__ == "__main__":
    main()
