"""The systems of Table 2, each learnt from the training ratings; M4 and TM share a fit."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.rating_prediction import Rule, predict_ratings
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.experiment import Request
from mallowmix.paper.paper_method import PaperMethod, chosen_settings
from mallowmix.paper.table2.fold_weights import RATING_CALIBRATION, fold_weights
from mallowmix.paper.table2.ratings_split import RatingColumns, RatingsSplit
from mallowmix.paper.table2.star_profiles import learn_profiles, predict_stars
from mallowmix.peers.bias import Bias
from mallowmix.peers.bpmf import BPMF
from mallowmix.peers.interface import rmse
from mallowmix.peers.pmf import PMF
from mallowmix.peers.tm import best_floor
from mallowmix.readers.rating_forms import capped, comparisons_from_ratings
from mallowmix.typing import Array

_USER_CAP = 8.0  # a user counts for at most so many independent comparisons in learning
_N_FITS = 4  # fits whose predictions are averaged
# candidates for a of `predict_ratings`, tuned on training ratings held out
_TEMPERS = (1.0, 2.0, 3.0, 5.0, 8.0)
# candidates for TM's floor, to begin with: the prior probability of a coin flip, without which a
# choice against all rankings has probability 0
_FLOORS = (0.02, 0.05, 0.1, 0.2, 0.4)
PAPER_RATING_SYSTEM = "M4, Algorithms 1–4"
_RULES: dict[str, Rule] = {"printed rule": "printed", "marginals": "marginals"}


class RatingSystem:
    """A system after learning; what several of its predictions need is computed once.

    Parameters
    ----------
    split : RatingsSplit
        The ratings to learn from and those to predict.
    system : str
        Its name, one of the column "system"; "TM" and "M4" are served by one object.
    k : int
        The number of components or dimensions.
    request : Request
        The number of threads, and the progress.
    """

    def __init__(self, split: RatingsSplit, system: str, k: int, request: Request) -> None:
        self.family, self.k, self.request = _family(system), k, request
        self.train, self.targets = split.train, split.test[:2]
        self._found: dict[str, Array] = {}

    def serves(self, system: str, k: int) -> bool:
        """Whether it has learnt what this system needs."""
        return (self.family, self.k) == (_family(system), k)

    def predict(self, system: str, variant: str) -> Array:
        """The stars of the test ratings.

        Parameters
        ----------
        system, variant : str
            The system, and which of its predictions.

        Returns
        -------
        (n,) array of float
            A number of stars for each test rating.
        """
        if variant in _RULES:
            model = self._with_floor(system, _RULES[variant])
            return self._stars(replace(model, ensemble=Ensemble()), _RULES[variant])
        stars = self._real(system, variant)
        if "rounded" not in variant:
            return stars
        return np.clip(np.rint(stars), self._table.scale[0], self._table.scale[-1])

    def _real(self, system: str, variant: str) -> Array:
        """The prediction before rounding."""
        if "star profiles" in variant:
            return self._once("star profiles", self._star_profiles)
        if system in ("TM", "M4", PAPER_RATING_SYSTEM):
            return self._once(system, lambda: self._posterior(system))
        peer: Any = {"PMF": PMF, "BPMF": BPMF}.get(system, Bias)()
        return self._once(
            system, lambda: peer.fit(self.train, max(self.k, 1)).predict(*self.targets)
        )

    def _once(self, name: str, compute: Callable[[], Array]) -> Array:
        if name not in self._found:
            self._found[name] = compute()
        return self._found[name]

    @cached_property
    def _table(self) -> RatingTable:
        return rating_table(self.train)

    @cached_property
    def _models(self) -> dict[str, FittedModel]:
        """M4 from the training comparisons, and TM: the same rankings without dispersion."""
        if self.family == PAPER_RATING_SYSTEM:
            return {self.family: _learn_as_the_paper(self.train, self.k, self.request)}
        model = _learn_m4(self.train, self.k, self.request)
        return {"M4": model, "TM": _without_dispersion(model)}

    @cached_property
    def _held(self) -> tuple[RatingColumns, RatingColumns]:
        return held_ratings(self.train)

    def _with_floor(self, system: str, rule: Rule, **calibration: float) -> FittedModel:
        """The model; TM's with the floor that predicts training ratings held out best."""
        made = replace(Calibration(), **calibration)
        model = replace(self._models[system], calibration=made)
        if system != "TM":
            return model

        def floored(eps: float) -> FittedModel:
            return replace(model, calibration=replace(made, spam_share=eps))

        single = rule != "posterior"  # from one fit

        def loss_of(eps: float) -> float:
            tried = floored(eps)
            return self._held_error(replace(tried, ensemble=Ensemble()) if single else tried, rule)

        return floored(best_floor(loss_of, _FLOORS))

    def _held_error(self, model: FittedModel, rule: Rule, a: float = 3.0) -> float:
        given, held_out = self._held
        found = predict_ratings(model, given, held_out[:2], rule, a=a, n_jobs=self.request.n_jobs)
        return rmse(found.mean if rule == "posterior" else found.mode, held_out[2])

    def _stars(self, model: FittedModel, rule: Rule) -> Array:
        n_jobs = self.request.n_jobs
        return predict_ratings(model, self.train, self.targets, rule, n_jobs=n_jobs).mode

    def _posterior(self, system: str) -> Array:
        """The posterior rule's mean, tempered as predicts training ratings held out best."""
        model = self._with_floor(
            system,
            "posterior",
            likelihood_weight=RATING_CALIBRATION.likelihood_weight,
            prior_scale=RATING_CALIBRATION.prior_scale,
        )
        errors = {a: self._held_error(model, "posterior", a) for a in _TEMPERS}
        a, n_jobs = min(errors, key=errors.__getitem__), self.request.n_jobs
        return predict_ratings(model, self.train, self.targets, a=a, n_jobs=n_jobs).mean

    def _star_profiles(self) -> Array:
        table, request = self._table, self.request
        weights = fold_weights(
            self._models["M4"], table, n_jobs=request.n_jobs, progress=request.progress
        )
        profiles = learn_profiles(table, weights)
        return predict_stars(profiles, table, *table.numbers(*self.targets))


