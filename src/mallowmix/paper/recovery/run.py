"""How well planted rankings are recovered: the default method and its shorter forms, the oracle told θ, the printed method."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.planted_population import Population
from mallowmix.typing import Progress

Row = dict[str, Any]
_STEP = Step.RECOVERY
METHODS = ("none", "short", "full", "oracle", "printed")  # in the order in which they run
# the printed method is slow and far off: two seeds, small populations
_PRINTED_SEEDS, _PRINTED_USERS = (2, 3000)
QUICK_USERS = 3000
_SIZES = ("n_users", "n_items", "n_components", "per_user", "phi", "alpha")
_MEASURES = ("error", "phi_bias", "phi_worst", "alpha_ratio")
COLUMNS = ("setting", *_SIZES, "seed", "method", "version", *_MEASURES)


@dataclass(frozen=True)
class Setting:
    """A population to draw, and the mean error (fraction of discordant pairs) that the default method must not pass."""

    n_users: int = 3000
    phi: float = 0.5
    target: float | None = None
    n_items: int = 100
    n_components: int = 10
    per_user: int = 300
    alpha: float = 0.1

    @property
    def name(self) -> str:
        """In the paper's letters."""
        sizes = f"Q={self.n_items} K={self.n_components} N={self.per_user} M={self.n_users}"
        return f"{sizes} phi={self.phi:g} alpha={self.alpha:g}"

    @property
    def has_goal(self) -> bool:
        """Whether the oracle's error is within reach: enough comparisons a person, and people who follow few components."""
        return self.per_user >= 50 and self.alpha <= 0.1


SETTINGS = (
    Setting(1000, 0.0, 0.001),
    Setting(1000, 0.2, 0.003),
    Setting(1000, 0.5, 0.006),
    Setting(1000, 0.8, 0.016),
    Setting(3000, 0.2, 0.0002),
    Setting(3000, 0.5, 0.0016),
    Setting(3000, 0.8, 0.008),
    Setting(10_000, 0.5, 0.0002),
    Setting(3000, 0.5, 0.007, n_components=20),
    Setting(3000, 0.5, 0.0005, n_items=30),
    Setting(3000, 0.5, 0.014, alpha=1.0),
    Setting(10_000, 0.5, 0.004, per_user=50),
    Setting(100_000, 0.5, 0.004, per_user=10),
)


class Task(NamedTuple):
    """One number to find: a population, and who is asked to recover it."""

    setting: Setting
    seed: int
    method: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a row of the table is known by."""
        return (self.setting.name, str(self.seed), self.method, __version__)


def tasks(
    settings: Iterable[Setting] = SETTINGS, n_seeds: int = 5, *, printed: bool = True
) -> list[Task]:
    """Everything to run, all the methods of a population together."""
    return [
        Task(setting, seed, method)
        for setting in settings
        for seed in range(n_seeds)
        for method in METHODS
        if method != "printed"
        or (printed and seed < _PRINTED_SEEDS and setting.n_users <= _PRINTED_USERS)
    ]


def quick_tasks() -> list[Task]:
    """One seed of the smaller populations, without the printed method: minutes."""
    return tasks(
        [setting for setting in SETTINGS if setting.n_users <= QUICK_USERS], 1, printed=False
    )


def rows(
    todo: Iterable[Task], *, n_jobs: int | None = None, progress: Progress | None = None
) -> Iterator[Row]:
    """One row a task, as soon as it is known. A population is drawn and fitted once where its tasks follow each other."""
    population, of = None, None
    for task in todo:
        setting, seed, method = task
        if population is None or of != (setting, seed):
            of, truth = (setting, seed), planted(setting, seed)
            population = Population(
                truth,
                setting.n_users,
                setting.per_user,
                seed=seed,
                n_jobs=n_jobs,
                progress=progress,
            )
        about = {"setting": setting.name, **{name: getattr(setting, name) for name in _SIZES}}
        task = {"seed": seed, "method": method, "version": __version__}
        yield about | task | measures(population.truth, population.answer(method))


def planted(setting: Setting, seed: int) -> M4:
    """A model with uniformly drawn reference rankings."""
    Q, K = setting.n_items, setting.n_components
    sigma = generator(seed, _STEP).permuted(np.tile(np.arange(Q, dtype=np.int32), (K, 1)), axis=1)
    names = [f"{i:0{len(str(Q))}d}" for i in range(Q)]
    return M4(sigma, np.full(K, setting.phi), np.full(K, setting.alpha), np.array(names, object))


def measures(truth: AnyModel, found: AnyModel) -> Row:
    """How far the found model is off: rankings, dispersions, and the sum of α."""
    matched = match_components(found.sigma, truth.sigma)
    off = found.phi[matched.found] - truth.phi[matched.truth]
    return {
        "error": float(matched.kendall.mean()),  # fraction of discordant pairs
        "phi_bias": float(off.mean()),
        "phi_worst": float(np.abs(off).max()),
        "alpha_ratio": float(found.alpha.sum() / truth.alpha.sum()),
    }
