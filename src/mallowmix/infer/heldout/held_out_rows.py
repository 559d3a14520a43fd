"""Held-out comparisons, row by row, each with its predicted probability."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.selection import EngineName, using
from mallowmix.infer.heldout.completion import predicted, split_block_rows
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array


class HeldOutRows(NamedTuple):
    """Held-out rows: user, ordered pair (winner · Q + loser), weight and predicted probability."""

    user: NDArray[np.int64]
    pair: NDArray[np.int64]
    weight: Array
    probability: Array

    def per_user(self, n_users: int) -> Array:
        """(M, 2) the summed log-probability of what was held out of each user, and how much."""
        score = np.bincount(self.user, self.weight * np.log(self.probability), n_users)
        n = np.bincount(self.user, self.weight, n_users)
        return np.column_stack([score, n]).astype(np.float64)


def predict_held_out(
    model: ComponentModel,
    comparisons: Comparisons,
    *,
    given: float = 0.5,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> HeldOutRows:
    """Predict part of each user's comparisons from the rest, as `completion`, row by row.

    Parameters
    ----------
    model, comparisons, seed, n_jobs, engine
        As in `completion`.
    given : float
        The part that is given.
    """
    comparisons = comparisons.with_items(model.items)
    broadcast = (prepare_members(model), given, as_key(seed))
    with using(engine, n_jobs) as run:
        parts = run.map(_held_out, make_blocks(comparisons), broadcast)
    return HeldOutRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@map_step("held-out rows")
def _held_out(block: Block, broadcast: tuple[list[PreparedModel], float, np.uint64]) -> HeldOutRows:
    members, given, key = broadcast
    known, wanted = split_block_rows(block, given, "comparisons", key)
    rows = np.flatnonzero(wanted > 0)
    user = block.users_of_rows()[rows].astype(np.int64)
    p = predicted(block, members, known, user, block.pair[rows])
    return HeldOutRows(block.first_user + user, block.pair[rows].astype(np.int64), wanted[rows], p)