def _family(system: str) -> str:
    """TM and M4 share their fit."""
    return "M4" if system == "TM" else system


def _learn_m4(train: RatingColumns, k: int, request: Request) -> FittedModel:
    """Several fits of the training comparisons, with capped user weights."""
    comparisons = capped(comparisons_from_ratings(*train), _USER_CAP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(
            comparisons,
            k,
            n_fits=_N_FITS,
            predictor=False,
            n_jobs=request.n_jobs,
            progress=request.progress,
        )


def _without_dispersion(model: FittedModel) -> FittedModel:
    """TM: φ = 0 in every fit."""
    members = (replace(member, phi=np.zeros(member.n_components)) for member in model.ensemble)
    m4 = replace(model.m4, phi=np.zeros(model.n_components))
    return FittedModel(m4, model.report, ensemble=Ensemble(tuple(members)))


def held_ratings(train: RatingColumns) -> tuple[RatingColumns, RatingColumns]:
    """Nine tenths of the training ratings, and the tenth by which settings are chosen."""
    held = generator(0, Step.TABLE_2).permutation(len(train[0])) < len(train[0]) // 10
    user, item, stars = train
    return (user[~held], item[~held], stars[~held]), (user[held], item[held], stars[held])


def _learn_as_the_paper(train: RatingColumns, k: int, request: Request) -> FittedModel:
    """Algorithms 1 to 4; metric and ζ by the printed rule's error on training ratings held out."""
    given, held_out = held_ratings(train)

    def loss_of(model: M4) -> float:
        found = predict_ratings(model, given, held_out[:2], "printed", n_jobs=request.n_jobs)
        return rmse(found.mode, held_out[2])

    tried = PaperMethod(comparisons_from_ratings(*given), k, request.n_jobs)
    options = chosen_settings(tried, loss_of)
    learnt = PaperMethod(comparisons_from_ratings(*train), k, request.n_jobs)
    return as_fitted(learnt.learn(options)[0])
