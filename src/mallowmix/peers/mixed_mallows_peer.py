"""M4 itself behind the interface of the peers: one fit, or several averaged and calibrated on training people."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.calibrate import calibrate
from mallowmix.fitting.fit import fit
from mallowmix.model.m4 import M4
from mallowmix.peers.component_mixture import FittedMixture, of_model


@dataclass(frozen=True)
class MixedMallowsPeer:
    """Shared rankings followed with noise, in proportions of each person's own. Needs comparisons, a few at least of each person;
    assumes that K rankings are enough and that a person's comparisons are independent given their proportions.

    n_fits : fits whose predictions are averaged
    calibrated : how far a person's comparisons and the prior are trusted is chosen on training people (`calibrate`), which takes
        about as long again as the fit
    options : of `fit`
    """

    n_fits: int = 1
    calibrated: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = "M4"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        model = learnt(data, n_components, seed, n_fits=self.n_fits, **self.options)
        if self.calibrated:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MallowmixWarning)
                model = calibrate(model, data, seed=seed)
        trust = model.calibration
        chosen = (
            (("evidence", trust.evidence), ("scale", trust.scale), ("vertex", trust.vertex))
            if self.calibrated
            else ()
        )
        return of_model(model, chosen)


def learnt(data: Comparisons, n_components: int, seed: int, **options: Any) -> M4:
    """`fit` without its notes: who compares systems learns from the scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(data, n_components, seed=seed, **options)
