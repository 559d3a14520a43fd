"""Figure 3: the error of the reference rankings against the number of users, for four φ."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.model.m4 import M4
from mallowmix.model.separability import separability
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.figure3.references import (
    REFERENCE_PHIS,
    movielens_references,
    pmf_references,
    random_references,
)
from mallowmix.paper.figure3.report import report
from mallowmix.paper.movielens_files import read_films
from mallowmix.paper.planted_population import PlantedPopulation, planted_model, recovery_error
from mallowmix.typing import Positions

_Q, _K, _N, _ALPHA = 100, 10, 300, 0.1
_N_USERS, _QUICK_N_USERS = (300, 1000, 3000, 10_000, 30_000, 100_000), (300, 1000)
_METHODS = ("full", "oracle", "paper", "paper-auto")
_REFERENCES = ("movielens", "pmf", "random")
# the paper's method is slow: two seeds, and of many users the least and the largest φ alone
_PAPER_SEEDS, _PAPER_ALL_PHIS = 2, 3000
_KEY = ("references", "phi", "users", "seed", "method")
_COLUMNS = (*_KEY, "error", "separability", "version")


class Figure3Task(NamedTuple):
    """Which references, the dispersion, the number of users, and the method that recovers them."""

    references: str
    phi: float
    users: int
    seed: int
    method: str

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)


def _tasks(request: Request) -> list[Figure3Task]:
    """All methods of a population together, small populations first.

    Quick: one seed, few users, two dispersions.
    """
    sizes, phis, seeds = (_N_USERS, REFERENCE_PHIS, request.n_seeds)
    if request.quick:
        sizes, phis, seeds = (_QUICK_N_USERS, REFERENCE_PHIS[::3], 1)
    return [
        Figure3Task(references, phi, n_users, seed, method)
        for n_users in sizes
        for references in _REFERENCES
        for phi in phis
        for seed in range(seeds)
        for method in _METHODS
        if not method.startswith("paper") or _paper_runs(n_users, phi, seed)
    ]


def _paper_runs(n_users: int, phi: float, seed: int) -> bool:
    """Whether the paper's method runs on this population."""
    ends = (REFERENCE_PHIS[0], REFERENCE_PHIS[-1])
    return seed < _PAPER_SEEDS and (n_users <= _PAPER_ALL_PHIS or phi in ends)


def _rows(tasks: Iterable[Figure3Task], request: Request) -> Iterator[Row]:
    """One row for each task; a population is drawn once for its tasks."""
    population, drawn = None, None
    for task in tasks:
        if population is None or drawn != task[:4]:
            population, drawn = _population(task, request), task[:4]
        truth = population.truth
        error = recovery_error(truth, population.estimate(task.method)).error
        values = (*task, error, separability(truth.beta()), __version__)
        yield dict(zip(_COLUMNS, values, strict=True))


def _population(task: Figure3Task, request: Request) -> PlantedPopulation:
    truth, n_jobs = _planted(task, request.data), request.n_jobs
    return PlantedPopulation(
        truth, task.users, _N, seed=task.seed, n_jobs=n_jobs, progress=request.progress
    )


def _planted(task: Figure3Task, data: Path | None) -> M4:
    """The model behind a population."""
    if task.references == "random":
        return planted_model(random_references(_Q, _K, task.seed), task.phi, _ALPHA)
    return planted_model(_from_films(task.references, data), task.phi, _ALPHA)


@cache
def _from_films(references: str, data: Path | None) -> Positions:
    make = pmf_references if references == "pmf" else movielens_references
    return make(read_films(data), _Q, _K)


def _describe(row: Mapping[str, Any]) -> str:
    population = f"φ = {row['phi']:g}, M = {row['users']:,}, seed {row['seed']}"
    return f"{row['references']} references, {population}, {row['method']}: {row['error']:.5f}"


EXPERIMENT = Experiment(_COLUMNS, _KEY, _tasks, _rows, _describe, report)
