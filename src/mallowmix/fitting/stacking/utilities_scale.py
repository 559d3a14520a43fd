"""How far Gaussian utilities are to be taken: scales of means, loadings and variances.

Laplace's approximation puts a user's utilities where they are most probable, which is nearer to the
mean than they are on average, the more so the less the user says. Means and variances that EM
learns from such utilities are off, and so are predictions from them. Three factors put most of it
right: s ← c_s s, V ← √c_V V, ψ ← c_ψ ψ. They are those under which held-out users are predicted
best, found one after the other with smaller and smaller steps, and pulled to 1 a little. They are
not the same for items that a user has compared before (how consistent is one person?) and for items
that are new to the user (how alike are people?).
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mallowmix.fitting.stacking.held_out_users import Fold, HeldOut, first_held_out, mean_loss
from mallowmix.infer.utilities_prediction import new_modes, utilities_probabilities
from mallowmix.model.predictor import N_CATEGORIES, Member
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

_JUDGES = 400  # held-out users, masks counted apart, by whom the scales are judged
_STEPS = (1.5, 1.2)  # factors that are tried up and down
_CYCLES = 4  # with each of them at most
_PULL = 0.3  # nats, times (log factor)²: what a deviation from 1 must gain over all judges


class UtilitiesScale(NamedTuple):
    """Factors of means, of the loadings' variance and of the items' variances."""

    means: float = 1.0
    loadings: float = 1.0
    variances: float = 1.0


def rescaled(model: Member, scale: UtilitiesScale) -> UtilitiesModel:
    """Gaussian utilities with their means and variances multiplied.

    Parameters
    ----------
    model : UtilitiesModel
        As EM learnt it.
    scale : UtilitiesScale
        The factors.

    Returns
    -------
    UtilitiesModel
    """
    assert isinstance(model, UtilitiesModel)
    return replace(
        model,
        means=scale.means * model.means,
        loadings=np.sqrt(scale.loadings) * model.loadings,
        variances=scale.variances * model.variances,
    )


def best_scale(
    folds: Sequence[Fold],
    members: Sequence[Member],
    *,
    known: bool,
    start: UtilitiesScale | None = None,
) -> UtilitiesScale:
    """Find the scales under which held-out users are predicted best.

    Parameters
    ----------
    folds : sequence of Fold
        The users who judge.
    members : sequence of UtilitiesModel
        For each fold, the model that was learnt on its other users.
    known : bool
        Whether pairs count of which the user has compared both items before, or the others.
    start : UtilitiesScale, optional
        What is best for a model like it: then only the largest step is tried, once.

    Returns
    -------
    UtilitiesScale
    """
    share = max(1, _JUDGES // len(folds))
    judges = [
        _Judges.of(fold.held_out, member, share, known)
        for fold, member in zip(folds, members, strict=True)
    ]
    pull = _PULL / sum(each.held_out.n_users for each in judges)

    def cost(scale: UtilitiesScale) -> float:
        losses = [each.loss(scale) for each in judges]
        return float(np.mean(losses)) + pull * float(np.square(np.log(scale)).sum())

    names = [
        name
        for name in UtilitiesScale._fields
        if name != "loadings" or any(each.model.n_factors for each in judges)
    ]
    best = start or UtilitiesScale()
    least = cost(best)
    for step in _STEPS[:1] if start else _STEPS:
        for _ in range(1 if start else _CYCLES):
            before = least
            for name, factor in itertools.product(names, (step, 1 / step)):
                while (value := cost(_moved(best, name, factor))) < least:
                    best, least = _moved(best, name, factor), value
            if least == before:
                break
    return best


class _Judges(NamedTuple):
    """Some of a fold's held-out users, of whose comparisons one kind counts, and its model."""

    held_out: HeldOut
    model: UtilitiesModel
    modes: Array  # of their utilities, from one scale to the next

    @classmethod
    def of(cls, held_out: HeldOut, model: Member, n_users: int, known: bool) -> "_Judges":
        assert isinstance(model, UtilitiesModel)
        some = first_held_out(held_out, n_users)
        some = some.of_rows((some.category == N_CATEGORIES - 1) == known)
        return cls(some, model, new_modes(some.block, model))

    def loss(self, scale: UtilitiesScale) -> float:
        given, model = self.held_out, rescaled(self.model, scale)
        p = utilities_probabilities(given.block, model, given.queries, self.modes)
        return mean_loss(given, p)


def _moved(scale: UtilitiesScale, name: str, factor: float) -> UtilitiesScale:
    return scale._replace(**{name: factor * getattr(scale, name)})
