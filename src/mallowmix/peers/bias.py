"""User + item bias, the baseline that every system for ratings must beat."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.ratings import RatingTable, Scale, rating_table
from mallowmix.errors import OptionError
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.interface import FittedRatings, fitted_ratings, rmse
from mallowmix.peers.validation import best_of_growing
from mallowmix.typing import Array

_HELD = Step.BIAS


@dataclass(frozen=True)
class Bias:
    """Ratings are mean + b_user + b_item, the b shrunk towards 0.

    Needs ratings; assumes that all users have the same preferences.

    Parameters
    ----------
    shrinkage : sequence of float
        Candidates for the penalties λ of users and of items. Where there are several, the pair is
        chosen by the error on a tenth of the ratings, held out (then the least or the largest is
        halved or doubled while it is the best), and then all ratings are used.
    n_sweeps : int
        Alternating updates.
    scale : Scale
        Of the ratings.
    """

    shrinkage: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    n_sweeps: int = 20
    scale: Scale = None
    name: str = "user + item bias"
    needs: Literal["comparisons", "ratings"] = "ratings"
    has_components: ClassVar[bool] = False

    def fit(self, data: Any, n_components: int = 1, *, seed: int = 0) -> FittedRatings:
        """Learn from ratings; `n_components` is ignored: the items' biases are the one row."""
        if not self.shrinkage or min(self.shrinkage) < 0:
            raise OptionError(
                option="shrinkage",
                value=self.shrinkage,
                expected="one or more numbers of at least 0",
            )
        table = rating_table(data, scale=self.scale)
        b_user, b_item, mean = self.biases(
            table, np.ones(len(table), bool), *self.chosen(table, seed)
        )
        residual = mean + b_user[table.user] + b_item[table.item] - table.rating
        ones = (np.ones(table.n_users + 1), np.ones(table.n_items + 1))
        U, V = (
            np.column_stack([np.r_[b_user, 0.0], ones[0]]),
            np.column_stack([ones[1], np.r_[b_item, 0.0]]),
        )
        return fitted_ratings(table, U, V, mean, float(np.sqrt(np.mean(residual**2))))

    def chosen(self, table: RatingTable, seed: int) -> tuple[float, float]:
        """λ of users and of items with the least error on held-out ratings."""
        pairs = list(product(self.shrinkage, self.shrinkage))
        if len(pairs) == 1 or len(table) < 10:
            return pairs[len(pairs) // 2]
        held = generator(seed, _HELD).permutation(len(table)) < len(table) // 10
        best = min(pairs, key=lambda pair: self._error(table, held, *pair))
        above_0 = [value for value in self.shrinkage if value > 0]
        if min(best) == 0 or len(above_0) < 2:
            return best
        user = best_of_growing(
            above_0, lambda value: self._error(table, held, value, best[1]), _half, _double
        )
        item = best_of_growing(
            above_0, lambda value: self._error(table, held, user, value), _half, _double
        )
        return user, item

    def _error(
        self, table: RatingTable, held: NDArray[np.bool_], lambda_user: float, lambda_item: float
    ) -> float:
        b_user, b_item, mean = self.biases(table, ~held, lambda_user, lambda_item)
        return rmse(mean + b_user[table.user[held]] + b_item[table.item[held]], table.rating[held])

    def biases(
        self, table: RatingTable, rows: NDArray[np.bool_], lambda_user: float, lambda_item: float
    ) -> tuple[Array, Array, float]:
        """The b that minimise Σ (r − mean − b_u − b_i)² + λ_u Σ b_u² + λ_i Σ b_i², in turn."""
        user, item, rating = table.user[rows], table.item[rows], table.rating[rows]
        mean = float(rating.mean())
        b_user, b_item = np.zeros(table.n_users), np.zeros(table.n_items)
        n_user = np.bincount(user, minlength=table.n_users) + max(lambda_user, 1e-9)
        n_item = np.bincount(item, minlength=table.n_items) + max(lambda_item, 1e-9)
        for _ in range(self.n_sweeps):
            b_item = np.bincount(item, rating - mean - b_user[user], table.n_items) / n_item
            b_user = np.bincount(user, rating - mean - b_item[item], table.n_users) / n_user
        return b_user, b_item, mean


def _half(value: float) -> float:
    return value / 2


def _double(value: float) -> float:
    return 2 * value
