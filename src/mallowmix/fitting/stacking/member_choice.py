"""Which members a predictor has, and how much each counts: by held-out users.

The pool's weights minimise the log-loss per comparison, mean over users, separately for pairs of
which a user has compared none, one or both items before. A member that adds less than .0005 in
every category is left out. Gaussian utilities of any number of factors and components are alike,
and a pool of them does no harm. A member of another kind can: where the users who judge are many,
it counts in a category only if it adds more than noise to the utilities.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.fitting.stacking.candidates import Candidate
from mallowmix.fitting.stacking.held_out_users import Fold
from mallowmix.model.predictor import N_CATEGORIES
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.numerics.stacking import pooled, stack_weights_by_category
from mallowmix.typing import Array

_TOWARDS_EQUAL, _TOWARDS_COMMON = 0.1, 0.2  # users
_MANY_JUDGES = 300  # held-out users: from so many on a member must add something to stay,
_LEAST_GAIN = 0.0005  # namely this much in some category;
_SURE_LOSS = 0.002  # with fewer it goes only if the others are better without it by this much
_SURE_GAIN = 2.0  # standard errors by which utilities must be better with a member of another kind
_LEAST_WEIGHT = 0.01  # of a member that stays; a user's own evidence can raise it
_ENOUGH_ROWS = 3000  # hidden comparisons, by which this is judged


class Judged(NamedTuple):
    """What candidates predicted of all hidden comparisons.

    Attributes
    ----------
    table : (n, J) array
        The probability that each candidate gave to each.
    counts, category : (n,) arrays
        As in `HeldOut`.
    user : (n,) array of int
        Whose each is, over all folds and masks.
    utilities : (J,) array of bool
        Which candidates are Gaussian utilities, made for all items.
    """

    table: Array
    counts: Array
    category: NDArray[np.int64]
    user: NDArray[np.int64]
    utilities: NDArray[np.bool_]

    def take(self, kept: Sequence[int] | NDArray[np.int64]) -> "Judged":
        """The same of some candidates."""
        return self._replace(table=self.table[:, kept], utilities=self.utilities[kept])

    def some(self, n_rows: int) -> "Judged":
        """About so many of the comparisons, from all users."""
        rows = slice(None, None, -(-len(self.table) // n_rows))
        return self._replace(
            table=self.table[rows],
            counts=self.counts[rows],
            category=self.category[rows],
            user=self.user[rows],
        )

    def n_users(self) -> int:
        """How many users judge."""
        return len(np.unique(self.user))

    def often(self) -> NDArray[np.bool_]:
        """(3,) whether a category has a twentieth of the comparisons: enough to judge by."""
        total = np.bincount(self.category, self.counts, N_CATEGORIES)
        return total >= self.counts.sum() / 20

    def losses(self, weights: Array) -> Array:
        """(3,) the pool's log-loss by category; 0 if none."""
        log_p = np.log(pooled(self.table, weights, self.category))
        total = np.bincount(self.category, self.counts, N_CATEGORIES)
        sums = np.bincount(self.category, -self.counts * log_p, N_CATEGORIES)
        return np.where(total > 0, sums / np.maximum(total, 1e-300), 0.0)


def judged_by(candidates: Sequence[Candidate], folds: Sequence[Fold]) -> Judged:
    """Put together what candidates predicted of the hidden comparisons of all folds.

    Parameters
    ----------
    candidates : sequence of Candidate
        The candidates.
    folds : sequence of Fold
        The users who judged them.

    Returns
    -------
    Judged
    """
    table = np.column_stack([np.concatenate(each.probabilities) for each in candidates])
    parts = [fold.held_out for fold in folds]
    before = np.cumsum([0, *(part.n_users for part in parts[:-1])])
    users = [part.queries.users() % part.n_users for part in parts]  # masks follow each other
    return Judged(
        np.clip(table, 1e-4, 1 - 1e-4),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.category for part in parts]),
        np.concatenate([own + first for own, first in zip(users, before, strict=True)]),
        np.array([_are_utilities(each) for each in candidates]),
    )


