"""Comparisons of people that a model is asked for after it was told the others of theirs, with their foretold probabilities."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.infer.collapsed_variational import views
from mallowmix.infer.heldout.completion import foretold, split_block
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key

Array = NDArray[np.float64]


class Asked(NamedTuple):
    """Rows that were held out: whose, which ordered pair (winner · Q + loser), how often, and their foretold probability."""

    user: NDArray[np.int64]
    pair: NDArray[np.int64]
    weight: Array
    probability: Array

    def per_person(self, n_users: int) -> Array:
        """(M, 2) each person's summed log-probability of what was held out, and how much that is."""
        score = np.bincount(self.user, self.weight * np.log(self.probability), n_users)
        return np.column_stack([score, np.bincount(self.user, self.weight, n_users)]).astype(
            np.float64
        )


def ask(
    model: M4,
    comparisons: Comparisons,
    *,
    given: float = 0.5,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Asked:
    """Tell the model a part of everybody's comparisons and ask for the rest, as `infer.heldout.completion` does, row by row."""
    comparisons = comparisons.with_items(model.items)
    parts = ThreadEngine(n_jobs).map(
        _ask, make_blocks(comparisons), (views(model), given, as_key(seed))
    )
    return Asked(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@map_step("held-out rows")
def _ask(block: Block, broadcast: Any) -> Asked:
    fits, given, key = broadcast
    told, asked = split_block(block, given, "comparisons", key)
    rows = np.flatnonzero(asked > 0)
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))[rows]
    p = foretold(block, fits, told, person, block.pair[rows])
    return Asked(block.first_user + person, block.pair[rows].astype(np.int64), asked[rows], p)
