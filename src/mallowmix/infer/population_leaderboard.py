"""The leaderboard: all items by how often they win in the population, with intervals.

It also holds each item's position in each component.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.frames import as_frame
from mallowmix.data.labels import Labels
from mallowmix.data.text import name_of, percent, table_of
from mallowmix.errors import check_level
from mallowmix.infer.pooled_ranking import pooled_population_rates, positions_of
from mallowmix.infer.prepared_model import prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
    """All items, best first.

    Attributes
    ----------
    items : (Q,) labels
        The items, best first.
    win_rate : (Q,) array
        How probable it is that a user at random prefers the item to another one, taken at random.
    low, high : (Q,) arrays
        The interval of the win rate over samples of users; NaN where the model has no draws.
    rank_low, rank_high : (Q,) arrays of int
        The rank set: the positions that the item may have, 1 is best.
    component_positions : (K, Q) array of int
        The item's position in each component, 1 is best.
    level : float
        Of the intervals.
    """

    items: Labels
    win_rate: Array
    low: Array
    high: Array
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    component_positions: NDArray[np.int64]
    level: float

    def columns(self) -> dict[str, Any]:
        """Position, item, win_rate, low, high, rank_low, rank_high, component_1, …"""
        columns: dict[str, Any] = {
            "position": list(range(1, len(self.items) + 1)),
            "item": self.items.tolist(),
        }
        for name in ("win_rate", "low", "high", "rank_low", "rank_high"):
            columns[name] = getattr(self, name)
        parts = enumerate(self.component_positions, 1)
        return columns | {f"component_{k}": row for k, row in parts}

    def to_frame(self, like: Any = None) -> Any:
        """The leaderboard as a table.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table
            The kind of table that is wanted; Arrow unless given.
        """
        return as_frame(self.columns(), like)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Leaderboard of {len(self.items):,} items; best is {name_of(self.items[0])}"

    def _repr_html_(self) -> str:
        lines = [
            (str(n), name_of(item), percent(rate), f"{low} to {high}")
            for n, (item, rate, low, high) in enumerate(
                zip(self.items, self.win_rate, self.rank_low, self.rank_high, strict=True), 1
            )
        ]
        return table_of(("position", "item", "win rate", "may be"), lines, repr(self))


def leaderboard(model: ComponentModel, *, level: float = 0.95) -> Leaderboard:
    """The population's ranking by mean win rate, with intervals and rank sets.

    Parameters
    ----------
    model : FittedModel or M4
        What ranks; intervals need the draws that `fit` keeps with its predictor.
    level : float
        How probable it is that an interval holds, over samples of users.

    Returns
    -------
    Leaderboard
        The items, best first; `to_frame` gives a table.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20)
    >>> len(mm.leaderboard(dishes.model))
    16
    """
    check_level(level)
    rates, draws = _rates_and_draws(model)
    order = np.argsort(-np.round(rates, 12), kind="stable")
    ends = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    positions = np.argsort(np.argsort(-draws, axis=1, kind="stable"), axis=1) + 1
    own = np.empty(len(order), np.int64)
    own[order] = np.arange(1, len(order) + 1)
    rank_low = np.quantile(positions, (1 - level) / 2, axis=0, method="lower")
    rank_high = np.quantile(positions, (1 + level) / 2, axis=0, method="higher")
    known = len(draws) > 1
    low, high = (ends if known else np.full_like(ends, np.nan))[:, order]
    return Leaderboard(
        model.items[order],
        rates[order],
        low,
        high,
        np.minimum(rank_low, own)[order].astype(np.int64),
        np.maximum(rank_high, own)[order].astype(np.int64),
        component_positions(model)[:, order],
        level,
    )


def _rates_and_draws(model: ComponentModel) -> tuple[Array, Array]:
    """(Q,) win rates, and (S, Q) draws of them; without draws, the rates stand for a single one."""
    if isinstance(model, FittedModel) and model.predictor is not None:
        rates = pooled_population_rates(model.predictor)
        draws = model.predictor.win_rate_draws
        if draws is not None:
            return rates, rates + draws[1:] - draws[0]
        return rates, rates[None]
    Q = model.n_items
    tables = [each.beta @ each.prior_mean for each in prepare_members(model)]
    table = np.mean(tables, axis=0).reshape(Q, Q)
    rates = (table.sum(axis=1) - np.diag(table)) / max(Q - 1, 1)
    return rates, rates[None]


def component_positions(model: ComponentModel) -> NDArray[np.int64]:
    """(K, Q) each item's position in each component, 1 is best."""
    return positions_of(model.beta().sum(axis=2))
