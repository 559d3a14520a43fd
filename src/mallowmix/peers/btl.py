"""Bradley–Terry components: mixed membership as in M4, and a mixture with one per user."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, reduce_step
from mallowmix.engine.selection import EngineName
from mallowmix.infer.collapsed_variational import vertex_posterior
from mallowmix.infer.prepared_model import PreparedModel, prepare_components
from mallowmix.learn.bradley_terry_components import RIDGE, best_scores
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.model import least_beta
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fitted_model import FittedModel, with_scores
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.mixed_mallows_peer import MixedMallowsPeer, fit_quietly
from mallowmix.peers.validation import (
    LIKELIHOOD_WEIGHTS,
    NEW_ITEMS,
    HoldOut,
    best,
    trial,
)
from mallowmix.typing import Array

_LEAST = 1e-3  # share of a component


@dataclass(frozen=True)
class MixedBTL:
    """Mixed-membership BTL: P = Σ_k θ_k σ(s_ki − s_kj), θ a user's own weights.

    Needs comparisons, some at least of each user; more flexible than rankings, with Q parameters
    per component to learn.

    Parameters
    ----------
    n_fits : int
    calibrated : bool
    hold_out : HoldOut
    engine : str or Engine, optional
        As for M4 (`peers.mixed_mallows_peer`).
    """

    n_fits: int = 1
    calibrated: bool = False
    hold_out: HoldOut = NEW_ITEMS
    name: str = "mixed-membership BTL"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    engine: EngineName | Engine | None = None

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        peer = MixedMallowsPeer(
            self.n_fits,
            self.calibrated,
            components="bradley-terry",
            hold_out=self.hold_out,
            engine=self.engine,
        )
        return peer.fit(data, n_components, seed=seed)


@dataclass(frozen=True)
class MixtureOfBT:
    """Mixture of K Bradley–Terry components, one for each user.

    Needs comparisons; assumes K types of users, all of a type alike. Learnt by EM from the
    components of mixed-membership fits, or from clusters of users where K is too large for those.

    Parameters
    ----------
    n_fits, n_iter : int
        Mixed-membership fits to start from, and iterations of EM.
    likelihood_weights : sequence of float
        Candidates for the likelihood weight of one comparison; where there are several, chosen on a
        third of the training users.
    hold_out : HoldOut
        What is held out of the training users by whom settings are chosen.
    """

    n_fits: int = 1
    n_iter: int = 20
    likelihood_weights: Sequence[float] = LIKELIHOOD_WEIGHTS
    hold_out: HoldOut = NEW_ITEMS
    name: str = "mixture of BT"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        likelihood_weight = self.likelihood_weights[0]
        if len(self.likelihood_weights) > 1:
            train, given, held_out = trial(data, seed, None, self.hold_out)
            learner = replace(self, n_fits=min(self.n_fits, 4))
            model = learner.learnt(train, min(n_components, train.n_users), seed)
            likelihood_weight = best(
                self.likelihood_weights, lambda e: of_model(_at_vertices(model, e)), given, held_out
            )
        return of_model(
            _at_vertices(self.learnt(data, n_components, seed), likelihood_weight),
            (("likelihood_weight", likelihood_weight),),
        )

    def learnt(self, data: Comparisons, K: int, seed: int) -> FittedModel:
        """EM for one component per user, from each initialisation."""
        blocks, engine = make_blocks(data), ThreadEngine()
        fits = [
            em_bradley_terry(start, blocks, engine, self.n_iter)
            for start in self._starts(data, blocks, K, seed)
        ]
        return replace(with_scores(fits[0]), ensemble=Ensemble(tuple(fits[1:])))

    def _starts(
        self, data: Comparisons, blocks: list[Block], K: int, seed: int
    ) -> Sequence[ComponentModel]:
        """Mixed-membership fits; clusters of users where pairs are too few to tell K apart."""
        if data.n_items * (data.n_items - 1) // 2 >= K:
            options = SpectralOptions()
            return fit_quietly(
                data, K, options, seed, components="bradley-terry", n_fits=self.n_fits
            ).members
        seeds = [child_seed(seed, Step.MEAN_START, n) for n in range(self.n_fits)]
        means = [initial_means(blocks, data.n_items, K, each) for each in seeds]
        return [BradleyTerryModel(each, np.full(K, 1 / K), data.items) for each in means]


def _at_vertices(model: FittedModel, likelihood_weight: float) -> FittedModel:
    calibration = Calibration(likelihood_weight=likelihood_weight, vertex_share=1.0)
    return replace(model, calibration=calibration)


def em_bradley_terry(
    model: ComponentModel,
    blocks: list[Block],
    engine: Engine,
    n_iter: int,
    *,
    ridge: float = RIDGE,
) -> BradleyTerryModel:
    """EM for a mixture of Bradley–Terry components.

    Parameters
    ----------
    model : ComponentModel
        The initialisation: its scores, if it has any, and its shares.
    blocks : list of Block
    engine : Engine
    n_iter : int
    ridge : float
        Prior precision of a score.

    Returns
    -------
    BradleyTerryModel
    """
    Q, K = model.n_items, model.n_components
    scores = model.scores if isinstance(model, BradleyTerryModel) else np.zeros((K, Q))
    share, prepared = model.share, prepare_components(model, Calibration(vertex_share=1.0))
    for _ in range(n_iter):
        (counts, held), _ = engine.reduce(
            _e_step, blocks, prepared._replace(beta=_table(scores), share=share)
        )
        wins = [counts[:, k].reshape(Q, Q) for k in range(K)]
        scores = np.stack([best_scores(wins[k], ridge, scores[k]) for k in range(K)])
        share = np.maximum(held / held.sum(), _LEAST)
        share /= share.sum()
    return BradleyTerryModel(scores, model.alpha.sum() * share, model.items)


def _table(scores: Array) -> Array:
    """(Q², K) β of the components."""
    beta = np.clip(
        expit(scores[:, :, None] - scores[:, None, :]),
        least_beta.INFERENCE,
        1 - least_beta.INFERENCE,
    )
    return np.ascontiguousarray(beta.reshape(len(scores), -1).T)


@reduce_step("mixture of BT E-step")
def _e_step(block: Block, prepared: PreparedModel, _: Any) -> tuple[tuple[Array, Array], None]:
    """(Q², K) wins by component, and (K,) how many users belong to each."""
    held, _at_vertex = vertex_posterior(block, prepared, block.weight)
    held = held * block.user_weight[:, None]
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))
    counts = [
        np.bincount(block.pair, block.weight * column[person], block.n_items**2)
        for column in held.T
    ]
    return (np.stack(counts, axis=1).astype(np.float64), held.sum(axis=0)), None
