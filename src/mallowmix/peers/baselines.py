"""What any system must beat: one ranking for all (Mallows, Bradley–Terry, Borda), and a coin."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.data.optional_packages import optional_package
from mallowmix.errors import DataError, Option
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.pair_model import Pairs
from mallowmix.peers.component_mixture import FittedMixture, of_model, pair_numbers
from mallowmix.peers.mixed_mallows_peer import fit_quietly
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False)
class FittedScores:
    """One score for every item, the same for all users: P(i over j) = σ(s_i − s_j).

    Without scores, and so without components, it is a coin.
    """

    items: Labels
    scores: Array  # (K, Q), K 0 or 1

    @property
    def components(self) -> Array:
        """(K, Q) the scores."""
        return self.scores

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) the same row for all; `people` are comparisons, or anything that has a length."""
        first, second = pair_numbers(self.items, pairs)
        total = self.scores.sum(axis=0)
        row = expit(total[first] - total[second])
        return np.tile(row, (people.n_users if isinstance(people, Comparisons) else len(people), 1))


@dataclass(frozen=True)
class OneMallows:
    """One ranking for all, followed with the same noise. Needs comparisons; K is always 1."""

    name: str = "one Mallows"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    has_components: ClassVar[bool] = False

    def fit(self, data: Comparisons, n_components: int = 1, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        return of_model(fit_quietly(data, 1, SpectralOptions(), seed))


@dataclass(frozen=True)
class BradleyTerry:
    """One score for every item, P(i over j) = σ(s_i − s_j), by choix (iterative Luce spectral).

    Needs comparisons; assumes that all users have the same preferences.

    Parameters
    ----------
    alpha : float
        choix's regularisation, roughly the number of wins of every item over every other one; 0 may
        not converge.
    """

    alpha: float = 0.1
    name: str = "Bradley–Terry (choix)"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    has_components: ClassVar[bool] = False

    def fit(self, data: Comparisons, n_components: int = 1, *, seed: int = 0) -> FittedScores:
        """Learn from comparisons; users count by their `user_weight`."""
        choix = optional_package("choix", "The system bradley-terry")
        try:
            scores = choix.ilsr_pairwise_dense(wins_of(data), alpha=self.alpha, max_iter=1000)
        except RuntimeError as error:
            raise DataError(
                f"choix found no Bradley–Terry scores ({error}): raise ", Option("alpha"), "."
            ) from None
        return FittedScores(data.items, np.asarray(scores, np.float64)[None])


@dataclass(frozen=True)
class Borda:
    """Items by their fraction of wins; P(i over j) = σ(c (s_i − s_j)), c by maximum likelihood.

    Needs comparisons; assumes that all users have the same preferences and that all items met
    similar opponents.
    """

    name: str = "Borda"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    has_components: ClassVar[bool] = False

    def fit(self, data: Comparisons, n_components: int = 1, *, seed: int = 0) -> FittedScores:
        """Learn from comparisons."""
        wins = wins_of(data)
        won, games = wins.sum(axis=1), wins.sum(axis=1) + wins.sum(axis=0)
        share = (won + 0.5) / (games + 1)
        apart = share[:, None] - share
        best: Any = minimize_scalar(
            lambda c: -np.sum(wins * log_expit(c * apart)), bounds=(0, 200), method="bounded"
        )
        return FittedScores(data.items, float(best.x) * share[None])


@dataclass(frozen=True)
class Coin:
    """One half for every pair. Needs nothing; assumes nothing."""

    name: str = "a coin"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    has_components: ClassVar[bool] = False

    def fit(self, data: Comparisons, n_components: int = 1, *, seed: int = 0) -> FittedScores:
        """Nothing is learnt but the names of the items."""
        return FittedScores(data.items, np.zeros((0, data.n_items)))


def wins_of(data: Comparisons) -> Array:
    """(Q, Q) how often each item was preferred to each other one, users counted by their weight."""
    weight = data.weight * data.user_weight[data.user]
    return (
        np.bincount(data.pair, weight, data.n_items**2).astype(np.float64).reshape(data.n_items, -1)
    )
