"""How much a user's own comparisons weigh the members of a predictor, by held-out users.

By the theory of probability γ = 1; less where a user's comparisons depend on each other (those of
one ranking, say), or where no model is quite right. The largest γ is taken that predicts a category
of pairs as well as the best.
"""

from collections.abc import Sequence

import numpy as np

from mallowmix.fitting.stacking.candidates import Candidate
from mallowmix.fitting.stacking.held_out_users import Fold, category_losses
from mallowmix.infer.member_evidence import own_evidence, weighed_by_evidence
from mallowmix.model.predictor import N_CATEGORIES, CalibratedModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

_CANDIDATES = (1.0, 0.5, 0.25, 0.1, 0.0)
_EQUAL = 0.0003  # in log-loss: as well as the best


def evidence_weights(
    folds: Sequence[Fold], candidates: Sequence[Candidate], weights: Array
) -> Array:
    """Choose γ for each category of pairs.

    Parameters
    ----------
    folds : sequence of Fold
        The users who judge.
    candidates : sequence of Candidate
        The members of the predictor.
    weights : (3, J) array
        Their weights for a user at random.

    Returns
    -------
    (3,) array
        γ; 0 without a member of each kind.
    """
    by_weight = np.argsort(-weights.sum(axis=0), kind="stable")
    order = [candidates[j] for j in by_weight]
    own = next((c for c in order if isinstance(c.members[0], UtilitiesModel)), None)
    mixed = next((c for c in order if isinstance(c.members[0], CalibratedModel)), None)
    if own is None or mixed is None:
        return np.zeros(N_CATEGORIES)
    is_mixed = np.array([isinstance(each.members[0], CalibratedModel) for each in candidates])
    losses = np.zeros((len(_CANDIDATES), N_CATEGORIES))
    for n, fold in enumerate(folds):
        x = own_evidence(fold.held_out.block, *_pair(own, mixed, n))
        table = np.column_stack([each.probabilities[n] for each in candidates])
        user, category = fold.held_out.queries.users(), fold.held_out.category
        for c, gamma in enumerate(_CANDIDATES):
            each = weighed_by_evidence(weights, is_mixed, np.full(N_CATEGORIES, gamma), x)
            pool = np.einsum("nj,nj->n", table, each[user, category])
            losses[c] += category_losses(fold.held_out, pool) / len(folds)
    good = losses <= losses.min(axis=0) + _EQUAL
    return np.array(_CANDIDATES)[np.argmax(good, axis=0)]


def _pair(own: Candidate, mixed: Candidate, n: int) -> tuple[UtilitiesModel, CalibratedModel]:
    first, second = own.members[n], mixed.members[n]
    assert isinstance(first, UtilitiesModel) and isinstance(second, CalibratedModel)
    return first, second
