"""Figure 3: the error of the reference rankings against the number of people, for four dispersions."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.model.m4 import M4
from mallowmix.model.separability import separability
from mallowmix.paper.experiment import Experiment, Request, Row, key
from mallowmix.paper.figure3.report import report
from mallowmix.paper.movielens_files import read_films
from mallowmix.paper.planted_population import Population
from mallowmix.paper.recovery.run import measures
from mallowmix.paper.references import PHIS, Sigma, movielens_references, random_references

Q, K, N, ALPHA = 100, 10, 300, 0.1
PEOPLE, QUICK_PEOPLE = (300, 1000, 3000, 10_000, 30_000), (300, 1000)
METHODS = ("full", "oracle", "printed")
KINDS = ("movielens", "random")
COLUMNS = ("references", "phi", "people", "seed", "method", "error", "separability", "version")


class Task(NamedTuple):
    """Whose references, the dispersion, how many people, and who is asked to find the references."""

    references: str
    phi: float
    people: int
    seed: int
    method: str

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by."""
        return key(*self)


def tasks(request: Request) -> list[Task]:
    """All methods of a population together. Quick: one seed, few people, two dispersions."""
    sizes, phis, seeds = (
        (QUICK_PEOPLE, PHIS[::3], 1) if request.quick else (PEOPLE, PHIS, request.n_seeds)
    )
    populations = [
        (kind, phi, people, s)
        for kind in KINDS
        for people in sizes
        for phi in phis
        for s in range(seeds)
    ]
    return [Task(*population, method) for population in populations for method in METHODS]


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """One row a task; a population is drawn once for its tasks."""
    population, of = None, None
    for task in todo:
        if population is None or of != task[:4]:
            of, truth = task[:4], planted(task, request.data)
            population = Population(
                truth,
                task.people,
                N,
                seed=task.seed,
                n_jobs=request.n_jobs,
                progress=request.progress,
            )
        error = measures(population.truth, population.answer(task.method))["error"]
        yield dict(
            zip(
                COLUMNS,
                (*task, error, separability(population.truth.beta()), __version__),
                strict=True,
            )
        )


def planted(task: Task, data: Path | None) -> M4:
    """The model behind a population."""
    sigma = (
        _from_movielens(data)
        if task.references == "movielens"
        else random_references(Q, K, task.seed)
    )
    names = [f"{i:0{len(str(Q))}d}" for i in range(Q)]
    return M4(sigma, np.full(K, task.phi), np.full(K, ALPHA), np.array(names, object))


@cache
def _from_movielens(data: Path | None) -> Sigma:
    return movielens_references(read_films(data), Q, K)


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    about = f"{row['references']} references, φ = {row['phi']:g}, M = {row['people']:,}, seed {row['seed']}"
    return f"{about}, {row['method']}: {row['error']:.5f}"


EXPERIMENT = Experiment(
    COLUMNS, ("references", "phi", "people", "seed", "method"), tasks, rows, said, report
)
