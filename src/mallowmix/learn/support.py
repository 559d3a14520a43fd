"""How well the data pins each ranking down: two halves of the people, each moving the found rankings to where it wants them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, LocalEngine
from mallowmix.learn.gibbs import FLOOR
from mallowmix.learn.mstep import Columns, beta_table
from mallowmix.learn.polish import polish_columns
from mallowmix.learn.sample import people
from mallowmix.learn.tables import by_pair, pair_codes, tabulate
from mallowmix.rankings import kendall

Array = NDArray[np.float64]


def half_distances(blocks: list[Block], columns: Columns, theta: list[Array], engine: LocalEngine) -> Array:
    """(K,) the fraction of pairs that two halves of the people put in different order, each half polishing the found rankings.

    A ranking that the data determines is hardly moved by either half; where it is noise, each half goes its own way. Where
    chance alone makes the error, this number is two to six times as large. What both halves share cannot be seen here, such as
    two components mixed into each other.

    theta : everybody's weights, drawn or estimated, a block each
    """
    broadcast = (beta_table(columns, FLOOR), *pair_codes(columns.sigma.shape[1]))
    (even, odd), _ = engine.reduce(_step, blocks, broadcast, theta)
    first, second = polish_columns(even, columns), polish_columns(odd, columns)
    return np.array([kendall(a, b) for a, b in zip(first.sigma, second.sigma, strict=True)])


def _step(block: Block, broadcast: Any, theta: Array) -> tuple[tuple[Array, Array], Array]:
    """The tables of people with even and with odd numbers."""
    beta, index, forward = broadcast
    rows, person = by_pair(block.pair, index), people(block)
    odd = (person[rows] + block.first_user) % 2 == 1
    args = person, block.pair, block.weight, block.user_weight, index, forward, beta, theta
    return (tabulate(rows[~odd], *args), tabulate(rows[odd], *args)), theta
