"""CPU-seconds of a fit on one thread, which a loaded machine does not change much.

`python -m benchmarks.cpu_seconds` prints a row for each size: seconds, products of the users ×
pairs matrix with 20 columns on the same data (scipy), and the error of the rankings.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mallowmix as mm
from benchmarks.planted import Setting, count_matrix, draw, error_of, truth_of
from benchmarks.protocol import answers_of, read_films
from benchmarks.record import timed

N_COLUMNS = 20
MIXED = Setting(per_user=100)
ONE = Setting(n_items=200, n_components=1, per_user=100)
N_FILMS, FILM_COMPONENTS = 200, 8


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
        yield Case(f"K = 10, {n:.0e}", draw(MIXED, M), MIXED.n_components, truth_of(MIXED))
    yield Case("K = 1, 1e+06", draw(ONE, 10_000), 1, truth_of(ONE))


def films_case(folder: Path) -> Case:
    """The most rated films of MovieLens, as in `benchmarks.protocol`."""
    answers = answers_of(read_films(folder, N_FILMS)[0], seed=0)
    winner, loser = (np.concatenate(side) for side in zip(*answers, strict=True))
    user = np.repeat(np.arange(len(answers)), [len(each[0]) for each in answers])
    comparisons = mm.Comparisons.from_arrays(user, winner, loser)
    return Case(f"{N_FILMS} films", comparisons, FILM_COMPONENTS)


def row_of(case: Case) -> str:
    """A row of the Markdown table."""
    X = count_matrix(case.comparisons)
    V = np.random.default_rng(0).standard_normal((X.shape[1], N_COLUMNS))
    product = min(timed(lambda: X @ V, time.process_time)[0] for _ in range(9))
    seconds, model = timed(
        lambda: mm.fit(case.comparisons, case.n_components, n_jobs=1, predictor=False),
        time.process_time,
    )
    error = "–" if case.truth is None else f"{error_of(model.sigma, case.truth):.5f}"
    return f"| {case.name} | {seconds:.2f} | {seconds / product:.0f} | {error} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--films", type=Path, help="the folder of moviedata.mat")
    options = parser.parse_args()
    for K in (1, 3):  # compiles
        mm.fit(draw(Setting(20, 3, 50), 100), K, n_jobs=1, predictor=False)
    print("| data | CPU-seconds | products | error |\n|---|---|---|---|")
    for case in planted_cases(options.comparisons):
        print(row_of(case), flush=True)
    if options.films:
        print(row_of(films_case(options.films)), flush=True)


if __name__ == "__main__":
    main()
