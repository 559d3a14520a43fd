"""`learn_predictor`: which models predict these people, and how much weight each deserves.

Three models of how consistent a person is are tried, because people lie between them: a new draw
from a mixture for each answer (M4), utilities of one's own (`UtilitiesModel`), a ranking of one's
own (`RankingsModel`). The same folds of the users serve every choice: each member is learnt on a
part of the users and predicts the hidden comparisons of the others; its settings and the weights of
the pool minimise the log-loss per comparison, mean over users (`member_choice`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.fitting.stacking.candidates import (
    Candidate,
    mixed_membership_candidate,
    rankings_candidate,
)
from mallowmix.fitting.stacking.evidence_choice import evidence_weights
from mallowmix.fitting.stacking.held_out_users import Fold, make_folds, teaching_users
from mallowmix.fitting.stacking.member_choice import (
    Judged,
    as_few_as_will_do,
    judged_by,
    pool_weights,
)
from mallowmix.fitting.stacking.utilities_search import (
    far_ahead,
    utilities_candidates,
    widened,
)
from mallowmix.learn.population_scores import win_rate_draws
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.model.fit_report import MemberScore, PredictorTrace
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.predictor import Predictor, member_name
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.stacking import pooled
from mallowmix.typing import Array, Progress

LEAST_USERS = 6
MOST_ITEMS = 1500  # moments of all pairs of items are added up
_MOST_RANKED_ITEMS = 140  # a sweep over a user's ranking takes Q² steps
_RANKING_COMPONENTS = 3


def learn_predictor(
    comparisons: Comparisons | StoredComparisons,
    shown: FittedModel,
    fit_one: Callable[[Any, int, Engine], FittedModel],
    *,
    seed: int,
    run: Engine,
    progress: Progress | None = None,
) -> tuple[Predictor, PredictorTrace] | None:
    """The predictor, and how it was chosen; None where there are too few users to learn one.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        All users.
    shown : FittedModel
        The fitted model: one of the members.
    fit_one : callable
        ``fit_one(comparisons, number, engine)`` fits the same kind of model to a fold's users.
    seed, progress
        As in `fit`.
    run : Engine
        Where the pass over all users runs.

    Returns
    -------
    (Predictor, PredictorTrace) or None
        The predictor, and its members' scores for the report of the fit.
    """
    if len(comparisons.items) > MOST_ITEMS:
        return None
    users = teaching_users(comparisons, run, seed)
    if users.n_users < LEAST_USERS:
        return None
    engine = ThreadEngine(run.n_jobs)  # they are in memory
    folds = [fold for fold in make_folds(users, seed) if len(fold.held_out.queries.pair)]
    if not folds:
        return None
    candidates = _candidates(users, folds, shown, fit_one, seed, engine, progress)
    judged = judged_by(candidates, folds)
    kept = as_few_as_will_do(judged)
    if not any(isinstance(candidates[j].members[0], UtilitiesModel) for j in kept):
        candidates.append(_unlike_anybody(candidates, folds))
        judged, kept = judged_by(candidates, folds), [*kept, len(candidates) - 1]
    weights = pool_weights(judged.take(kept))
    evidence = evidence_weights(folds, [candidates[j] for j in kept], weights)
    members = tuple(candidates[j].finish() for j in kept)
    names = [_name(candidates[j]) for j in kept]
    trace = _trace(judged.take(kept), weights, folds, names)
    draws = win_rate_draws(make_blocks(users), users.n_items, engine, seed)
    return Predictor(members, weights, draws, evidence), trace


def _candidates(
    users: Comparisons,
    folds: Sequence[Fold],
    shown: FittedModel,
    fit_one: Callable[[Any, int, Engine], FittedModel],
    seed: int,
    engine: Engine,
    progress: Progress | None,
) -> list[Candidate]:
    everyone, items = make_blocks(users), users.items
    mixed = mixed_membership_candidate(folds, shown, lambda data, n: fit_one(data, n, engine))
    if progress:
        progress("predictor", 1, 3)
    utilities = utilities_candidates(folds, everyone, items, seed, engine, mixed=mixed)
    if progress:
        progress("predictor", 2, 3)
    found = list(utilities)
    # people who choose afresh each time have no ranking of their own either
    afresh = len(utilities) == 1 and far_ahead(folds, mixed, utilities[0])
    if users.n_items <= _MOST_RANKED_ITEMS and not afresh:
        starts = _most_components(utilities)
        found.append(rankings_candidate(folds, everyone, starts, items, seed, engine))
    if progress:
        progress("predictor", 3, 3)
    return [*found, mixed]


def _most_components(tried: Sequence[Candidate]) -> list[UtilitiesModel]:
    """Of those with at most so many components as personal rankings take, the one with most."""
    few = [each for each in tried if each.members[0].n_components <= _RANKING_COMPONENTS]
    chosen = max(few, key=lambda each: each.members[0].n_components)
    return [member for member in chosen.members if isinstance(member, UtilitiesModel)]


def _unlike_anybody(candidates: Sequence[Candidate], folds: Sequence[Fold]) -> Candidate:
    """Utilities of wide variances, for a pool that has no utilities.

    Its members cannot follow somebody who likes an item far more than any mixture of components
    does, however often they say so. For nearly all users the new member counts for next to nothing.
    """
    utilities = [each for each in candidates if isinstance(each.members[0], UtilitiesModel)]
    return widened(utilities[0], folds)


def _name(candidate: Candidate) -> str:
    name = member_name(candidate.members[0])
    return f"{name}, for items compared before" if candidate.for_known else name


def _trace(
    judged: Judged, weights: Array, folds: Sequence[Fold], names: Sequence[str]
) -> PredictorTrace:
    pool = np.log(pooled(judged.table, weights, judged.category))
    losses = -(judged.counts @ np.log(judged.table)) / judged.counts.sum()
    scores = tuple(
        MemberScore(name, float(losses[n]), _three(weights[:, n])) for n, name in enumerate(names)
    )
    one, new = _one_ranking(folds), judged.category == 0
    return PredictorTrace(
        log_loss=float(-np.average(pool, weights=judged.counts)),
        one_ranking=float(-np.average(one, weights=judged.counts)),
        members=scores,
        n_users=sum(fold.held_out.n_users for fold in folds),
        **_of_new_items(pool[new], one[new], judged.counts[new]),
    )


def _of_new_items(pool: Array, one: Array, counts: Array) -> dict[str, float]:
    """The log-losses of pairs of which users have compared neither item; nothing without any."""
    if not counts.sum() > 0:
        return {}
    return {
        "log_loss_new_items": float(-np.average(pool, weights=counts)),
        "one_ranking_new_items": float(-np.average(one, weights=counts)),
    }


def _three(weights: Array) -> tuple[float, float, float]:
    none, one, both = (float(weight) for weight in weights)
    return none, one, both


def _one_ranking(folds: Sequence[Fold]) -> Array:
    """(n,) log-likelihoods under one ranking for all: Bradley–Terry scores of users who learn."""
    found = []
    for fold in folds:
        (scores,) = initial_means(fold.blocks, fold.train.n_items, 1, 0)
        pair = fold.held_out.queries.pair
        found.append(-np.logaddexp(0, scores[pair % len(scores)] - scores[pair // len(scores)]))
    return np.concatenate(found)
