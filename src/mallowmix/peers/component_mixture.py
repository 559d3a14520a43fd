"""What peers with components β and a prior of the weights share: infer weights, then predict.

β may be any table of pairwise probabilities, not only Mallows or Bradley–Terry components; `model`
is there where it is one of these, and everything in `assess` then works with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, text_of
from mallowmix.data.ratings import find
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.errors import DataError, did_you_mean
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.pair_model import Pairs
from mallowmix.peers.required_data import known_comparisons
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """One or more fits, whose predictions are averaged.

    Attributes
    ----------
    items : Labels
    fits : sequence of PreparedModel
    model : AnyModel or None
        Where the components are Mallows or Bradley–Terry.
    settings : tuple of (str, float)
        What was chosen by validation.
    """

    items: Labels
    fits: Sequence[PreparedModel]
    model: AnyModel | None = None
    settings: tuple[tuple[str, float], ...] = ()

    @property
    def beta(self) -> Array:
        """(K, Q, Q) the components of the first fit."""
        Q = len(self.items)
        return self.fits[0].beta.T.reshape(-1, Q, Q)

    @property
    def components(self) -> Array:
        """(K, Q) how often each item wins, on average over opponents, by component."""
        off = self.beta * ~np.eye(len(self.items), dtype=bool)
        return off.sum(axis=2) / max(len(self.items) - 1, 1)

    def weights(self, people: Comparisons) -> Array:
        """(M, K) posterior means of θ under the first fit."""
        return self._over(people, _weights, self.fits[0])

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) Σ_k β_(i,j),k E[θ_k | given], averaged over the fits; users may be new."""
        first, second = pair_numbers(self.items, pairs)
        return self._over(people, _probabilities, (self.fits, first * len(self.items) + second))

    def _over(self, people: Comparisons, step: Any, broadcast: Any) -> Array:
        people = known_comparisons(people).with_items(self.items, unknown_items="drop")
        return np.concatenate(ThreadEngine().map(step, make_blocks(people), broadcast))


def of_model(model: AnyModel, settings: tuple[tuple[str, float], ...] = ()) -> FittedMixture:
    """A model with its calibration and ensemble, as a fitted peer."""
    return FittedMixture(model.items, tuple(prepare_members(model)), model, settings)


def pair_numbers(items: Labels, pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) and (n,) the numbers of the first and the second item of each pair of labels."""
    couples = [tuple(pair) for pair in pairs]
    first, second = (find(items, [pair[side] for pair in couples], "item") for side in (0, 1))
    unknown = np.flatnonzero((first < 0) | (second < 0))
    if len(unknown):
        label = couples[unknown[0]][0 if first[unknown[0]] < 0 else 1]
        raise DataError(
            f"Pair {unknown[0] + 1}: there is no item {label!r} in what was learnt; "
            f"there are {len(items)} others.{did_you_mean(label, text_of(items))}"
        )
    return first, second


@map_step("mixture weights")
def _weights(block: Block, prepared: PreparedModel) -> Array:
    return fold_in(block, prepared)[0]


@map_step("mixture predictions")
def _probabilities(
    block: Block, broadcast: tuple[Sequence[PreparedModel], NDArray[np.int64]]
) -> Array:
    fits, codes = broadcast
    return np.mean(
        [_mixed(fold_in(block, prepared)[0], prepared.beta[codes]) for prepared in fits], axis=0
    )


def _mixed(theta: Array, beta: Array) -> Array:
    """(M, n) Σ_k θ_k β_k, a component at a time.

    The last digit of a product of matrices depends on how many rows are multiplied together.
    """
    out = np.zeros((len(theta), len(beta)))
    for k in range(theta.shape[1]):
        out += theta[:, k, None] * beta[:, k]
    return out
