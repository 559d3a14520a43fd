"""Candidates for members of the predictor: mixed membership and personal rankings.

A candidate is learnt on the users of each fold and judged by what it predicts of the fold's
held-out users. If it becomes a member, it is learnt again on all users.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mallowmix.data.labels import Labels
from mallowmix.engine import Block, Engine, some_users
from mallowmix.fitting.stacking.held_out_users import Fold, mean_loss
from mallowmix.infer.pooled_prediction import (
    member_probabilities,
    mixed_membership_probabilities,
)
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.learn.rankings.rankings_em import FIRST_ERROR_RATE, fit_personal_rankings
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.predictor import CalibratedModel, Member
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

_FIRST_PHI = 0.7
_RANKING_USERS = 500  # are enough to learn reference rankings, dispersions and an error rate
LIKELIHOOD_WEIGHTS = (1.0, 0.5, 0.25, 0.12, 0.06)
PRIOR_SCALES = (1.0, 3.0, 0.3, 10.0)
SPAM_SHARES = (0.0, 0.05, 0.2, 0.5)


@dataclass(frozen=True)
class Candidate:
    """A member that is tried.

    Attributes
    ----------
    probabilities : tuple of (n,) arrays
        For each fold, the probabilities of its hidden comparisons.
    finish : callable
        Learns the member on all users.
    members : tuple of members
        For each fold, the model that predicted.
    for_known : bool
        Whether it was made for items that a user has compared before: elsewhere it must add more
        than noise to the others.
    """

    probabilities: tuple[Array, ...]
    finish: Callable[[], Member]
    members: tuple[Member, ...]
    for_known: bool = False


def fold_predictions(fold: Fold, member: Member) -> Array:
    return member_probabilities(fold.held_out.block, member, fold.held_out.queries)


def changed_candidate(
    candidate: Candidate, folds: Sequence[Fold], change: Callable[[Member], Member]
) -> Candidate:
    """The same candidate, whose models are changed after they were learnt.

    Parameters
    ----------
    candidate : Candidate
        As it was learnt.
    folds : sequence of Fold
        The users who judge.
    change : callable
        Returns the changed model.

    Returns
    -------
    Candidate
    """
    members = tuple(change(member) for member in candidate.members)
    found = tuple(fold_predictions(*each) for each in zip(folds, members, strict=True))
    return Candidate(found, lambda: change(candidate.finish()), members)


def rankings_candidate(
    folds: Sequence[Fold],
    everyone: Sequence[Block],
    starts: Sequence[UtilitiesModel],
    items: Labels,
    seed: int,
    engine: Engine,
) -> Candidate:
    """Learn the model of personal rankings, beginning with the orders of the utilities' means.

    Parameters
    ----------
    folds : sequence of Fold
        Users who learn and users who judge.
    everyone : sequence of Block
        The users for the member that is used.
    starts : sequence of UtilitiesModel
        For each fold, the model whose means give the first reference rankings.
    items : (Q,) labels
        The items.
    seed : int
        Of the chains.
    engine : Engine
        Where passes over users run.

    Returns
    -------
    Candidate
    """

    def learnt(blocks: Sequence[Block], start: UtilitiesModel) -> RankingsModel:
        order = np.argsort(-start.means, axis=1, kind="stable")
        sigma = np.argsort(order, axis=1).astype(np.int32)
        phi = np.full(start.n_components, _FIRST_PHI)
        first = RankingsModel(sigma, phi, start.shares, FIRST_ERROR_RATE, items)
        some = some_users(blocks, _RANKING_USERS)
        return fit_personal_rankings(some, first, engine, seed=seed)

    models = [learnt(fold.blocks, start) for fold, start in zip(folds, starts, strict=True)]
    found = tuple(fold_predictions(fold, model) for fold, model in zip(folds, models, strict=True))
    enough = len(folds) == 1 and folds[0].train.n_users >= _RANKING_USERS
    used = models[0] if enough else None  # from as many users as all would give: the one judged
    return Candidate(found, lambda: used or learnt(everyone, starts[0]), tuple(models))


def mixed_membership_candidate(
    folds: Sequence[Fold], shown: FittedModel, fit_one: Callable[[Any, int], FittedModel]
) -> Candidate:
    """Calibrate the fitted components, so that models of the folds predict best.

    Parameters
    ----------
    folds : sequence of Fold
        Users who learn and users who judge.
    shown : FittedModel
        The fitted model, which becomes the member.
    fit_one : callable
        ``fit_one(comparisons, number)`` fits the same kind of model to a fold's users.

    Returns
    -------
    Candidate
    """
    models = [fit_one(fold.train, n) for n, fold in enumerate(folds)]

    def found(calibration: Calibration) -> tuple[Array, ...]:
        return tuple(
            mixed_membership_probabilities(
                fold.held_out.block,
                prepare_components(model.components, calibration),
                fold.held_out.queries,
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
    for name, grid in (
        ("spam_share", SPAM_SHARES),
        ("likelihood_weight", LIKELIHOOD_WEIGHTS),
        ("prior_scale", PRIOR_SCALES),
    ):
        tried = [replace(best, **{name: value}) for value in grid]
        best = min(tried, key=loss)
    members = tuple(CalibratedModel(model.components, best) for model in models)
    return Candidate(found(best), lambda: CalibratedModel(shown.components, best), members)
