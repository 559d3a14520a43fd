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

from mallowmix.fitting.stacking.candidates import fold_predictions
from mallowmix.fitting.stacking.held_out_users import Fold, HeldOut, first_held_out, mean_loss
from mallowmix.model.predictor import N_CATEGORIES, Member
from mallowmix.model.utilities_model import UtilitiesModel

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
    parts = [fold._replace(held_out=_judges(fold.held_out, share, known)) for fold in folds]
    n_judges = sum(part.held_out.n_users for part in parts)

    def cost(scale: UtilitiesScale) -> float:
        each = (
            mean_loss(part.held_out, fold_predictions(part, rescaled(member, scale)))
            for part, member in zip(parts, members, strict=True)
        )
        return float(np.mean(list(each))) + _PULL / n_judges * float(np.square(np.log(scale)).sum())

    names = [
        name
        for name in UtilitiesScale._fields
        if name != "loadings" or any(_factors(member) for member in members)
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


def _judges(held_out: HeldOut, n_users: int, known: bool) -> HeldOut:
    """Some of the held-out users, of whose comparisons only one kind counts."""
    some = first_held_out(held_out, n_users)
    kind = (some.category == N_CATEGORIES - 1) == known
    return some._replace(counts=np.where(kind, some.counts, 0.0))


def _moved(scale: UtilitiesScale, name: str, factor: float) -> UtilitiesScale:
    return scale._replace(**{name: factor * getattr(scale, name)})


def _factors(member: Member) -> int:
    return member.n_factors if isinstance(member, UtilitiesModel) else 0
