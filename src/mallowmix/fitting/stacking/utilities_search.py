"""Which mixtures of Gaussian utilities to try: more factors, or more components, while they help.

The search begins with one component and few factors. It takes more factors as long as the held-out
users are predicted better. Where the fewest factors are best, it tries none (people who say little
about many items do not show what goes together), and more components as long as they help;
elsewhere components would only repeat what factors say. So no list has an end that the best could
lie at, and what does not help costs one try. Where mixed membership is far ahead of the first try,
people choose afresh each time: nothing more is tried, and the first try stays as it is.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from mallowmix.data.labels import Labels
from mallowmix.engine import Block, Engine
from mallowmix.fitting.stacking.candidates import (
    Candidate,
    changed_candidate,
    fold_predictions,
)
from mallowmix.fitting.stacking.held_out_users import Fold, category_losses
from mallowmix.fitting.stacking.utilities_scale import best_scale, rescaled
from mallowmix.learn.utilities.initial_loadings import InitialUtilities, initial_utilities
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_em import learn_utilities
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters, as_utilities_model
from mallowmix.model.predictor import Member
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

_FACTORS = (2, 5, 8, 12, 18)
_COMPONENTS = (1, 3, 8, 20)
_LEAST_GAIN = 0.0005  # in the log-loss of some category of pairs, for which the search goes on
_FAR = 0.2  # of a log-loss: more factors and components make up for less
_USERS_PER_COMPONENT = 25
_FEW_USERS = 900  # to learn from: the member that is used begins anew
_LEAST_ROUNDS, _MOST_ROUNDS, _ROUND_MEANS = 7, 24, 300  # of EM: 300 / KQ, between these,
_FEW_USERS_ROUNDS = 12  # and at least so many where few users teach
_WIDE = 4.0  # the variance of utilities of people who are like nobody else


def utilities_candidates(
    folds: Sequence[Fold],
    everyone: Sequence[Block],
    items: Labels,
    seed: int,
    engine: Engine,
    *,
    mixed: Candidate | None = None,
) -> list[Candidate]:
    """Learn mixtures of Gaussian utilities with more and more factors and components.

    Parameters
    ----------
    folds : sequence of Fold
        Users who learn and users who judge.
    everyone : sequence of Block
        All users, for the members that are used.
    items : (Q,) labels
        The items.
    seed : int
        Of the initial means.
    engine : Engine
        Where passes over users run.
    mixed : Candidate, optional
        Mixed membership, with which the first try is compared.

    Returns
    -------
    list of Candidate
        All that were tried.
    """
    starts = [initial_utilities(fold.blocks, len(items), engine) for fold in folds]
    tried: dict[tuple[int, int], Candidate] = {}
    losses: dict[tuple[int, int], Array] = {}

    def learn(K: int, r: int) -> None:
        tried[K, r] = _try(folds, everyone, starts, K, r, items, seed, engine)
        losses[K, r] = _losses(folds, tried[K, r])

    def gains(K: int, r: int, before: tuple[int, int]) -> bool:
        learn(K, r)
        return bool((losses[K, r] < losses[before] - _LEAST_GAIN).any())

    fewest, *more = _factors(len(items))
    learn(1, fewest)
    best = fewest
    if mixed is not None and far_ahead(folds, mixed, tried[1, best]):
        return [tried[1, best]]
    for r in more:
        if not gains(1, r, (1, best)):
            break
        best = r
    if best == fewest:
        if best and gains(1, 0, (1, best)) and losses[1, 0].sum() < losses[1, best].sum():
            best = 0
        n_users = min(fold.train.n_users for fold in folds)
        for previous, K in itertools.pairwise(_COMPONENTS):
            few = n_users < _USERS_PER_COMPONENT * K
            if few or not gains(K, best, (previous, best)):
                break
    return _rescaled(tried, min(losses, key=lambda at: float(losses[at].sum())), folds)


def _rescaled(
    tried: dict[tuple[int, int], Candidate], nearest: tuple[int, int], folds: Sequence[Fold]
) -> list[Candidate]:
    """All that were tried, rescaled for new items, and the nearest for known items too."""
    best = tried[nearest]
    scale = best_scale(folds, best.members, known=False)

    def for_new(each: Candidate) -> Candidate:
        own = scale if each is best else best_scale(folds, each.members, known=False, start=scale)
        return changed_candidate(each, folds, lambda member: rescaled(member, own))

    found = [for_new(each) for each in tried.values()]
    known = best_scale(folds, best.members, known=True)
    if known == scale:
        return found
    last = changed_candidate(best, folds, lambda member: rescaled(member, known))
    return [*found, replace(last, for_known=True)]


def far_ahead(folds: Sequence[Fold], mixed: Candidate, first: Candidate) -> bool:
    """Whether log-losses of mixed membership are far below those of utilities, wherever measured.

    Parameters
    ----------
    folds : sequence of Fold
        The users who judge.
    mixed : Candidate
        Mixed membership.
    first : Candidate
        Gaussian utilities.
    """
    return _far_below(_losses(folds, mixed), _losses(folds, first))


def _far_below(losses: Array, others: Array) -> bool:
    """Whether so in every category of pairs that occurs."""
    return bool((losses < (1 - _FAR) * others)[others > 0].all())


def _factors(n_items: int) -> list[int]:
    """The numbers of factors that are tried: fewer than half of the items."""
    return [r for r in _FACTORS if r < n_items / 2] or [0]


def _rounds(n_means: int) -> int:
    """How many rounds of EM: with few items and components a round is cheap."""
    return min(max(_LEAST_ROUNDS, _ROUND_MEANS // n_means), _MOST_ROUNDS)


def _losses(folds: Sequence[Fold], candidate: Candidate) -> Array:
    """(3,) the log-loss of each category of pairs."""
    parts = zip(folds, candidate.probabilities, strict=True)
    return np.mean([category_losses(fold.held_out, p) for fold, p in parts], axis=0)


def _try(
    folds: Sequence[Fold],
    everyone: Sequence[Block],
    starts: Sequence[InitialUtilities],
    K: int,
    r: int,
    items: Labels,
    seed: int,
    engine: Engine,
) -> Candidate:
    """Learn on each fold; with many users, the member that is used goes on from there."""
    few = sum(block.n_users for block in everyone) < _FEW_USERS
    n_rounds = max(_rounds(K * len(items)), _FEW_USERS_ROUNDS if few else 0)

    def learnt(blocks: list[Block], start: InitialUtilities) -> UtilitiesParameters:
        first = start.parameters(initial_means(blocks, len(items), K, seed), r)
        return learn_utilities(blocks, first, engine, n_rounds)

    found = [learnt(fold.blocks, start) for fold, start in zip(folds, starts, strict=True)]
    models = tuple(as_utilities_model(each, items) for each in found)
    parts = zip(folds, models, strict=True)

    @cache  # two members may be made of one model, with other scales
    def finish() -> UtilitiesModel:
        if few:
            start = initial_utilities(everyone, len(items), engine)
            return as_utilities_model(learnt(list(everyone), start), items)
        last = learn_utilities(everyone, found[0], engine, 1 + n_rounds // 2)
        return as_utilities_model(last, items)

    return Candidate(tuple(fold_predictions(*each) for each in parts), finish, models)


def widened(candidate: Candidate, folds: Sequence[Fold]) -> Candidate:
    """The same utilities with wide variances: people who are like nobody else.

    Parameters
    ----------
    candidate : Candidate
        Gaussian utilities.
    folds : sequence of Fold
        The users who judge.

    Returns
    -------
    Candidate
    """
    return changed_candidate(candidate, folds, _wide)


def _wide(member: Member) -> UtilitiesModel:
    assert isinstance(member, UtilitiesModel)
    return replace(member, variances=np.maximum(member.variances, _WIDE))
