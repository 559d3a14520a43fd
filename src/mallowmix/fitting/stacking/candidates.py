"""The members that are tried: each learnt on every fold, judged on its held-out users, and learnt once more on all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mallowmix.engine import Engine
from mallowmix.fitting.stacking.held_out_users import Fold, balanced_loss, mean_loss
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pooled_prediction import (
    member_probabilities,
    mixed_membership_probabilities,
)
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.learn.rankings.rankings_em import FIRST_ERROR_RATE, fit_rankings
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_em import UtilitiesRound, first_parameters, utilities_path
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.predictor import CalibratedModel, Member
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

_ROUNDS = (2, 3, 4, 6, 8, 11, 15, 20, 27, 36)  # where the path of EM is looked at
_PATIENCE = 2  # looks without a gain, after which it stops
_FIRST_PHI = 0.7
LIKELIHOOD_WEIGHTS = (1.0, 0.5, 0.25, 0.12, 0.06)
PRIOR_SCALES = (1.0, 3.0, 0.3, 10.0)


@dataclass(frozen=True)
class Candidate:
    """A member's predictions of each fold's hidden comparisons, and how to learn it on all users."""

    probabilities: tuple[Array, ...]
    finish: Callable[[], Member]


def utilities_candidate(
    folds: Sequence[Fold], everyone: Sequence[Any], K: int, items: Any, seed: int, engine: Engine
) -> tuple[Candidate, tuple[UtilitiesModel, ...]]:
    """A mixture of Gaussian utilities, stopped where it predicts best; and each fold's model."""
    Q = len(items)

    def path(blocks: Sequence[Any], most: int) -> Iterator[UtilitiesRound]:
        start = first_parameters(initial_means(list(blocks), Q, K, seed))
        return utilities_path(blocks, start, engine, max_rounds=most)

    n_rounds, models, probabilities = _best_rounds(folds, path, items)

    def finish() -> Member:
        *_, last = path(everyone, n_rounds)
        return _utilities_model(last.parameters, items)

    return Candidate(probabilities, finish), models


def _best_rounds(
    folds: Sequence[Fold],
    path: Callable[[Sequence[Any], int], Iterator[UtilitiesRound]],
    items: Any,
) -> tuple[int, tuple[UtilitiesModel, ...], tuple[Array, ...]]:
    """How many rounds predict the held-out users best, with the models and their predictions."""
    paths = [path(fold.blocks, _ROUNDS[-1]) for fold in folds]
    best: tuple[int, tuple[UtilitiesModel, ...], tuple[Array, ...]] | None = None
    least, waited, done = np.inf, 0, 0
    for mark in _ROUNDS:
        rounds = [_advance(each, mark - done) for each in paths]
        done = mark
        models = tuple(_utilities_model(each.parameters, items) for each in rounds)
        found = tuple(_predicted(fold, model) for fold, model in zip(folds, models, strict=True))
        loss = float(
            np.mean([balanced_loss(fold.held_out, p) for fold, p in zip(folds, found, strict=True)])
        )
        if loss < least:
            least, best, waited = loss, (mark, models, found), 0
        else:
            waited += 1
        if waited == _PATIENCE:
            break
    assert best is not None
    return best


def _advance(path: Iterator[UtilitiesRound], n: int) -> UtilitiesRound:
    return [next(path) for _ in range(n)][-1]


def _utilities_model(parameters: UtilitiesParameters, items: Any) -> UtilitiesModel:
    shares = np.exp(parameters.log_shares)
    return UtilitiesModel(parameters.means, parameters.covariance, shares / shares.sum(), items)


def _predicted(fold: Fold, member: Member) -> Array:
    return member_probabilities(fold.held_out.block, member, fold.held_out.queries)


def rankings_candidate(
    folds: Sequence[Fold],
    everyone: Sequence[Any],
    starts: Sequence[UtilitiesModel],
    items: Any,
    seed: int,
    engine: Engine,
) -> Candidate:
    """Personal rankings, whose references begin with the orders of the utilities' means."""

    def learnt(blocks: Sequence[Any], start: UtilitiesModel) -> RankingsModel:
        sigma = np.argsort(np.argsort(-start.means, axis=1, kind="stable"), axis=1)
        phi = np.full(start.n_components, _FIRST_PHI)
        first = RankingsModel(sigma, phi, start.shares, FIRST_ERROR_RATE, items)
        return fit_rankings(blocks, first, engine, seed=seed)

    models = [learnt(fold.blocks, start) for fold, start in zip(folds, starts, strict=True)]
    found = tuple(_predicted(fold, model) for fold, model in zip(folds, models, strict=True))
    return Candidate(found, lambda: learnt(everyone, starts[0]))


def mixed_membership_candidate(
    folds: Sequence[Fold], shown: FittedModel, fit_one: Callable[[Any, int], FittedModel]
) -> Candidate:
    """The shown model, with the calibration under which models of the folds predict best."""
    models = [fit_one(fold.train, n) for n, fold in enumerate(folds)]

    def found(calibration: Calibration) -> tuple[Array, ...]:
        return tuple(
            mixed_membership_probabilities(
                fold.held_out.block,
                prepare_components(model.components, calibration),
                _queries(fold),
            )
            for fold, model in zip(folds, models, strict=True)
        )

    def loss(calibration: Calibration) -> float:
        return float(
            np.mean(
                [
                    mean_loss(fold.held_out, p)
                    for fold, p in zip(folds, found(calibration), strict=True)
                ]
            )
        )

    best = Calibration()
    for name, grid in (("likelihood_weight", LIKELIHOOD_WEIGHTS), ("prior_scale", PRIOR_SCALES)):
        tried = [replace(best, **{name: value}) for value in grid]
        best = min(tried, key=loss)
    return Candidate(found(best), lambda: CalibratedModel(shown.components, best))


def _queries(fold: Fold) -> Queries:
    return fold.held_out.queries
