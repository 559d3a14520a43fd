"""Table 2: how well ratings of MovieLens are predicted, the root mean squared error on the paper's test ratings.

All is learnt from the training ratings, and what is tuned is tuned on a tenth of these, held out of what is told of people. The
test ratings are looked at once, by the rows written here.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.rating_prediction import predict_ratings
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import AnyModel, FittedModel
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.experiment import Experiment, Request, Row, key
from mallowmix.paper.table2.ratings_split import Columns, RatingsSplit, read_split
from mallowmix.paper.table2.report import PRINTED, report
from mallowmix.paper.table2.star_profiles import CALIBRATION, learn_profiles, predict_stars, tastes
from mallowmix.peers.bias import Bias
from mallowmix.peers.bpmf import BPMF
from mallowmix.peers.interface import rmse
from mallowmix.peers.pmf import PMF
from mallowmix.readers.rating_forms import capped, comparisons_from_ratings
from mallowmix.typing import Array

_STEP = Step.TABLE_2
N_ITEMS, KS = 100, (10, 15, 20)
# a person counts for at most so many independent comparisons; fits whose predictions are averaged
CAP, N_FITS = (8.0, 4)
# candidates for a of `predict_ratings`, tuned on training ratings held out
TEMPERS = (1.0, 2.0, 3.0, 5.0, 8.0)
# TM's floor: the prior share of coin flips, without which a choice against all rankings has
# probability 0
SPAM = 0.2
COLUMNS = ("system", "variant", "k", "rmse", "paper", "version")
VARIANTS = {
    "PMF": ("real",),
    "BPMF": ("real", "rounded"),
    "TM": ("printed rule", "posterior", "posterior, rounded"),
    "M4": (
        "printed rule",
        "posterior",
        "posterior, rounded",
        "star profiles",
        "star profiles, rounded",
    ),
}


class Task(NamedTuple):
    """A system, how its prediction is read, and K (0 where there is none to choose)."""

    system: str
    variant: str
    k: int

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by."""
        return key(*self)


def tasks(request: Request) -> list[Task]:
    """Everything at each K, the baseline first; the quick twin has the largest K alone."""
    ks = KS[-1:] if request.quick else KS
    rest = [
        Task(system, variant, k)
        for k in ks
        for system, variants in VARIANTS.items()
        for variant in variants
    ]
    return [Task("user + item bias", "real", 0), Task("user + item bias", "rounded", 0), *rest]


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """One row a task; a system is learnt once for its rows that follow each other."""
    todo = list(todo)
    if not todo:
        return
    split, learnt = read_split(request.data, N_ITEMS), None
    for task in todo:
        if learnt is None or learnt.of != (_family(task.system), task.k):
            learnt = _Learnt(split, task.system, task.k, request)
        error = rmse(learnt.predict(task), split.test[2])
        paper = PRINTED.get((task.system, task.variant, task.k), "")
        yield dict(zip(COLUMNS, (*task, error, paper, __version__), strict=True))


def _family(system: str) -> str:
    """TM and M4 share their fit."""
    return "M4" if system == "TM" else system


class _Learnt:
    """A system after it has seen the training ratings; what several rows need is found once."""

    def __init__(self, split: RatingsSplit, system: str, k: int, request: Request) -> None:
        self.of, self.train, self.request = (_family(system), k), split.train, request
        self.ask = split.test[:2]

    def predict(self, task: Task) -> Array:
        """(n,) stars of the test ratings' people and films."""
        if task.variant == "printed rule":
            return predict_ratings(
                replace(self.models[task.system], ensemble=Ensemble()),
                self.train,
                self.ask,
                "printed",
            ).mode
        stars = self._real(task)
        return (
            np.clip(np.rint(stars), self.table.scale[0], self.table.scale[-1])
            if "rounded" in task.variant
            else stars
        )

    def _real(self, task: Task) -> Array:
        if task.system in ("TM", "M4"):
            return self.stars if "star profiles" in task.variant else self.posterior(task.system)
        peer: Any = {"PMF": PMF, "BPMF": BPMF}.get(task.system, Bias)()
        return self._once(
            task.system, lambda: peer.fit(self.train, max(task.k, 1)).predict(*self.ask)
        )

    def _once(self, name: str, find: Callable[[], Array]) -> Array:
        if name not in self._found:
            self._found[name] = find()
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, Array]:
        return {}

    @cached_property
    def table(self) -> RatingTable:
        return rating_table(self.train)

    @cached_property
    def models(self) -> dict[str, FittedModel]:
        """M4 from the training comparisons, and TM: the same rankings without dispersion."""
        model = learn_m4(self.train, self.of[1], self.request)
        return {"M4": model, "TM": without_dispersion(model)}

    def posterior(self, system: str) -> Array:
        """The posterior rule's mean, with the tempering that predicts training ratings held out best."""
        trusted = replace(
            self.models[system],
            calibration=replace(CALIBRATION, spam_share=SPAM if system == "TM" else 0.0),
        )
        return self._once(
            system, lambda: tempered(trusted, self.train, self.ask, self.request.n_jobs)
        )

    @cached_property
    def stars(self) -> Array:
        """By star profiles."""
        model, table, request = self.models["M4"], self.table, self.request
        profiles = learn_profiles(
            table, tastes(model, table, n_jobs=request.n_jobs, progress=request.progress)
        )
        return predict_stars(profiles, table, *table.numbers(*self.ask))


def learn_m4(train: Columns, k: int, request: Request) -> FittedModel:
    """Several fits of the training comparisons, everybody's say capped."""
    votes = capped(comparisons_from_ratings(*train), CAP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(votes, k, n_fits=N_FITS, n_jobs=request.n_jobs, progress=request.progress)


def without_dispersion(model: FittedModel) -> FittedModel:
    """TM: φ = 0 in every fit."""
    members = (replace(member, phi=np.zeros(member.n_components)) for member in model.ensemble)
    m4 = replace(model.m4, phi=np.zeros(model.n_components))
    return FittedModel(m4, model.report, ensemble=Ensemble(tuple(members)))


def tempered(model: AnyModel, train: Columns, ask: tuple[Any, Any], n_jobs: int | None) -> Array:
    """The posterior rule with `a` chosen on a tenth of the training ratings, told of the other nine."""
    held = generator(0, _STEP).permutation(len(train[0])) < len(train[0]) // 10
    given, held_out = (tuple(column[rows] for column in train) for rows in (~held, held))
    errors = {
        a: rmse(predict_ratings(model, given, held_out[:2], a=a, n_jobs=n_jobs).mean, held_out[2])
        for a in TEMPERS
    }
    return predict_ratings(
        model, train, ask, a=min(errors, key=errors.__getitem__), n_jobs=n_jobs
    ).mean


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    printed = f" (the paper {row['paper']:.4f})" if row["paper"] else ""
    return f"{row['system']}, {row['variant']}, K = {row['k'] or '–'}: {row['rmse']:.4f}{printed}"


EXPERIMENT = Experiment(COLUMNS, ("system", "variant", "k"), tasks, rows, said, report)
