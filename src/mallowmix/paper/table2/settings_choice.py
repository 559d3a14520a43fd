"""Every constant of Table 2, chosen on a tenth of the training ratings.

What is learnt for a choice is learnt from the other nine tenths, with K = 10; what is chosen holds
for every K. The systems of the table are then learnt from all training ratings.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import Literal, NamedTuple

import numpy as np

from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.rating_prediction import Rule, predict_ratings
from mallowmix.infer.user_ratings import RatingPrediction
from mallowmix.model.calibration import Calibration
from mallowmix.model.fit_options import ProjectionsOptions, SpectralOptions
from mallowmix.model.fitted_model import FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.paper.experiment import Request
from mallowmix.paper.paper_method import PaperMethod, chosen_settings
from mallowmix.paper.table2.fold_weights import fold_weights
from mallowmix.paper.table2.rating_settings import RatingSettings, searched
from mallowmix.paper.table2.ratings_split import RatingColumns, held_ratings, of_some_users
from mallowmix.paper.table2.star_profiles import (
    ProfileSettings,
    StarProfiles,
    learn_profiles,
    predict_stars,
)
from mallowmix.paper.table2.utilities_stars import ReadingSettings, learnt_on_stars, reading
from mallowmix.peers.interface import rmse
from mallowmix.readers.rating_forms import capped, comparisons_from_ratings
from mallowmix.typing import Array

_K = 10
_PART_OF_USERS = 3  # rules are judged on every third user
COARSE = (2.0,)  # factors of the search, where trying once takes long
_SHORT = SpectralOptions(refine="short")
# the mean of θ depends on the likelihood's weight relative to the prior's scale, which stays 1
POSTERIOR = ("likelihood_weight", "a", "b", "c")


class _Judges(NamedTuple):
    """Ratings given, and ratings to predict."""

    given: RatingColumns
    held_out: RatingColumns


class SettingsChoice:
    """The constants, each computed when it is first asked for.

    Parameters
    ----------
    train : RatingColumns
        The training ratings.
    request : Request
        The number of threads.
    """

    def __init__(self, train: RatingColumns, request: Request) -> None:
        self.request, self._all = request, _Judges(*held_ratings(train))
        self._some = _Judges(*(of_some_users(part, _PART_OF_USERS) for part in self._all))
        self._fits: dict[float, FittedModel] = {}
        self._projections: dict[int, ProjectionsOptions] = {}

    @cached_property
    def m4(self) -> RatingSettings:
        """Of M4: the cap in learning, by short fits, and the posterior rule, by a whole one."""

        @cache
        def short(user_cap: float) -> FittedModel:
            return learn_m4(self._all.given, _K, user_cap, self.request, _SHORT)

        def cap_loss(settings: RatingSettings) -> float:
            return self._posterior_error(short(settings.user_cap), settings)

        found = searched(RatingSettings(), (*POSTERIOR, "user_cap"), cap_loss, COARSE)
        model = self._m4_capped(found.user_cap)

        def loss_of(settings: RatingSettings) -> float:
            return self._posterior_error(model, settings)

        return searched(found, POSTERIOR, loss_of)

    @cached_property
    def tm(self) -> RatingSettings:
        """Of TM, which has M4's rankings: the floor and the posterior rule."""
        model = without_dispersion(self._m4_capped(self.m4.user_cap))

        def loss_of(settings: RatingSettings) -> float:
            return self._posterior_error(model, settings, floored=True)

        return searched(self.m4, ("floor", *POSTERIOR), loss_of)

    def tm_floor(self, rule: Rule) -> RatingSettings:
        """Of TM by a rule of the paper: the floor."""
        model = without_dispersion(self._m4_capped(self.m4.user_cap))

        def loss_of(settings: RatingSettings) -> float:
            calibration = Calibration(spam_share=settings.floor)
            return self.rule_error(replace(model, calibration=calibration), rule)

        return searched(RatingSettings(), ("floor",), loss_of, COARSE)

    @cached_property
    def algorithms_posterior(self) -> RatingSettings:
        """Of Algorithms 1 to 4: the posterior rule."""
        model = as_fitted(self._algorithms(_K).learn(self.algorithms(_K))[0])

        def loss_of(settings: RatingSettings) -> float:
            return self._posterior_error(model, settings)

        return searched(self.m4, POSTERIOR, loss_of)

    def algorithms(self, k: int) -> ProjectionsOptions:
        """Of Algorithms 1 to 4, for each K: metric and ζ, by the printed rule's error."""

        def loss_of(model: M4) -> float:
            return self.rule_error(as_fitted(model), "printed")

        if k not in self._projections:
            self._projections[k] = chosen_settings(self._algorithms(k), loss_of)
        return self._projections[k]

    @cached_property
    def profiles(self) -> ProfileSettings:
        """Of star profiles."""
        table, calibration = self._table, self.m4.calibration()
        model, n_jobs = self._m4_capped(self.m4.user_cap), self.request.n_jobs
        weights = fold_weights(model, table, calibration, n_jobs=n_jobs)

        @cache
        def learnt(penalty: float) -> StarProfiles:
            return learn_profiles(table, weights, ProfileSettings(penalty))

        def loss_of(settings: ProfileSettings) -> float:
            scale, generosity = settings.scale, settings.generosity
            profiles = learnt(settings.penalty)
            return self._stars_error(replace(profiles, scale=scale, generosity=generosity))

        return searched(ProfileSettings(), ("penalty", "scale", "generosity"), loss_of)

    @cached_property
    def utilities(self) -> ReadingSettings:
        """Of the predictor's utilities: the line, then the strength of the prior."""
        # K decides the components that are shown, and hardly the predictor: a short fit will do
        cap, request = self.m4.user_cap, self.request
        model = learn_m4(self._all.given, _K, cap, request, _SHORT, predictor=True)
        predictor = model.predictor
        assert predictor is not None

        any_line = reading(self._table, predictor, ReadingSettings())

        def line_loss(settings: ReadingSettings) -> float:
            scale, generosity = settings.scale, settings.generosity
            return self._stars_error(replace(any_line, scale=scale, generosity=generosity))

        line = searched(ReadingSettings(), ("scale", "generosity"), line_loss)
        begin = reading(self._table, predictor, line)

        def loss_of(settings: ReadingSettings) -> float:
            return self._stars_error(learnt_on_stars(self._table, begin, settings.strength))

        return searched(line, ("strength",), loss_of, COARSE)

    def peer_error(self, predict: Callable[[RatingColumns, RatingColumns], Array]) -> float:
        """The error of ``predict(given, held_out)``, stars for the tenth that is held out.

        Parameters
        ----------
        predict : callable
            Learns from the given ratings.
        """
        return rmse(predict(*self._all), self._all.held_out[2])

    def rule_error(self, model: FittedModel, rule: Rule) -> float:
        """The error of a rule of the paper, of the mode that it takes."""
        found = self._predicted(model, rule, RatingSettings())
        return rmse(found.mode, self._some.held_out[2])

    def _posterior_error(
        self, model: FittedModel, settings: RatingSettings, *, floored: bool = False
    ) -> float:
        model = replace(model, calibration=settings.calibration(floored=floored))
        found = self._predicted(model, "posterior", settings)
        return rmse(found.mean, self._some.held_out[2])

    def _predicted(
        self, model: FittedModel, rule: Rule, settings: RatingSettings
    ) -> RatingPrediction:
        given, held_out = self._some
        n_jobs, a, b, c = self.request.n_jobs, settings.a, settings.b, settings.c
        return predict_ratings(model, given, held_out[:2], rule, a=a, b=b, c=c, n_jobs=n_jobs)

    def _stars_error(self, profiles: StarProfiles) -> float:
        user, item, stars = self._all.held_out
        return rmse(predict_stars(profiles, self._table, *self._table.numbers(user, item)), stars)

    @cached_property
    def _table(self) -> RatingTable:
        return rating_table(self._all.given)

    def _m4_capped(self, user_cap: float) -> FittedModel:
        if user_cap not in self._fits:
            self._fits[user_cap] = learn_m4(self._all.given, _K, user_cap, self.request)
        return self._fits[user_cap]

    def _algorithms(self, k: int) -> PaperMethod:
        return PaperMethod(comparisons_from_ratings(*self._all.given), k, self.request.n_jobs)


def learn_m4(
    ratings: RatingColumns,
    k: int,
    user_cap: float,
    request: Request,
    method: SpectralOptions | Literal["spectral"] = "spectral",
    *,
    predictor: bool = False,
) -> FittedModel:
    """One fit of the comparisons that ratings make, with capped user weights.

    Parameters
    ----------
    ratings : RatingColumns
        What is learnt from.
    k : int
        The number of components.
    user_cap : float
        As in `capped`.
    request : Request
        The number of threads, and the progress.
    method : SpectralOptions, optional
        Of `fit`.
    predictor : bool
        Whether the predictor is learnt too.
    """
    comparisons = capped(comparisons_from_ratings(*ratings), user_cap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(
            comparisons,
            k,
            method=method,
            predictor=predictor,
            n_jobs=request.n_jobs,
            progress=request.progress,
        )


def without_dispersion(model: FittedModel) -> FittedModel:
    """TM: the same rankings with φ = 0."""
    return FittedModel(replace(model.m4, phi=np.zeros(model.n_components)), model.report)
