"""The leaderboard: all items by how often they win in the population, with intervals.

It also holds each item's position in each component.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.checks.position_bias import PositionBias, position_bias, side_correction
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import FramedResult
from mallowmix.data.labels import Labels, text_of
from mallowmix.data.text import name_of, percent, printable, table_of
from mallowmix.data.tie_halves import tie_halves
from mallowmix.errors import check_level
from mallowmix.infer.pooled_ranking import (
    pooled_population_rates,
    position_ends,
    positions_of,
)
from mallowmix.infer.prepared_model import prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel, names_in
from mallowmix.model.names import component_titles
from mallowmix.model.pair_model import check_model
from mallowmix.readers import read
from mallowmix.readers.reading import Reading, Ties
from mallowmix.typing import Array


@dataclass(frozen=True)
class TieShare:
    """How many comparisons were ties.

    Attributes
    ----------
    share : float
        Of all comparisons, ties included.
    n_comparisons : float
        All comparisons, ties included.
    treatment : {"half", "drop", "error"}
        What was done with them: half a win for both sides, left out, or refused.
    """

    share: float
    n_comparisons: float
    treatment: Ties

    def sentence(self) -> str:
        """Say it in words."""
        if not self.share:
            return f"No tie among {self.n_comparisons:,.12g} comparisons."
        done = "counted as half a win for both" if self.treatment == "half" else "left out"
        return f"{self.share:.1%} of {self.n_comparisons:,.12g} comparisons were ties ({done})."


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(FramedResult):
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
    ties : TieShare, optional
        How many of the comparisons were ties, where comparisons were given.
    position : PositionBias, optional
        How often the left one of two equally good items wins, where sides are known.
    correction : (Q,) array, optional
        What was added to each win rate to take position bias out, where it is clear.
    component_names : tuple of str
        Names of the components, where they have some.
    """

    items: Labels
    win_rate: Array
    low: Array
    high: Array
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    component_positions: NDArray[np.int64]
    level: float
    ties: TieShare | None = None
    position: PositionBias | None = None
    correction: Array | None = None
    component_names: tuple[str, ...] = ()
    frame_kind: str | None = None

    def notes(self) -> list[str]:
        """Sentences about ties and position bias, where comparisons were given."""
        if self.ties is None:
            return []
        return [self.ties.sentence(), _position_sentence(self.position, self.correction)]

    def columns(self) -> dict[str, Any]:
        """Position, item, win_rate, low, high, rank_low, rank_high, component_1, …"""
        columns: dict[str, Any] = {
            "position": list(range(1, len(self.items) + 1)),
            "item": self.items.tolist(),
        }
        for name in ("win_rate", "low", "high", "rank_low", "rank_high"):
            columns[name] = getattr(self, name)
        K = len(self.component_positions)
        names = component_titles(self.component_names, K, "component_")
        return columns | dict(zip(names, self.component_positions, strict=True))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Leaderboard of {len(self.items):,} items; best is {printable(self.items[0])}"

    def _repr_html_(self) -> str:
        lines = [
            (str(n), name_of(item), percent(rate), f"{low} to {high}")
            for n, (item, rate, low, high) in enumerate(
                zip(self.items, self.win_rate, self.rank_low, self.rank_high, strict=True), 1
            )
        ]
        return table_of(("position", "item", "win rate", "may be"), lines, repr(self))


def leaderboard(
    model: ComponentModel, comparisons: Any = None, *, level: float = 0.95
) -> Leaderboard:
    """The population's ranking by mean win rate, with intervals and rank sets.

    Parameters
    ----------
    model : FittedModel or M4
        What ranks; intervals need the draws that `fit` keeps with its predictor.
    comparisons : Comparisons, Reading, or whatever `read` takes, optional
        The comparisons that the model was learnt from. Ties are counted in them; where they say
        which item stood left, position bias is measured, and taken out where it is clear: win
        rates then move by as much as Bradley–Terry's do when the side is taken into account.
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
    check_model(model)
    check_level(level)
    rates, draws = _rates_and_draws(model)
    reading = _reading(comparisons)
    ties, position = (None, None) if reading is None else (_ties(reading), position_bias(reading))
    correction = _correction(reading, ties, position, model)
    if correction is not None:
        rates, draws = rates + correction, draws + correction
    order = np.argsort(-np.round(rates, 12), kind="stable")
    ends = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    own, drawn = position_ends(rates), position_ends(draws)
    rank_low = np.quantile(drawn[:, 0], (1 - level) / 2, axis=0, method="lower")
    rank_high = np.quantile(drawn[:, 1], (1 + level) / 2, axis=0, method="higher")
    known = len(draws) > 1
    low, high = (ends if known else np.full_like(ends, np.nan))[:, order]
    return Leaderboard(
        model.items[order],
        rates[order],
        low,
        high,
        np.minimum(rank_low, own[0])[order].astype(np.int64),
        np.maximum(rank_high, own[1])[order].astype(np.int64),
        component_positions(model)[:, order],
        level,
        ties,
        position,
        None if correction is None else correction[order],
        names_in(model),
        None if reading is None else reading.comparisons.frame_kind,
    )


def _reading(comparisons: Any) -> Reading | None:
    if comparisons is None or isinstance(comparisons, Reading):
        return comparisons
    if isinstance(comparisons, Comparisons):
        n_ties = _half_rows(comparisons) / 2
        return Reading(comparisons, "comparisons", ties="half", n_ties=n_ties)
    return read(comparisons)


def _half_rows(comparisons: Comparisons) -> int:
    """How many rows are half a tie."""
    starts = np.searchsorted(comparisons.user, np.arange(comparisons.n_users + 1))
    halves = tie_halves(starts, comparisons.pair, comparisons.weight, comparisons.n_items)
    return 0 if halves is None else int(np.count_nonzero(halves))


def _ties(reading: Reading) -> TieShare:
    n = reading.comparisons.n_comparisons + (0 if reading.ties == "half" else reading.n_ties)
    return TieShare(reading.n_ties / n if n else 0.0, n, reading.ties)


def _correction(
    reading: Reading | None,
    ties: TieShare | None,
    position: PositionBias | None,
    model: ComponentModel,
) -> Array | None:
    """(Q,) what takes a clear position bias out of the win rates of the model's items."""
    if reading is None or ties is None or position is None or not position.clear:
        return None
    found = side_correction(reading)
    if found is None:
        return None
    if ties.treatment == "half":
        found = (1 - ties.share) * found  # sides matter where there is a winner
    change = dict(zip(text_of(reading.comparisons.items), found.tolist(), strict=True))
    return np.array([change.get(name, 0.0) for name in text_of(model.items)])


def _position_sentence(position: PositionBias | None, correction: Array | None) -> str:
    if position is None:
        return "Position bias is not known: the comparisons do not say which item stood first."
    found = (
        f"Of two equally good items the first (left) one wins {position.left_wins:.1%} "
        f"({position.low:.1%} to {position.high:.1%})"
    )
    if not position.clear:
        return f"{found}: no sign of position bias."
    if correction is None:
        return f"{found}: position bias, which is not corrected with so many items."
    most = np.abs(correction).max()
    return f"{found}: position bias. Win rates are corrected for it, by {most:.1%} at most."


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
