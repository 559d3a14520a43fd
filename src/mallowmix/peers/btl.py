"""Bradley–Terry columns in place of rankings: mixed membership (M4's machinery) and the plain mixture, one column a person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, reduce_step
from mallowmix.infer.collapsed_variational import FLOOR, Lens, lens, vertex_posterior
from mallowmix.learn.bradley_terry_components import RIDGE, best_scores
from mallowmix.model.calibration import Calibration
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.mixed_mallows_peer import MixedMallowsPeer, learnt
from mallowmix.peers.validation import best, trial

Array = NDArray[np.float64]
_LEAST = 1e-3  # share of a component


@dataclass(frozen=True)
class MixedBTL:
    """Scores for every item in each of K components, P = Σ_k θ_k σ(s_ki − s_kj), θ a person's own. Needs comparisons, some at
    least of each person; bends more than rankings do, and has Q numbers a component to learn.

    n_fits, calibrated : as for M4 (`peers.mixed_mallows_peer`)
    """

    n_fits: int = 1
    calibrated: bool = False
    name: str = "mixed-membership BTL"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        return MixedMallowsPeer(self.n_fits, self.calibrated, {"columns": "bt"}).fit(
            data, n_components, seed=seed
        )


@dataclass(frozen=True)
class MixtureOfBT:
    """Every person holds one of K Bradley–Terry columns. Needs comparisons; assumes K types of people, all of a type alike.

    Learnt by EM from the columns of mixed-membership fits. evidence : candidates for what one comparison of a person counts for
    when they are placed; chosen on a third of the training people where there are several.
    """

    n_fits: int = 1
    n_iter: int = 20
    evidence: Sequence[float] = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)
    name: str = "mixture of BT"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        evidence = self.evidence[0]
        if len(self.evidence) > 1:
            train, told, asked = trial(data, seed)
            learner = replace(self, n_fits=min(self.n_fits, 4))
            model = learner.learnt(train, min(n_components, train.n_users), seed)
            evidence = best(self.evidence, lambda e: of_model(_trusted(model, e)), told, asked)
        return of_model(
            _trusted(self.learnt(data, n_components, seed), evidence), (("evidence", evidence),)
        )

    def learnt(self, data: Comparisons, K: int, seed: int) -> M4:
        """EM for everybody's column, from each mixed-membership fit."""
        model = learnt(data, K, seed, columns="bt", n_fits=self.n_fits)
        blocks, engine = make_blocks(data), ThreadEngine()
        fits = [
            em(replace(one, others=()), blocks, engine, self.n_iter)
            for one in (model, *model.others)
        ]
        return replace(fits[0], others=tuple(fits[1:]))


def _trusted(model: M4, evidence: float) -> M4:
    return replace(model, calibration=Calibration(evidence=evidence, vertex=1.0))


def em(model: M4, blocks: list[Block], engine: Engine, n_iter: int, *, ridge: float = RIDGE) -> M4:
    """Mixture of Bradley–Terry: which column each person holds, then the columns' scores and shares, and again."""
    Q, K = model.n_items, model.n_components
    scores = np.zeros((K, Q)) if model.scores is None else model.scores
    share, view = model.share, lens(_trusted(model, 1.0))
    for _ in range(n_iter):
        (counts, held), _ = engine.reduce(
            _e_step, blocks, view._replace(beta=_table(scores), share=share)
        )
        scores = np.stack(
            [best_scores(counts[:, k].reshape(Q, Q), ridge, scores[k]) for k in range(K)]
        )
        share = np.maximum(held / held.sum(), _LEAST)
        share /= share.sum()
    sigma = sigma_of(np.argsort(-scores, axis=1, kind="stable"))
    return replace(model, sigma=sigma, scores=scores, alpha=model.alpha.sum() * share)


def _table(scores: Array) -> Array:
    """(Q², K) β of the columns."""
    beta = np.clip(expit(scores[:, :, None] - scores[:, None, :]), FLOOR, 1 - FLOOR)
    return np.ascontiguousarray(beta.reshape(len(scores), -1).T)


@reduce_step("mixture of BT E-step")
def _e_step(block: Block, view: Lens, _: Any) -> tuple[tuple[Array, Array], None]:
    """(Q², K) wins by column, and (K,) how many people hold each."""
    held, _at_vertex = vertex_posterior(block, view, block.weight)
    held = held * block.user_weight[:, None]
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))
    counts = [
        np.bincount(block.pair, block.weight * column[person], block.n_items**2)
        for column in held.T
    ]
    return (np.stack(counts, axis=1).astype(np.float64), held.sum(axis=0)), None