def _are_utilities(candidate: Candidate) -> bool:
    return isinstance(candidate.members[0], UtilitiesModel) and not candidate.for_known


def pool_weights(judged: Judged) -> Array:
    """Learn the weights of the pool.

    Parameters
    ----------
    judged : Judged
        What its members predicted.

    Returns
    -------
    (3, J) array
        By category of pairs; in each row at least about .01, which a user's own evidence can raise.
    """
    many = judged.n_users() >= _MANY_JUDGES and judged.utilities.any()
    found = _with_sure_members(judged) if many else _stacked(judged)
    raised = np.maximum(found, _LEAST_WEIGHT)
    return raised / raised.sum(axis=1, keepdims=True)


def _stacked(judged: Judged) -> Array:
    return stack_weights_by_category(
        judged.table,
        judged.counts,
        judged.category,
        N_CATEGORIES,
        towards_equal=_TOWARDS_EQUAL,
        towards_common=_TOWARDS_COMMON,
    )


def _with_sure_members(judged: Judged) -> Array:
    """Weights of the utilities and, in each category, of members that surely add to them."""
    sure = _sure_members(judged)
    found = _stacked(judged)
    for c in np.flatnonzero(judged.often()):
        kept = np.flatnonzero(judged.utilities | sure[c])
        found[c] = 0
        found[c, kept] = _stacked(judged.take(kept))[c]
    return found


def _sure_members(judged: Judged) -> NDArray[np.bool_]:
    """(3, J) which members of another kind make the utilities better by more than noise."""
    sure = np.zeros((N_CATEGORIES, len(judged.utilities)), bool)
    base = _log_pool(judged.take(np.flatnonzero(judged.utilities)))
    for j in np.flatnonzero(~judged.utilities):
        kept = np.flatnonzero(judged.utilities | (np.arange(len(sure.T)) == j))
        gain = judged.counts * (_log_pool(judged.take(kept)) - base)
        for c in range(N_CATEGORIES):
            rows = judged.category == c
            each: Any = [np.bincount(judged.user[rows], x[rows]) for x in (gain, judged.counts)]
            mean, error = clustered_ratio(*each)
            sure[c, j] = mean > _SURE_GAIN * error
    return sure


def _log_pool(judged: Judged) -> Array:
    return np.log(pooled(judged.table, _stacked(judged), judged.category))


def _but_the_last_utilities(judged: Judged, kept: list[int]) -> list[int]:
    """Members that may be left out: members of another kind are measured against utilities."""
    utilities = [j for j in kept if judged.utilities[j]]
    return [j for j in kept if utilities != [j]]


def as_few_as_will_do(judged: Judged) -> list[int]:
    """Leave out those that add next to nothing, one by one.

    Parameters
    ----------
    judged : Judged
        What all candidates predicted.

    Returns
    -------
    list of int
        Which stay.
    """
    many = judged.n_users() >= _MANY_JUDGES
    part = judged.some(_ENOUGH_ROWS)
    often = part.often()

    def losses(kept: list[int]) -> Array:
        some = part.take(kept)
        return some.losses(_stacked(some))[often]

    kept = list(range(judged.table.shape[1]))
    while len(kept) > 1:
        before = losses(kept)
        may_go = kept if not many else _but_the_last_utilities(judged, kept)
        costs = {j: float((losses([k for k in kept if k != j]) - before).max()) for j in may_go}
        least = min(costs, key=costs.__getitem__)
        if costs[least] > (_LEAST_GAIN if many else -_SURE_LOSS):
            break
        kept.remove(least)
    if not many:
        return kept
    largest = pool_weights(judged.take(kept)).max(axis=0)
    return [j for j, weight in zip(kept, largest, strict=True) if weight > _LEAST_WEIGHT]
