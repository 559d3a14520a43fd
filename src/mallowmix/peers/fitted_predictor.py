"""A `Predictor`, or any one of its members, as a fitted peer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.data.ratings import find
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pooled_prediction import predictor_probabilities
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.pair_model import Pairs
from mallowmix.model.predictor import N_CATEGORIES, Member, Predictor
from mallowmix.peers.component_mixture import pair_numbers
from mallowmix.peers.required_data import known_comparisons
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False)
class FittedPredictor:
    """A pool of models that predicts users by their posterior.

    Attributes
    ----------
    items : Labels
    predictor : Predictor
    components : ndarray, shape (K, Q)
        Scores of the items, one row a component; higher is better.
    model : FittedModel or None
        The fitted model that the predictor belongs to.
    settings : tuple of (str, float)
        What was chosen by validation.
    """

    items: Labels
    predictor: Predictor
    components: Array
    model: FittedModel | None = None
    settings: tuple[tuple[str, float], ...] = ()

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) posterior predictive probabilities; users may be new."""
        first, second = pair_numbers(self.items, pairs)
        people = known_comparisons(people).with_items(self.items, unknown_items="drop")
        codes = first * len(self.items) + second
        queries = Queries.same_for_all(people.n_users, codes)
        return self._over(people, queries).reshape(people.n_users, len(codes))

    def predict_rows(self, given: Comparisons, held_out: Comparisons) -> Array:
        """(n,) the probability of the outcome in each row of `held_out`."""
        number = find(self.items, held_out.items.tolist(), "item")
        winner, loser = number[held_out.winner], number[held_out.loser]
        unknown = np.flatnonzero((winner < 0) | (loser < 0))
        if len(unknown):
            row = unknown[0]
            labels = held_out.items[[held_out.winner[row], held_out.loser[row]]].tolist()
            pair_numbers(self.items, [tuple(labels)])  # says which item
        given = given.with_items(self.items, unknown_items="drop")
        codes = winner.astype(np.int64) * len(self.items) + loser
        return self._over(given, Queries(held_out.starts(), codes))

    def _over(self, people: Comparisons, queries: Queries) -> Array:
        broadcast = (self.predictor, queries.starts, queries.pair)
        parts = ThreadEngine().map(_probabilities, make_blocks(people), broadcast)
        return np.concatenate([np.empty(0), *parts])


def of_fitted(model: FittedModel, settings: tuple[tuple[str, float], ...] = ()) -> FittedPredictor:
    """A fitted model that has a predictor, as a fitted peer."""
    assert model.predictor is not None
    off = model.beta() * ~np.eye(model.n_items, dtype=bool)
    scores = off.sum(axis=2) / max(model.n_items - 1, 1)
    return FittedPredictor(model.items, model.predictor, scores, model, settings)


def of_member(
    member: Member, items: Labels, components: Array, settings: tuple[tuple[str, float], ...] = ()
) -> FittedPredictor:
    """One model alone, as a fitted peer."""
    alone = Predictor((member,), np.ones((N_CATEGORIES, 1)))
    return FittedPredictor(items, alone, components, None, settings)


@map_step("predict queried pairs by the pool")
def _probabilities(
    block: Block, broadcast: tuple[Predictor, NDArray[np.int64], NDArray[np.int64]]
) -> Array:
    predictor, starts, pair = broadcast
    own = starts[block.first_user : block.first_user + block.n_users + 1]
    queries = Queries(own - own[0], pair[own[0] : own[-1]])
    return predictor_probabilities(block, predictor, queries)
