"""The interface of every peer: options in a frozen object, whose `fit` returns a predictor.

A peer's docstring says what data it needs and what it assumes. Those for ratings share
`FittedRatings`: predictions are means over one or more draws of a score for (user, item), and a
user prefers i to j when i gets the higher rating.

A peer whose class says ``has_components = False`` makes no use of `n_components`. One with the
field `hold_out` chooses settings on training users, of whom it holds out what that field says.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.data.ratings import RatingTable, find
from mallowmix.errors import DataError
from mallowmix.model.pair_model import Pairs
from mallowmix.typing import Array


@runtime_checkable
class FittedPeer(Protocol):
    """A fitted peer."""

    @property
    def components(self) -> Array:
        """(K, Q) scores of the items, one row a component; higher is better. May have no rows."""
        ...

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) the probability that each user prefers the first of each pair to the second.

        Parameters
        ----------
        people : Comparisons, Rankings, or list of labels
            The users' given data, in the form that the peer was fitted on; or, for a peer that
            cannot infer new users, the names of users that it was fitted on (unknown ones are taken
            for average).
        pairs : Pairs
            Labels of items.
        """
        ...


@runtime_checkable
class PredictsRows(Protocol):
    """A fitted peer that predicts single comparisons faster than whole tables of pairs."""

    def predict_rows(self, given: Comparisons, held_out: Comparisons) -> Array:
        """(n,) the probability of the outcome in each row of `held_out`, of the users of `given`.

        Parameters
        ----------
        given, held_out : Comparisons
            Of the same users, in the same order.
        """
        ...


@runtime_checkable
class Peer(Protocol):
    """A system with its options."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    @property
    def needs(self) -> Literal["comparisons", "ratings", "rankings"]:
        """The data it learns from."""
        ...

    def fit(self, data: Any, n_components: int, *, seed: int = 0) -> FittedPeer:
        """Learn from `Comparisons`, `Rankings`, or ratings (whatever `rating_table` reads)."""
        ...


@dataclass(frozen=True, eq=False)
class FittedRatings:
    """What peers for ratings share.

    Attributes
    ----------
    users, items : Labels
    user_scores : ndarray, shape (draws, M + 1, K)
    item_scores : ndarray, shape (draws, Q + 1, K)
        The score of (m, i) is their product plus `mean`. The last row stands for an unknown user or
        item.
    mean : float
    low, high : float
        The ends of the scale.
    noise : float
        The standard deviation of one rating.
    """

    users: Labels
    items: Labels
    user_scores: Array
    item_scores: Array
    mean: float
    low: float
    high: float
    noise: float

    @property
    def components(self) -> Array:
        """(K, Q) the items' coordinates, averaged over draws."""
        return self.item_scores[:, :-1].mean(axis=0).T

    def predict(self, user: Any, item: Any) -> Array:
        """(n,) ratings of items by users: the mean over draws, each clipped to the scale."""
        m, i = find(self.users, user, "user"), find(self.items, item, "item")
        if len(m) != len(i):
            raise DataError(
                f"There are {len(m)} users and {len(i)} items to predict; give as many of each."
            )
        total = np.zeros(len(m))
        for U, V in zip(self.user_scores, self.item_scores, strict=True):
            total += np.clip(self.mean + np.einsum("nk,nk->n", U[m], V[i]), self.low, self.high)
        return total / len(self.user_scores)

    def predict_integers(self, user: Any, item: Any) -> Array:
        """(n,) the same, rounded to integers within the scale (BPMF-int in the paper's Table 2)."""
        return np.clip(np.rint(self.predict(user, item)), self.low, self.high)

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) Φ((r_i − r_j) / (√2 noise)), the mean over draws: two noisy ratings, compared."""
        m, couples = find(self.users, people, "user"), [tuple(pair) for pair in pairs]
        first, second = (
            find(self.items, [pair[side] for pair in couples], "item") for side in (0, 1)
        )
        total = np.zeros((len(m), len(couples)))
        for U, V in zip(self.user_scores, self.item_scores, strict=True):
            total += ndtr(U[m] @ (V[first] - V[second]).T / (np.sqrt(2) * self.noise))
        return total / len(self.user_scores)


def rmse(predicted: ArrayLike, actual: ArrayLike) -> float:
    """The root of the mean squared error."""
    return float(
        np.sqrt(np.mean((np.asarray(predicted, np.float64) - np.asarray(actual, np.float64)) ** 2))
    )


def fitted_ratings(
    table: RatingTable, user_scores: Array, item_scores: Array, mean: float, noise: float
) -> FittedRatings:
    """The fitted peer of a table; scores of one draw, (M + 1, K), may lack the axis of draws."""
    U, V = (scores if scores.ndim == 3 else scores[None] for scores in (user_scores, item_scores))
    ends = (float(table.scale[0]), float(table.scale[-1]))
    return FittedRatings(table.users, table.items, U, V, mean, *ends, max(noise, 1e-6))
