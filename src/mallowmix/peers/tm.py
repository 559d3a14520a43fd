"""TM, topic modelling of rankings (Ding, Ishwar, Saligrama, AISTATS 2015): M4 with φ = 0.

A setting of M4's own code, not a second path: φ = 0, or the β that Algorithm 3 returns, without
Algorithm 4's rounding.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixWarning, OptionError
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.learn.paper.algorithm1 import moments_of, novel_pairs_of, ranking_matrix_of
from mallowmix.learn.paper.components_from_topics import conditional_beta
from mallowmix.model.fit_options import ProjectionsOptions, SpectralOptions
from mallowmix.model.fitted_model import FittedModel
from mallowmix.numerics.dirichlet import dirichlet_from_moments
from mallowmix.peers.component_mixture import FittedMixture
from mallowmix.peers.mixed_mallows_peer import fit_quietly
from mallowmix.peers.validation import (
    NEW_ITEMS,
    HoldOut,
    best_of_growing,
    double_odds,
    half_odds,
    loss,
    trial,
)

_ENOUGH = 1500  # users to choose ε by
FLOORS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.95)
"""Candidates for ε to begin with."""


@dataclass(frozen=True)
class TM:
    """Each comparison follows one of K rankings without noise, drawn by the user's weights.

    Needs comparisons by users who made several; assumes no noise, so that a comparison against all
    K rankings has probability 0.

    Parameters
    ----------
    rounded : bool
        σ ∈ {0, 1} from `fit` with φ = 0; if not, β as the regression of Algorithm 3 returned it.
    floor : sequence of float
        Candidates for ε of β ← (1 − ε) β + ε/2, without which held-out likelihoods are −∞. Where
        there are several, it is chosen on training users (`chosen_floor`), and candidates are added
        while the best is at an end of them.
    method : SpectralOptions
        Of `fit`, where rounded.
    unrounded : ProjectionsOptions
        Of Algorithms 2 and 3, where not: distances that need no repeated pair, ζ by the data,
        and no rare pairs, which are noise.
    hold_out : HoldOut
        What is held out of the training users by whom settings are chosen.
    """

    rounded: bool = True
    floor: Sequence[float] = FLOORS
    method: SpectralOptions = field(default_factory=SpectralOptions)
    unrounded: ProjectionsOptions = field(
        default_factory=lambda: ProjectionsOptions(zeta="auto", metric="auto", min_count=0.2)
    )
    hold_out: HoldOut = NEW_ITEMS
    name: str = "TM"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        if not self.floor or not all(0 < eps < 1 for eps in self.floor):
            raise OptionError(
                option="floor",
                value=self.floor,
                expected="one or more numbers between 0 and 1",
            )
        model, prepared = self._learnt(data, n_components, seed)
        eps = self.chosen_floor(data, n_components, seed)
        return FittedMixture(data.items, (floored(prepared, eps),), model, (("floor", eps),))

    def learnt(self, data: Comparisons, n_components: int, *, seed: int = 0) -> PreparedModel:
        """The components and their prior, without a floor."""
        return self._learnt(data, n_components, seed)[1]

    def chosen_floor(self, data: Comparisons, K: int, seed: int) -> float:
        """ε, by learning from two thirds of at most 1,500 users and predicting the others."""
        if len(self.floor) == 1:
            return self.floor[0]
        train, given, held_out = trial(data, seed, _ENOUGH, self.hold_out)
        _, prepared = self._learnt(train, min(K, train.n_users), seed)
        return best_floor(
            lambda eps: loss(FittedMixture(data.items, (floored(prepared, eps),)), given, held_out),
            self.floor,
        )

    def _learnt(
        self, data: Comparisons, K: int, seed: int
    ) -> tuple[FittedModel | None, PreparedModel]:
        if self.rounded:
            model = rounded(fit_quietly(data, K, self.method, seed))
            return model, prepare(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            E = moments_of(data, K, seed=seed)
            novel = novel_pairs_of(E, K, self.unrounded, seed=seed)
            B, a, R = ranking_matrix_of(E, novel, self.unrounded)
        beta, alpha = conditional_beta(B), dirichlet_from_moments(a, R)
        rows = np.ascontiguousarray(beta.reshape(len(beta), -1).T)
        return None, PreparedModel(rows, alpha, alpha / alpha.sum(), 1.0, 0.0)


def best_floor(loss_of: Callable[[float], float], candidates: Sequence[float] = FLOORS) -> float:
    """The ε with the least loss, however it is measured; no end of the candidates unless flat."""
    return best_of_growing(candidates, loss_of, half_odds, double_odds)


def rounded(model: FittedModel) -> FittedModel:
    """The same rankings, followed without noise: φ = 0."""
    return FittedModel(replace(model.m4, phi=np.zeros(model.n_components)), model.report)


def floored(prepared: PreparedModel, eps: float) -> PreparedModel:
    """The same with β ← (1 − ε) β + ε/2."""
    return prepared._replace(beta=(1 - eps) * prepared.beta + eps / 2)
