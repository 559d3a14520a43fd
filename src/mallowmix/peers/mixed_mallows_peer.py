"""mallowmix behind the interface of the peers: `fit` as it comes, or M4 alone."""

import warnings
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine
from mallowmix.engine.selection import EngineName
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.calibrate import calibrate
from mallowmix.fitting.fit import fit
from mallowmix.model.fit_options import FitOptions, SpectralOptions
from mallowmix.model.fit_report import ComponentsKind
from mallowmix.model.fitted_model import FittedModel
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.fitted_predictor import FittedPredictor, of_fitted
from mallowmix.peers.validation import NEW_ITEMS, HoldOut


@dataclass(frozen=True)
class DefaultFit:
    """`mallowmix.fit(comparisons)` as it comes; its predictor predicts.

    Needs comparisons. The predictor pools models of how consistent a person is, chosen on training
    users; the number of components that `fit` shows is its own choice.

    Parameters
    ----------
    method : SpectralOptions
        The method of `fit`.
    engine : str or Engine, optional
        Where passes over users run, as in `fit`.
    """

    method: FitOptions = field(default_factory=SpectralOptions)
    name: str = "mallowmix"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    engine: EngineName | Engine | None = None
    has_components: ClassVar[bool] = False

    def fit(
        self, data: Comparisons, n_components: int = 1, *, seed: int = 0
    ) -> FittedPredictor | FittedMixture:
        """Learn from comparisons; where they are too few for a predictor, components predict."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            model = fit(data, method=self.method, seed=seed, engine=self.engine)
        settings = (("n_components", model.n_components),)
        if model.predictor is None:
            return of_model(model, settings)
        return of_fitted(model, (*settings, ("n_members", len(model.predictor.members))))


@dataclass(frozen=True)
class MixedMallowsPeer:
    """M4: shared rankings followed with noise, with weights of each user's own.

    Needs comparisons, a few at least of each user; assumes that K rankings are enough and that a
    user's comparisons are independent given their weights.

    Parameters
    ----------
    n_fits : int
        Fits whose predictions are averaged.
    calibrated : bool
        The likelihood weight of a comparison and the scale of the prior are chosen on training
        users (`calibrate`), which takes about as long again as the fit.
    method : SpectralOptions or ProjectionsOptions
        The method of `fit`.
    components : {"mallows", "bradley-terry"}
        The family of the components.
    hold_out : HoldOut
        What is held out of the training users on whom it is calibrated.
    engine : str or Engine, optional
        Where passes over users run, as in `fit`.
    """

    n_fits: int = 1
    calibrated: bool = False
    method: FitOptions = field(default_factory=SpectralOptions)
    components: ComponentsKind = "mallows"
    hold_out: HoldOut = NEW_ITEMS
    name: str = "M4"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    engine: EngineName | Engine | None = None

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        model = fit_quietly(
            data,
            n_components,
            self.method,
            seed,
            components=self.components,
            n_fits=self.n_fits,
            engine=self.engine,
        )
        if not self.calibrated:
            return of_model(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            by = "items" if self.hold_out.by == "touching" else self.hold_out.by
            share = self.hold_out.given
            model = calibrate(model, data, split=by, given=share, seed=seed, engine=self.engine)
        names = ("likelihood_weight", "prior_scale", "vertex_share")
        return of_model(model, tuple((name, getattr(model.calibration, name)) for name in names))


def fit_quietly(
    data: Comparisons,
    n_components: int,
    method: FitOptions,
    seed: int,
    *,
    components: ComponentsKind = "mallows",
    n_fits: int = 1,
    engine: EngineName | Engine | None = None,
) -> FittedModel:
    """`fit` without warnings: in a comparison of systems the scores matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(
            data,
            n_components,
            method=method,
            components=components,
            n_fits=n_fits,
            predictor=False,
            seed=seed,
            engine=engine,
        )
