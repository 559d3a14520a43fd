"""M4 behind the interface of the peers: one fit, or several averaged and calibrated."""

import warnings
from dataclasses import dataclass, field
from typing import Literal

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
    engine : str or Engine, optional
        Where passes over users run, as in `fit`.
    """

    n_fits: int = 1
    calibrated: bool = False
    method: FitOptions = field(default_factory=SpectralOptions)
    components: ComponentsKind = "mallows"
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
            model = calibrate(model, data, seed=seed, engine=self.engine)
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
