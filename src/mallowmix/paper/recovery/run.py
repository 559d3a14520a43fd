"""How well planted rankings are recovered: the default method, the oracle, the paper's method."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.planted_population import PlantedPopulation, recovery_error
from mallowmix.paper.recovery.planted_settings import PLANTED_SETTINGS, PlantedSetting
from mallowmix.paper.recovery.report import RECOVERY_METHODS, report

# the paper's method is slow and far off: two seeds, small populations
_PAPER_SEEDS, _PAPER_USERS = (2, 3000)
_QUICK_USERS = 3000
_SIZES = ("n_users", "n_items", "n_components", "per_user", "phi", "alpha")
_ERRORS = ("error", "phi_bias", "phi_worst", "alpha_ratio")
_COLUMNS = ("setting", *_SIZES, "seed", "method", "version", *_ERRORS)


class RecoveryTask(NamedTuple):
    """A population, and the method that recovers its rankings."""

    setting: PlantedSetting
    seed: int
    method: str

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(self.setting.name, self.seed, self.method)


def recovery_tasks(
    settings: Iterable[PlantedSetting], n_seeds: int, *, with_paper: bool = True
) -> list[RecoveryTask]:
    """Everything to run, all methods of a population together.

    Parameters
    ----------
    settings : iterable of PlantedSetting
        The populations.
    n_seeds : int
        The number of seeds of each.
    with_paper : bool
        Whether to run the paper's method, where the population is small enough.

    Returns
    -------
    list of RecoveryTask
        The tasks.
    """
    return [
        RecoveryTask(setting, seed, method)
        for setting in settings
        for seed in range(n_seeds)
        for method in RECOVERY_METHODS
        if method != "paper" or (with_paper and _fits_paper(setting, seed))
    ]


def _fits_paper(setting: PlantedSetting, seed: int) -> bool:
    return seed < _PAPER_SEEDS and setting.n_users <= _PAPER_USERS


def _tasks(request: Request) -> list[RecoveryTask]:
    """Quick: one seed of the smaller populations, without the paper's method: minutes."""
    if not request.quick:
        return recovery_tasks(PLANTED_SETTINGS, request.n_seeds)
    small = [setting for setting in PLANTED_SETTINGS if setting.n_users <= _QUICK_USERS]
    return recovery_tasks(small, 1, with_paper=False)


def _rows(tasks: Iterable[RecoveryTask], request: Request) -> Iterator[Row]:
    """One row for each task; a population is drawn once for tasks that follow each other."""
    population, drawn = None, None
    for task in tasks:
        setting, seed, method = task
        if population is None or drawn != (setting, seed):
            population, drawn = _population(task, request), (setting, seed)
        sizes = {name: getattr(setting, name) for name in _SIZES}
        about = {"seed": seed, "method": method, "version": __version__}
        error = recovery_error(population.truth, population.estimate(method))
        yield {"setting": setting.name, **sizes, **about, **asdict(error)}


def _population(task: RecoveryTask, request: Request) -> PlantedPopulation:
    setting, seed, n_jobs = task.setting, task.seed, request.n_jobs
    sizes = (setting.n_users, setting.per_user)
    return PlantedPopulation(
        setting.model(seed), *sizes, seed=seed, n_jobs=n_jobs, progress=request.progress
    )


def _describe(row: Mapping[str, Any]) -> str:
    return f"{row['setting']} seed {row['seed']} {row['method']}: {row['error']:.5f}"


EXPERIMENT = Experiment(_COLUMNS, ("setting", "seed", "method"), _tasks, _rows, _describe, report)
