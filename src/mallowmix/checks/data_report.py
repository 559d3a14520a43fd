"""The report on data: sizes, ties, contradictions, connectivity, position bias, support for K."""

import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.checks.component_support import Support, shortage, support_for
from mallowmix.checks.concerns import Limits, concerns_of
from mallowmix.checks.connected_pieces import Map, connected_pieces, distinct_pairs
from mallowmix.checks.position_bias import PositionBias, position_bias
from mallowmix.checks.preference_cycles import PreferenceCycle, preference_cycle
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import FramedResult
from mallowmix.data.labels import text_of
from mallowmix.data.quantity_table import quantity_columns
from mallowmix.data.text import list_of, table_of
from mallowmix.errors import DataWarning
from mallowmix.readers.reading import Reading
from mallowmix.readers.source import read

_QUANTILES = {"10 %": 0.1, "25 %": 0.25, "50 %": 0.5, "75 %": 0.75, "90 %": 0.9}
_BUSY = 0.1  # the part of users, the busiest, whose part of all comparisons is reported


@dataclass(frozen=True)
class DataReport(FramedResult):
    """What a set of comparisons holds; labels are given as text.

    Attributes
    ----------
    n_users, n_items : int
        M and Q.
    n_comparisons : float
        The sum of weights.
    n_rows : int
        Different (user, winner, loser).
    pairs_seen, pairs_possible : int
        Unordered pairs that were compared, and Q(Q−1)/2.
    per_user : dict of str to float
        The least, the median and the most comparisons of one user.
    activity : dict of str to float
        Quantiles of the comparisons of a user.
    busy_share : float
        The part of all comparisons that the busiest tenth of users made.
    per_pair : dict of str to float
        The least, the median and the most comparisons of a pair that was compared.
    users_below_two : list of str
        Users with fewer than two comparisons.
    never_compared, never_win, never_lose : list of str
        Items.
    pieces : list of int
        Sizes of the connected pieces of the graph of compared items, largest first.
    smaller_pieces : list of list of str
        The items of all pieces but the largest.
    n_repeated : float
        Comparisons that the same user made before with the same outcome.
    n_contradictions : int
        Pairs that one user decided both ways.
    warnings, advice : list of str
        What limits a fit, and what to do about it, in the same order.
    form, n_ties, ties, n_both_bad, position
        The form of the file, its ties and what was done with them, ties called bad, and which side
        wins: known where the comparisons come from `mallowmix.read`.
    support : Support, optional
        Known where a number of components was given.
    shortage : list of str
        Where none was given: what is far too little even for one ranking of all items.
    cycle : PreferenceCycle, optional
        Majorities that go in a circle, where there are some.
    """

    n_users: int
    n_items: int
    n_comparisons: float
    n_rows: int
    pairs_seen: int
    pairs_possible: int
    per_user: dict[str, float]
    activity: dict[str, float]
    busy_share: float
    per_pair: dict[str, float]
    users_below_two: list[str]
    never_compared: list[str]
    never_win: list[str]
    never_lose: list[str]
    pieces: list[int]
    smaller_pieces: list[list[str]]
    n_repeated: float
    n_contradictions: int
    warnings: list[str]
    advice: list[str]
    form: str | None = None
    n_ties: float | None = None
    ties: str | None = None
    n_both_bad: float | None = None
    position: PositionBias | None = None
    support: Support | None = field(default=None)
    shortage: list[str] = field(default_factory=list)
    cycle: PreferenceCycle | None = None
    frame_kind: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {name: value for name, value in asdict(self).items() if name != "frame_kind"}

    def columns(self) -> dict[str, Any]:
        """Quantity, number, about, value: a row for each number, label and sentence.

        A quantity is called as the attribute that holds it (`data.quantity_table`).
        """
        labels = {} if self.cycle is None else {"cycle.win_rates": self.cycle.couples()}
        return quantity_columns(self.to_dict(), labels)

    def _repr_html_(self) -> str:
        """Sizes, then what limits an answer and what to do, for notebooks."""
        sizes = (
            ("people", f"{self.n_users:,}"),
            ("items", f"{self.n_items:,}"),
            ("comparisons", f"{self.n_comparisons:,.12g}"),
            ("pairs compared", f"{self.pairs_seen:,} of {self.pairs_possible:,}"),
        )
        said = self.shortage + [
            f"{limit} {advice}" for limit, advice in zip(self.warnings, self.advice, strict=True)
        ]
        found = list_of(said) if said else "<p>Nothing was found that limits an answer.</p>"
        return table_of(("what", "how many"), sizes) + found


