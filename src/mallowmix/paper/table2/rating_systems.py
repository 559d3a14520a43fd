"""The systems of Table 2, each learnt from the training ratings; M4 and TM share a fit.

Every constant comes from `SettingsChoice`, which sees training ratings alone.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.infer.rating_prediction import Rule, predict_ratings
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel, as_fitted
from mallowmix.paper.paper_method import PaperMethod
from mallowmix.paper.table2.fold_weights import fold_weights
from mallowmix.paper.table2.rating_settings import searched, settings_text
from mallowmix.paper.table2.ratings_split import RatingsSplit
from mallowmix.paper.table2.settings_choice import (
    COARSE,
    POSTERIOR,
    SettingsChoice,
    learn_m4,
    without_dispersion,
)
from mallowmix.paper.table2.star_profiles import learn_profiles, predict_stars
from mallowmix.paper.table2.utilities_stars import learnt_on_stars, reading
from mallowmix.peers.bias import Bias
from mallowmix.peers.bpmf import BPMF
from mallowmix.peers.pmf import PMF
from mallowmix.readers.rating_forms import comparisons_from_ratings
from mallowmix.typing import Array

PAPER_RATING_SYSTEM = "M4, Algorithms 1–4"
PREDICTOR, TUNED_PMF = "predictor", "PMF, penalty chosen"
_PEERS: dict[str, Any] = {"user + item bias": Bias(), "PMF": PMF(), "BPMF": BPMF()}
_RULES: dict[str, Rule] = {"printed rule": "printed", "marginals": "marginals"}


class PredictedStars(NamedTuple):
    """Predicted stars, and the settings that were chosen for them, in a few words."""

    stars: Array
    settings: str = ""


class RatingSystem:
    """A system after learning; what several of its predictions need is computed once.

    Parameters
    ----------
    split : RatingsSplit
        The ratings to learn from and those to predict.
    system : str
        Its name, one of the column "system"; "TM", "M4" and "predictor" are served by one object.
    k : int
        The number of components or dimensions.
    choice : SettingsChoice
        The constants, chosen on the training ratings.
    """

    def __init__(self, split: RatingsSplit, system: str, k: int, choice: SettingsChoice) -> None:
        self.family, self.k, self.choice = _family(system), k, choice
        self.request = choice.request
        self.train, self.targets = split.train, split.test[:2]
        self._found: dict[str, PredictedStars] = {}

    def serves(self, system: str, k: int) -> bool:
        """Whether it has learnt what this system needs."""
        return (self.family, self.k) == (_family(system), k)

    def predict(self, system: str, variant: str) -> PredictedStars:
        """The stars of the test ratings, and by which settings.

        Parameters
        ----------
        system, variant : str
            The system, and which of its predictions.

        Returns
        -------
        PredictedStars
            A number of stars for each test rating.
        """
        real, _, rounded = variant.partition(", ")
        if real == "rounded":
            real, rounded = "real", real
        name = f"{system}, {real}"
        if name not in self._found:
            self._found[name] = self._computed(system, real)
        stars, settings = self._found[name]
        if rounded:
            stars = np.clip(np.rint(stars), self._table.scale[0], self._table.scale[-1])
        return PredictedStars(stars, settings)

    def _computed(self, system: str, variant: str) -> PredictedStars:
        """The prediction before rounding."""
        if variant in _RULES:
            return self._mode(system, _RULES[variant])
        if variant == "posterior":
            return self._posterior(system)
        if variant == "star profiles":
            return self._star_profiles()
        if system == PREDICTOR:
            return self._utilities(variant)
        return self._peer(system)

    @cached_property
    def _table(self) -> RatingTable:
        return rating_table(self.train)

    @cached_property
    def _fitted(self) -> FittedModel:
        """M4 from the training comparisons, with the predictor of the same call."""
        cap = self.choice.m4.user_cap
        return learn_m4(self.train, self.k, cap, self.request, predictor=True)

    @cached_property
    def _learnt_as_the_paper(self) -> FittedModel:
        method = PaperMethod(comparisons_from_ratings(*self.train), self.k, self.request.n_jobs)
        return as_fitted(method.learn(self.choice.algorithms(self.k))[0])

    def _model(self, system: str) -> FittedModel:
        if system == PAPER_RATING_SYSTEM:
            return self._learnt_as_the_paper
        m4 = replace(self._fitted, predictor=None)
        return without_dispersion(m4) if system == "TM" else m4

    def _mode(self, system: str, rule: Rule) -> PredictedStars:
        """A rule of the paper, which takes the most probable number of stars."""
        model, text = self._model(system), ""
        if system == PAPER_RATING_SYSTEM:
            options = self.choice.algorithms(self.k)
            text = f"metric {options.metric}, zeta {options.zeta:.4g}"
        if system == "TM":
            settings = self.choice.tm_floor(rule)
            model = replace(model, calibration=Calibration(spam_share=settings.floor))
            text = settings_text(settings, ("floor",))
        n_jobs = self.request.n_jobs
        found = predict_ratings(model, self.train, self.targets, rule, n_jobs=n_jobs)
        return PredictedStars(found.mode, text)

    def _posterior(self, system: str) -> PredictedStars:
        names, floored = POSTERIOR, system == "TM"
        if system == PAPER_RATING_SYSTEM:
            settings = self.choice.algorithms_posterior
        elif floored:
            settings, names = self.choice.tm, ("floor", *names)
        else:
            settings, names = self.choice.m4, (*names, "user_cap")
        model = replace(self._model(system), calibration=settings.calibration(floored=floored))
        abc, n_jobs = {name: getattr(settings, name) for name in "abc"}, self.request.n_jobs
        found = predict_ratings(model, self.train, self.targets, n_jobs=n_jobs, **abc)
        return PredictedStars(found.mean, settings_text(settings, names))

    def _star_profiles(self) -> PredictedStars:
        settings, table = self.choice.profiles, self._table
        weights = fold_weights(
            self._fitted,
            table,
            self.choice.m4.calibration(),
            n_jobs=self.request.n_jobs,
            progress=self.request.progress,
        )
        profiles = learn_profiles(table, weights, settings)
        stars = predict_stars(profiles, table, *table.numbers(*self.targets))
        return PredictedStars(stars, settings_text(settings))

    def _utilities(self, variant: str) -> PredictedStars:
        """The predictor's utilities: read as stars, or where learning on stars begins."""
        settings, table, predictor = self.choice.utilities, self._table, self._fitted.predictor
        assert predictor is not None
        profiles, names = reading(table, predictor, settings), ("scale", "generosity")
        if variant == "learnt on stars":
            profiles = learnt_on_stars(table, profiles, settings.strength)
            names = (*names, "strength")
        stars = predict_stars(profiles, table, *table.numbers(*self.targets))
        return PredictedStars(stars, settings_text(settings, names))

    def _peer(self, system: str) -> PredictedStars:
        text, peer = "", _PEERS.get(system)
        if peer is None:
            penalty = self._pmf_penalty()
            peer, text = PMF(penalty=penalty), f"penalty {penalty:.4g}"
        return PredictedStars(peer.fit(self.train, max(self.k, 1)).predict(*self.targets), text)

    def _pmf_penalty(self) -> float:
        """The λ of PMF that predicts training ratings held out best, at this K."""

        def loss_of(settings: PMF) -> float:
            return self.choice.peer_error(
                lambda given, held_out: settings.fit(given, self.k).predict(*held_out[:2])
            )

        return searched(PMF(), ("penalty",), loss_of, COARSE).penalty


def _family(system: str) -> str:
    """TM, M4 and the predictor come from one call of `fit`."""
    return "M4" if system in ("TM", PREDICTOR) else system
