"""Candidates for members of the predictor.

A candidate is learnt on the users of each fold and judged by what it predicts of the fold's
held-out users. If it becomes a member, it is learnt again on all users.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mallowmix.engine import Engine
from mallowmix.fitting.stacking.held_out_users import Fold, category_losses, mean_loss
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pooled_prediction import (
    member_probabilities,
    mixed_membership_probabilities,
)
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.learn.rankings.rankings_em import FIRST_ERROR_RATE, fit_personal_rankings
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
_LEAST_GAIN = 0.001
_LEAST_REGRET = 0.001  # of a category, for which it gets a candidate of its own
_LONG_WORK, _SHORT_PATH = 5e4, 15  # K · comparisons, and then no more rounds than this
_FIRST_PHI = 0.7
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
    """

    probabilities: tuple[Array, ...]
    finish: Callable[[], Member]


def utilities_candidates(
    folds: Sequence[Fold], everyone: Sequence[Any], K: int, items: Any, seed: int, engine: Engine
) -> tuple[list[Candidate], tuple[UtilitiesModel, ...]]:
    """Learn mixtures of Gaussian utilities, stopped where they predict best.

    Pairs of items that a user has compared before are predicted best late on the path of EM, pairs
    of new items early: each category of pairs has a candidate of its own where they differ.

    Parameters
    ----------
    folds : sequence of Fold
        Users who learn and users who judge.
    everyone : sequence of Block
        All users, for the members that are used.
    K : int
        The number of components.
    items : (Q,) labels
        The items.
    seed : int
        Of the initial means.
    engine : Engine
        Where passes over users run.

    Returns
    -------
    candidates : list of Candidate
        From the fewest rounds of EM to the most.
    models : tuple of UtilitiesModel
        Each fold's model after the most rounds among the candidates.
    """
    Q, rounds = len(items), _rounds(everyone, K)

    def path(blocks: Sequence[Any], most: int) -> Iterator[UtilitiesRound]:
        start = first_parameters(initial_means(list(blocks), Q, K, seed))
        return utilities_path(blocks, start, engine, max_rounds=most)

    best = _best_rounds(folds, path, rounds, items)
    final: dict[int, Member] = {}

    def finish(n_rounds: int) -> Member:
        if not final:
            for each in path(everyone, max(best)):
                if each.n_rounds in best:
                    final[each.n_rounds] = _utilities_model(each.parameters, items)
        return final[n_rounds]

    found = [Candidate(best[n].probabilities, partial(finish, n)) for n in sorted(best)]
    return found, best[max(best)].models


def _rounds(blocks: Sequence[Any], K: int) -> tuple[int, ...]:
    """Where the path is looked at; it is shorter where a round is long."""
    work = K * sum(float((np.diff(block.starts) * 1.0).sum()) for block in blocks)
    most = _ROUNDS[-1] if work < _LONG_WORK else _SHORT_PATH
    return tuple(mark for mark in _ROUNDS if mark <= most)


class _Look(NamedTuple):
    """The folds' models at some point of the path, and what they predict."""

    models: tuple[UtilitiesModel, ...]
    probabilities: tuple[Array, ...]


def _best_rounds(
    folds: Sequence[Fold],
    path: Callable[[Sequence[Any], int], Iterator[UtilitiesRound]],
    rounds: Sequence[int],
    items: Any,
) -> dict[int, _Look]:
    """The numbers of rounds that predict some category of pairs best, with what was seen there."""
    paths = [path(fold.blocks, rounds[-1]) for fold in folds]
    seen: dict[int, _Look] = {}
    losses: list[Array] = []
    done = 0
    for mark in rounds:
        parameters = [_advance(each, mark - done).parameters for each in paths]
        done = mark
        models = tuple(_utilities_model(each, items) for each in parameters)
        found = tuple(_predicted(fold, model) for fold, model in zip(folds, models, strict=True))
        seen[mark] = _Look(models, found)
        each = [category_losses(fold.held_out, p) for fold, p in zip(folds, found, strict=True)]
        losses.append(np.mean(each, axis=0))
        if len(losses) > _PATIENCE and not _still_gains(losses):
            break
    best = {rounds[n] for n in _marks(np.array(losses))}
    return {mark: look for mark, look in seen.items() if mark in best}


def _marks(losses: Array) -> set[int]:
    """The best look on the mean, and the best look of each category that loses by that one."""
    seen = losses[0] > 0
    overall = int(np.argmin(losses[:, seen].mean(axis=1)))
    own = np.argmin(losses, axis=0)
    regret = losses[overall] - losses.min(axis=0)
    return {overall} | {int(own[c]) for c in np.flatnonzero(seen & (regret > _LEAST_REGRET))}


def _still_gains(losses: list[Array]) -> bool:
    """Whether any category was predicted better in the last looks than before them."""
    before = np.min(losses[:-_PATIENCE], axis=0)
    return bool((np.min(losses[-_PATIENCE:], axis=0) < before - _LEAST_GAIN).any())


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
    """Learn the model of personal rankings, beginning with the orders of the utilities' means.

    Parameters
    ----------
    folds, everyone, items, seed, engine
        As in `utilities_candidates`.
    starts : sequence of UtilitiesModel
        For each fold, the model whose means give the first reference rankings.

    Returns
    -------
    Candidate
    """

    def learnt(blocks: Sequence[Any], start: UtilitiesModel) -> RankingsModel:
        order = np.argsort(-start.means, axis=1, kind="stable")
        sigma = np.argsort(order, axis=1).astype(np.int32)
        phi = np.full(start.n_components, _FIRST_PHI)
        first = RankingsModel(sigma, phi, start.shares, FIRST_ERROR_RATE, items)
        return fit_personal_rankings(blocks, first, engine, seed=seed)

    models = [learnt(fold.blocks, start) for fold, start in zip(folds, starts, strict=True)]
    found = tuple(_predicted(fold, model) for fold, model in zip(folds, models, strict=True))
    return Candidate(found, lambda: learnt(everyone, starts[0]))


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
    for name, grid in (
        ("spam_share", SPAM_SHARES),
        ("likelihood_weight", LIKELIHOOD_WEIGHTS),
        ("prior_scale", PRIOR_SCALES),
    ):
        tried = [replace(best, **{name: value}) for value in grid]
        best = min(tried, key=loss)
    return Candidate(found(best), lambda: CalibratedModel(shown.components, best))


def _queries(fold: Fold) -> Queries:
    return fold.held_out.queries
