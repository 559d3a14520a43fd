"""Which members a predictor has, and how much each counts: by held-out users.

The pool's weights minimise the log-loss per comparison, mean over users, separately for pairs of
which a user has compared none, one or both items before. A member that adds less than .0005 in
every category is left out. A member that is learnt anew for use may find another optimum than the
one that was judged: where the users who judge are many, it counts in a category only if it adds
more than noise.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.fitting.stacking.candidates import Candidate
from mallowmix.fitting.stacking.held_out_users import Fold
from mallowmix.model.predictor import N_CATEGORIES
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.numerics.stacking import pooled, stack_weights_by_category
from mallowmix.typing import Array

_TOWARDS_EQUAL, _TOWARDS_COMMON = 0.1, 0.2  # users
_MANY_JUDGES = 300  # held-out users: from so many on a member must add something to stay,
_LEAST_GAIN = 0.0005  # namely this much in some category;
_SURE_LOSS = 0.002  # with fewer it goes only if the others are better without it by this much
_SURE_GAIN = 1.0  # standard errors by which the pool must be better with members learnt anew
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
    anew : (J,) array of bool
        Which candidates are learnt anew for use.
    """

    table: Array
    counts: Array
    category: NDArray[np.int64]
    user: NDArray[np.int64]
    anew: NDArray[np.bool_]

    def take(self, kept: Sequence[int] | NDArray[np.int64]) -> "Judged":
        """The same of some candidates."""
        return self._replace(table=self.table[:, kept], anew=self.anew[kept])

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
        np.array([each.learnt_anew for each in candidates]),
    )


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
    found = _stacked(judged)
    if judged.n_users() >= _MANY_JUDGES:
        found = _as_judged_where_as_good(judged, found)
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


def _as_judged_where_as_good(judged: Judged, weights: Array) -> Array:
    """Without members learnt anew in categories where they add no more than noise."""
    others = np.flatnonzero(~judged.anew)
    if len(others) in (0, len(judged.anew)):
        return weights
    without = np.zeros_like(weights)
    without[:, others] = _stacked(judged.take(others))
    found, log_p = weights.copy(), np.log(pooled(judged.table, weights, judged.category))
    gain = judged.counts * (log_p - np.log(pooled(judged.table, without, judged.category)))
    for c in np.flatnonzero(judged.often()):
        rows = judged.category == c
        each: Any = [np.bincount(judged.user[rows], x[rows]) for x in (gain, judged.counts)]
        mean, error = clustered_ratio(*each)
        if mean < _SURE_GAIN * error:
            found[c] = without[c]
    return found


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
        costs = [float((losses([k for k in kept if k != j]) - before).max()) for j in kept]
        least = int(np.argmin(costs))
        if costs[least] > (_LEAST_GAIN if many else -_SURE_LOSS):
            break
        del kept[least]
    if not many:
        return kept
    largest = pool_weights(judged.take(kept)).max(axis=0)
    return [j for j, weight in zip(kept, largest, strict=True) if weight > _LEAST_WEIGHT]