def check(comparisons: Any, n_components: int | None = None) -> DataReport:
    """Report sizes, warnings and advice for a set of comparisons.

    Parameters
    ----------
    comparisons : Comparisons, Reading, or whatever `read` takes
        From `read`, or read by it, the report also has ties and position bias.
    n_components : int, optional
        K: the report then says whether this data can support so many.

    Returns
    -------
    DataReport
        Numbers as attributes, and sentences in `warnings` and `advice`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> rows = [("ann", "tea", "coffee"), ("ann", "tea", "milk"), ("bob", "coffee", "tea")]
    >>> report = mm.check(rows)
    >>> report.n_users, report.pairs_seen, report.pairs_possible
    (2, 2, 3)
    >>> report.users_below_two
    ['bob']
    >>> report.never_win
    ['milk']
    """
    given = comparisons if isinstance(comparisons, Comparisons | Reading) else read(comparisons)
    reading = given if isinstance(given, Reading) else None
    data = given.comparisons if isinstance(given, Reading) else given
    position = position_bias(reading) if reading else None
    support = support_for(data, n_components) if n_components is not None else None
    cycle = preference_cycle(data)
    concerns = concerns_of(_limits(data), position, support, cycle)
    read_off = (
        {}
        if reading is None
        else {name: getattr(reading, name) for name in ("form", "n_ties", "ties", "n_both_bad")}
    )
    return DataReport(
        **_sizes(data, reading),
        **_named(_limits(data)),
        warnings=[concern.warning for concern in concerns],
        advice=[concern.advice for concern in concerns],
        position=position,
        support=support,
        shortage=shortage(data) if n_components is None else [],
        cycle=cycle,
        frame_kind=data.frame_kind,
        **read_off,
    )


def warn_about(comparisons: Comparisons, *, stacklevel: int = 2, each: Map = map) -> None:
    """Issue each warning of the data report as a DataWarning.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.
    stacklevel : int
        As in `warnings.warn`; 2 is the caller.
    each : callable
        As `map`; it may make several calls at the same time.
    """
    for concern in concerns_of(_limits(comparisons, each)):
        warnings.warn(DataWarning(concern.warning), stacklevel=stacklevel)


def _sizes(data: Comparisons, reading: Reading | None) -> dict[str, Any]:
    data = data.without_ranking_id()  # each pair of a user in one row
    counts, Q = data.per_user(), data.n_items
    pairs, of_pair = _pair_counts(data)
    quantiles = np.quantile(counts, list(_QUANTILES.values()), method="inverted_cdf")
    busiest = np.sort(counts)[::-1][: max(1, round(_BUSY * len(counts)))]
    return {
        "n_users": data.n_users,
        "n_items": Q,
        "n_comparisons": data.n_comparisons,
        "n_rows": len(data),
        "pairs_seen": len(of_pair),
        "pairs_possible": Q * (Q - 1) // 2,
        "per_user": _spread(counts),
        "activity": dict(zip(_QUANTILES, quantiles.tolist(), strict=True)),
        "busy_share": float(busiest.sum() / max(counts.sum(), 1e-300)),
        "per_pair": _spread(of_pair),
        "n_repeated": float(np.maximum(data.weight - 1, 0).sum()),
        "n_contradictions": _contradictions(data, pairs, reading),
    }


def _spread(counts: NDArray[Any]) -> dict[str, float]:
    if not len(counts):
        return {"min": 0.0, "median": 0.0, "max": 0.0}
    return {
        name: float(of(counts))
        for name, of in (("min", np.min), ("median", np.median), ("max", np.max))
    }


def _named(limits: Limits) -> dict[str, Any]:
    names = ("users_below_two", "never_compared", "never_win", "never_lose")
    pieces = {
        "pieces": [len(piece) for piece in limits.pieces],
        "smaller_pieces": limits.pieces[1:],
    }
    return {name: getattr(limits, name) for name in names} | pieces


def _limits(comparisons: Comparisons, each: Map = map) -> Limits:
    items, users = (
        np.array(text_of(comparisons.items), object),
        np.array(text_of(comparisons.users), object),
    )
    pairs = distinct_pairs(comparisons, each)
    wins, losses = np.zeros((2, len(items)), bool)
    wins[pairs // len(items)] = losses[pairs % len(items)] = True
    return Limits(
        users_below_two=users[comparisons.per_user() < 2].tolist(),
        never_compared=items[~wins & ~losses].tolist(),
        never_win=items[~wins & losses].tolist(),
        never_lose=items[wins & ~losses].tolist(),
        pieces=[items[piece].tolist() for piece in connected_pieces(pairs, wins | losses)],
    )


def _pair_counts(comparisons: Comparisons) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The unordered pair of each row, and how often each pair that was compared was."""
    low, high = (
        np.minimum(comparisons.winner, comparisons.loser),
        np.maximum(comparisons.winner, comparisons.loser),
    )
    pairs = low.astype(np.int64) * comparisons.n_items + high
    order = np.argsort(pairs, kind="stable")
    first = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    counts = np.add.reduceat(comparisons.weight[order], first) if len(pairs) else np.zeros(0)
    return pairs, counts


def _contradictions(data: Comparisons, pairs: NDArray[np.int64], reading: Reading | None) -> int:
    """How many pairs one user decided both ways; a tie that counts half for each is no decision."""
    if reading is not None and reading.sides is not None:
        sides, Q = reading.sides, data.n_items
        low, high = np.minimum(sides.left, sides.right), np.maximum(sides.left, sides.right)
        return _both_ways(
            sides.user,
            low.astype(np.int64) * Q + high,
            sides.left_won == (sides.left < sides.right),
            Q,
        )
    if reading is not None and reading.ties == "half":
        return 0  # each user gave one order, with ties
    return _both_ways(data.user, pairs, data.winner < data.loser, data.n_items)


def _both_ways(
    user: NDArray[Any], pair: NDArray[np.int64], forward: NDArray[np.bool_], n_items: int
) -> int:
    key = np.sort((user.astype(np.int64) * n_items**2 + pair) * 2 + forward)
    return int(np.count_nonzero((key[1:] == key[:-1] + 1) & (key[1:] % 2 == 1)))
