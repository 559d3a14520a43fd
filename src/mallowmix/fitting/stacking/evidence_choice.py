"""How much a user's own comparisons weigh the members of a predictor, by held-out users.

By the theory of probability γ = 1; less where a user's comparisons depend on each other (those of
one ranking, say), or where no model is quite right. The largest γ is taken that predicts a category
of pairs as well as the best.
"""

from collections.abc import Sequence

import numpy as np

from mallowmix.fitting.stacking.candidates import Candidate
from mallowmix.fitting.stacking.held_out_users import Fold, category_losses
from mallowmix.infer.member_evidence import (
    are_mixed,
    compared_members,
    own_evidence,
    weighed_by_evidence,
)
from mallowmix.model.predictor import N_CATEGORIES
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
    by_fold = list(zip(*(each.members for each in candidates), strict=True))
    if compared_members(by_fold[0], weights) is None:
        return np.zeros(N_CATEGORIES)
    is_mixed = are_mixed(by_fold[0])
    losses = np.zeros((len(_CANDIDATES), N_CATEGORIES))
    for n, (fold, members) in enumerate(zip(folds, by_fold, strict=True)):
        compared = compared_members(members, weights)
        assert compared is not None
        x = own_evidence(fold.held_out.block, *compared)
        table = np.column_stack([each.probabilities[n] for each in candidates])
        user, category = fold.held_out.queries.users(), fold.held_out.category
        for c, gamma in enumerate(_CANDIDATES):
            each = weighed_by_evidence(weights, is_mixed, np.full(N_CATEGORIES, gamma), x)
            pool = np.einsum("nj,nj->n", table, each[user, category])
            losses[c] += category_losses(fold.held_out, pool) / len(folds)
    good = losses <= losses.min(axis=0) + _EQUAL
    return np.array(_CANDIDATES)[np.argmax(good, axis=0)]
