"""A model prepared to answer: components and prior computed once, so that questions are fast."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.contrasts import differing_items
from mallowmix.assess.diagnose.disagreement import polarising
from mallowmix.checks.unsure_components import unsure_components, unsure_reasons
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.engine import Block
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import weight_intervals
from mallowmix.infer.next_pair import most_informative, rough_information
from mallowmix.infer.pool_states import PreparedPool, draw_states, prepare_pool
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.infer.rank_items import rank
from mallowmix.infer.user_results import RankedItem
from mallowmix.model.fitted_model import AnyModel
from mallowmix.report.split_bars import spread_out
from mallowmix.typing import Array
from mallowmix.web import shapes

N_DRAWS = 100  # of a person's state behind one question
_FEW, _BEST = 4, 1024  # one draw in four finds the best 1,024 pairs; all draws, the best of these
_SEED = 0
_LEAST_DRAWS = 10  # that an interval can be made of


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
        """One entry for each component, by share: ranking, most distinguishing pair, doubts."""
        rows, doubts = self.model.table(), unsure_reasons(unsure_components(self.model))
        for row in rows:
            row["unsure"] = doubts.get(row["component"], [])
            row["items"] = [str(item) for item in row["items"]]
            row["telling"] = distinguishing_choice(self.model, row["component"] - 1)
            row["differing"] = list(differing_items(self.model, row["component"] - 1))
        return rows

    @cached_property
    def polarising(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Pairs and items on which people differ most; no item is in more than two pairs.

        With each pair, how often each component, by share, prefers its first item.
        """
        pairs, items = polarising(self.model, n_top=self.model.n_items**2)
        beta = self.model.beta()[[row["component"] - 1 for row in self.tastes]]  # (K, Q, Q)
        rows = []
        for pair in spread_out(pairs):
            i, j = self.number[pair.item], self.number[pair.other]
            rows.append(vars(pair) | {"tastes": beta[:, i, j].tolist()})
        return rows, [vars(item) for item in items[:8]]

    @cached_property
    def summary(self) -> shapes.ModelOut:
        """What GET /model says that depends on the model alone: all but its growth."""
        pairs, splits = self.polarising
        return shapes.ModelOut(
            version=self.version,
            votes=self.votes,
            items=text_of(self.model.items),
            tastes=[shapes.Taste(**taste) for taste in self.tastes],
            crowd=[_line(line) for line in self.crowd],
            pairs=pairs,
            splits=splits,
        )

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
        """Compute what is cached and run what is asked, so that no visitor waits for a compiler."""
        Q, _ = self.model.n_items, (self.pool, self.summary)
        if Q > 1:
            low, high = np.triu_indices(Q, 1)
            some = np.array([0]), np.array([1])
            for block in (self.block(np.zeros(0), np.zeros(0)), self.block(*some)):
                self.weights(block)
                self.question(block, low * Q + high)
            # a choice that was made half a time takes other kernels than a whole one
            for times in (1.0, 0.5):
                self._warm_result(self.block(*some, np.array([times])))

    def _warm_result(self, block: Block) -> None:
        """Run what a person's mixture and ranking are made by, with few draws."""
        person = self.comparisons(block)
        weight_intervals(self.model, person, n_draws=_LEAST_DRAWS, n_jobs=1)
        rank(self.model, person, n_draws=_LEAST_DRAWS, n_jobs=1)


def _line(line: RankedItem) -> shapes.Line:
    """A line of the population's ranking, whose own position is the crowd's."""
    return shapes.Line(
        item=str(line.item),
        place=line.position,
        low=line.low,
        high=line.high,
        wins=line.win_rate,
        crowd=line.position,
    )


def distinguishing_choice(model: AnyModel, k: int) -> dict[str, Any] | None:
    """Return the pair that component k alone prefers so, by the largest margin; else None."""
    if model.n_components < 2 or model.n_items < 2:
        return None
    beta = model.beta()  # (K, Q, Q)
    lead = beta[k] - np.delete(beta, k, axis=0).max(axis=0)
    i, j = np.unravel_index(np.argmax(lead), lead.shape)
    names = text_of(model.items)
    others = float(np.delete(beta, k, axis=0).max(axis=0)[i, j])
    if not others < 0.5 < beta[k, i, j]:
        return None  # another component chooses so, too
    return {
        "winner": names[i],
        "loser": names[j],
        "here": float(beta[k, i, j]),
        "elsewhere": others,
    }
