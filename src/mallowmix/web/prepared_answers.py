"""A model prepared to answer: components and prior computed once, so that questions are fast."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.diagnose.disagreement import polarising
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.engine import Block
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.next_pair import most_informative, rough_information
from mallowmix.infer.pool_states import PreparedPool, draw_states, prepare_pool
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.infer.rank_items import rank
from mallowmix.infer.user_results import RankedItem
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.typing import Array

N_DRAWS = 100  # of a person's state behind one question
_FEW, _BEST = 4, 1024  # one draw in four finds the best 1,024 pairs; all draws, the best of these
_SEED = 0


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model with its number in the database; 0 is the one given on the command line."""

    version: int
    model: AnyModel
    votes: int = 0
    number: dict[str, int] = field(default_factory=dict)  # of each item in the model, by name

    def __post_init__(self) -> None:
        self.number.update({name: i for i, name in enumerate(text_of(self.model.items))})

    @cached_property
    def prepared(self) -> PreparedModel:
        """The prepared model: probabilities of pairs, and prior."""
        return prepare(self.model)

    @cached_property
    def pool(self) -> PreparedPool:
        """The predictor, or the components, ready to draw a person's state from."""
        return prepare_pool(self.model)

    @cached_property
    def crowd(self) -> list[RankedItem]:
        """The population's ranking."""
        return rank(self.model)[0]

    @cached_property
    def tastes(self) -> list[dict[str, Any]]:
        """One entry for each component, by share: its ranking, and its most distinguishing pair."""
        rows, unstable = self.model.table(), as_fitted(self.model).report.unstable
        for row in rows:
            row["unstable"] = row["component"] in unstable
            row["items"] = [str(item) for item in row["items"]]
            row["telling"] = distinguishing_choice(self.model, row["component"] - 1)
        return rows

    @cached_property
    def polarising(self) -> tuple[Any, Any]:
        """Pairs and items on which people differ most."""
        return polarising(self.model, n_top=8)

    def block(
        self, winner: NDArray[Any], loser: NDArray[Any], weight: Array | None = None
    ) -> Block:
        """One person's choices, as numbers of items in the model."""
        pair = np.asarray(winner, np.int64) * self.model.n_items + np.asarray(loser, np.int64)
        # as Comparisons has them, so that draws are the same
        order = np.argsort(pair, kind="stable")
        weight = np.ones(len(pair)) if weight is None else np.asarray(weight, np.float64)
        starts = np.array([0, len(pair)], np.int64)
        return Block(
            0, self.model.n_items, starts, pair[order].astype(np.int32), weight[order], np.ones(1)
        )

    def weights(self, block: Block) -> Array:
        """(K,) the posterior mean of the person's weights."""
        theta = fold_in(block, self.prepared)[0][0, : self.model.n_components]
        return theta / theta.sum()

    def question(self, block: Block, codes: NDArray[np.int64]) -> tuple[int, float]:
        """Return which of the pairs `codes` (i · Q + j) is most informative, and its nats."""
        states = draw_states(block, self.pool, N_DRAWS, _SEED)
        some = np.arange(len(codes))
        if len(codes) > 4 * _BEST:
            rough = rough_information(states.thinned(_FEW), codes)
            some = np.sort(np.argpartition(-rough, _BEST)[:_BEST])
        best, nats, _ = most_informative(states, codes[some])
        return int(some[best[0]]), float(nats[0])

    def comparisons(self, block: Block) -> Comparisons:
        """The same choices as the library takes them."""
        winner, loser = np.divmod(block.pair, self.model.n_items)
        return Comparisons.from_codes(
            np.zeros(len(winner), int), winner, loser, block.weight, self.model.items, ["you"]
        )

    def warm(self) -> None:
        """Compute what is cached and run a question, so that no visitor waits for a compiler."""
        Q, _ = self.model.n_items, (self.pool, self.crowd, self.tastes, self.polarising)
        if Q > 1:
            for block in (
                self.block(np.zeros(0), np.zeros(0)),
                self.block(np.array([0]), np.array([1])),
            ):
                self.weights(block)
                low, high = np.triu_indices(Q, 1)
                self.question(block, low * Q + high)


def distinguishing_choice(model: AnyModel, k: int) -> dict[str, Any] | None:
    """Return the pair that component k prefers by the largest margin over every other component."""
    if model.n_components < 2 or model.n_items < 2:
        return None
    beta = model.beta()  # (K, Q, Q)
    lead = beta[k] - np.delete(beta, k, axis=0).max(axis=0)
    i, j = np.unravel_index(np.argmax(lead), lead.shape)
    names = text_of(model.items)
    others = float(np.delete(beta, k, axis=0).max(axis=0)[i, j])
    return {
        "winner": names[i],
        "loser": names[j],
        "here": float(beta[k, i, j]),
        "elsewhere": others,
    }
