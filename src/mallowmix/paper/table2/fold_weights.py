"""Users' weights from their ratings: given all of them, and given those in other folds."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.ratings import RatingTable, find
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.numerics.randomness import Step, generator
from mallowmix.readers.rating_forms import comparisons_from_ratings
from mallowmix.typing import Array, Progress

# a tenth of the ratings at a time is held out of what is given of users
N_RATING_FOLDS = 10


@dataclass(frozen=True, eq=False)
class FoldWeights:
    """Users' θ, those of all members of the ensemble side by side: D numbers a user.

    Parameters
    ----------
    overall : (M, D) array of float
        Given all ratings of each user.
    elsewhere : (n, D) array of float
        For each rating, given its user's ratings in other folds.
    fold : (n,) array of int
        The fold of each rating.
    """

    overall: Array
    elsewhere: Array
    fold: NDArray[np.int64]


def fold_weights(
    model: AnyModel,
    table: RatingTable,
    calibration: Calibration,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FoldWeights:
    """The weights of all users.

    Parameters
    ----------
    model : FittedModel or M4
        The model, with the members of its ensemble.
    table : RatingTable
        The users' ratings.
    calibration : Calibration
        How weights are inferred.
    seed : int
        Of the split into folds.
    n_jobs : int, optional
        The number of threads.
    progress : callable, optional
        Called as ``progress(step, done, total)``.

    Returns
    -------
    FoldWeights
        The weights given all ratings, and given those in other folds.
    """
    members = prepare_members(replace(as_fitted(model), calibration=calibration))
    fold = generator(seed, Step.STAR_PROFILES).permutation(len(table)) % N_RATING_FOLDS
    elsewhere = np.empty((len(table), sum(len(prepared.alpha) for prepared in members)))
    for number in range(N_RATING_FOLDS):
        rows = fold == number
        elsewhere[rows] = _weights(model, table, ~rows, members, n_jobs)[table.user[rows]]
        if progress:
            progress("weights", number + 1, N_RATING_FOLDS)
    overall = _weights(model, table, np.ones(len(table), bool), members, n_jobs)
    return FoldWeights(overall, elsewhere, fold)


def _weights(
    model: AnyModel,
    table: RatingTable,
    rows: NDArray[np.bool_],
    members: list[PreparedModel],
    n_jobs: int | None,
) -> Array:
    """(M, D) posterior means of θ given some of the ratings; the prior's without a comparison."""
    prior = np.concatenate([prepared.prior_mean for prepared in members])
    theta = np.tile(prior, (table.n_users, 1))
    labels = model.items[find(model.items, table.items, "item")[table.item[rows]]]
    comparisons = comparisons_from_ratings(table.user[rows], labels, table.level[rows])
    comparisons = comparisons.with_items(model.items)
    parts = ThreadEngine(n_jobs).map(_block_weights, make_blocks(comparisons), members)
    theta[comparisons.users.astype(np.int64)] = np.concatenate(parts)
    return theta


@map_step("weights for star profiles")
def _block_weights(block: Block, members: list[PreparedModel]) -> Array:
    return np.concatenate(
        [fold_in(block, prepared, max_iter=300, tol=1e-4)[0] for prepared in members], axis=1
    )
