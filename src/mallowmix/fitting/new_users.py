"""Predictions of new users: models learnt from the others, fold by fold.

Every score of new users is computed here, so that commands that mean the same number print it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import HeldOutBy, split_users
from mallowmix.engine import Engine
from mallowmix.infer.heldout.held_out_rows import HeldOutRows, predict_held_out
from mallowmix.model.fitted_model import FittedModel

N_FOLDS = 3


class NewUserRows(NamedTuple):
    """Held-out comparisons of users, predicted by models that were not learnt from them.

    Attributes
    ----------
    rows : HeldOutRows
        By the numbers of the users among all.
    models : tuple of FittedModel
        One for each fold.
    """

    rows: HeldOutRows
    models: tuple[FittedModel, ...]


def predict_new_users(
    users: Comparisons,
    learn: Callable[[Comparisons], FittedModel],
    *,
    given: float = 0.5,
    split: HeldOutBy = "comparisons",
    n_folds: int = N_FOLDS,
    most_folds: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
) -> NewUserRows:
    """Predict part of each user's comparisons by a model learnt from other users.

    Parameters
    ----------
    users : Comparisons
        Of whom each has a comparison (`data.splits.counted_users`).
    learn : callable
        Makes a model from the comparisons of some of them.
    given, split
        As in `infer.heldout.held_out_rows.predict_held_out`.
    n_folds : int
        Users are split into so many parts (`data.splits.split_users`), each predicted from the
        others.
    most_folds : int, optional
        How many of these parts are predicted; all unless given.
    seed, engine
        As in `fit`.

    Returns
    -------
    NewUserRows

    Examples
    --------
    >>> import mallowmix as mm
    >>> from mallowmix.fitting.new_users import predict_new_users
    >>> dishes = mm.load_dishes(n_users=60)
    >>> found = predict_new_users(dishes.comparisons, lambda others: mm.FittedModel(dishes.model))
    >>> len(found.models)
    3
    """
    fold, parts, models = split_users(users.n_users, n_folds, seed=seed), [], []
    for part in range(n_folds if most_folds is None else min(most_folds, n_folds)):
        models.append(learn(users.take_users(fold != part)))
        tested = users.take_users(fold == part)
        rows = predict_held_out(
            models[-1], tested, given=given, split=split, seed=seed, engine=engine
        )
        parts.append(_renumbered(rows, np.flatnonzero(fold == part)))
    joined = HeldOutRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return NewUserRows(joined, tuple(models))


def _renumbered(rows: HeldOutRows, number: NDArray[np.int64]) -> HeldOutRows:
    return rows._replace(user=number[rows.user])
