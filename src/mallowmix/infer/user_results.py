"""Results about users: weights, predictions and rankings, each with its labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.frames import FramedResult
from mallowmix.data.labelled_array import LabelledArray
from mallowmix.data.labels import Labels
from mallowmix.data.lazy_arrow import pa
from mallowmix.data.natural_order import natural_order
from mallowmix.data.text import name_of, percent, table_of
from mallowmix.model.names import component_titles
from mallowmix.typing import Array

_SHOWN = 10  # users in a table for notebooks


def _first(users: Labels) -> list[tuple[int, object]]:
    """Return the users that a notebook shows, with their numbers, in natural order."""
    return [(int(m), users[m]) for m in natural_order(users, _SHOWN)]


@dataclass(frozen=True, eq=False, repr=False)
class Weights(LabelledArray):
    """How much of each component users follow.

    Attributes
    ----------
    users : (M,) labels
        Whose weights these are.
    theta : (M, K) array
        The weights, rows sum to one.
    component_names : tuple of str
        Names of the components, where they have some; the columns of tables show them.
    """

    users: Labels
    theta: Array
    frame_kind: str | None = None
    component_names: tuple[str, ...] = ()

    @property
    def values(self) -> Array:
        """(M, K) the weights."""
        return self.theta

    def columns(self) -> dict[str, Any]:
        """User, component_1, …, component_K."""
        names = component_titles(self.component_names, self.theta.shape[1], "component_")
        return {"user": self.users.tolist()} | dict(zip(names, self.theta.T, strict=True))

    def __repr__(self) -> str:
        return f"Weights of {len(self.users):,} users over {self.theta.shape[1]} components"

    def _repr_html_(self) -> str:
        headings = ("user", *component_titles(self.component_names, self.theta.shape[1]))
        rows = [(name_of(user), *map(percent, self.theta[m])) for m, user in _first(self.users)]
        return table_of(headings, rows, repr(self))


@dataclass(frozen=True, eq=False, repr=False)
class WeightIntervals(LabelledArray):
    """How much of each component users follow, with intervals; one row a user.

    Attributes
    ----------
    users : (M,) labels
        Whose weights these are.
    mean : (M, K) array
        The posterior mean, as `weights` gives it.
    low, high : (M, K) arrays
        Ends of the interval that holds each weight with probability `level`.
    n_comparisons : (M,) array
        Of each user; where it is 0, the row is that of the prior.
    level : float
        The level of the intervals.
    component_names : tuple of str
        As in `Weights`.
    """

    users: Labels
    mean: Array
    low: Array
    high: Array
    n_comparisons: Array
    level: float
    frame_kind: str | None = None
    component_names: tuple[str, ...] = ()

    @property
    def values(self) -> Array:
        """(M, K) the posterior means."""
        return self.mean

    @property
    def is_prior(self) -> NDArray[np.bool_]:
        """(M,) which users have no comparisons."""
        return self.n_comparisons == 0

    def columns(self) -> dict[str, Any]:
        """User, n_comparisons, then component_k, low_k and high_k for every component."""
        out: dict[str, Any] = {"user": self.users.tolist(), "n_comparisons": self.n_comparisons}
        names = component_titles(self.component_names, self.mean.shape[1], "component_")
        for k, name in enumerate(names):
            out[name] = self.mean[:, k]
            out |= {f"low_{k + 1}": self.low[:, k], f"high_{k + 1}": self.high[:, k]}
        return out

    def __repr__(self) -> str:
        shape = f"{len(self.users):,} users over {self.mean.shape[1]} components"
        return f"Weights of {shape}, with {self.level:.0%} intervals"

    def _repr_html_(self) -> str:
        headings = ("user", *component_titles(self.component_names, self.mean.shape[1]))
        rows = []
        for m, user in _first(self.users):
            ends = zip(self.mean[m], self.low[m], self.high[m], strict=True)
            cells = (f"{percent(a)} [{percent(b)}, {percent(c)}]" for a, b, c in ends)
            rows.append((name_of(user), *cells))
        return table_of(headings, rows, repr(self))


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(LabelledArray):
    """How probable it is that users prefer the first of each pair to the second.

    Attributes
    ----------
    users : (M,) labels
        Who is predicted; one row "population" without comparisons.
    pairs : tuple of n pairs of labels
        The pairs that are predicted.
    probability : (M, n) array
        The probabilities.
    """

    users: Labels
    pairs: tuple[tuple[object, object], ...]
    probability: Array
    frame_kind: str | None = None

    @property
    def values(self) -> Array:
        """(M, n) the probabilities."""
        return self.probability

    def columns(self) -> dict[str, Any]:
        """User, first, second, probability: a row for each user and pair, users first."""
        M, n = self.probability.shape
        who = pa.array(self.users.tolist()).take(pa.array(np.repeat(np.arange(M), n)))
        first, second = (pa.array([pair[side] for pair in self.pairs] * M) for side in (0, 1))
        probability = self.probability.ravel()
        return {"user": who, "first": first, "second": second, "probability": probability}

    def __repr__(self) -> str:
        return f"Predictions of {len(self.pairs):,} pairs for {len(self.users):,} users"

    def _repr_html_(self) -> str:
        headings = ("user", "first", "second", "probability of the first")
        rows = [
            (name_of(user), name_of(a), name_of(b), percent(p))
            for m, user in _first(self.users)
            for (a, b), p in list(zip(self.pairs, self.probability[m], strict=True))[:_SHOWN]
        ]
        return table_of(headings, rows[: 2 * _SHOWN], repr(self))


@dataclass(frozen=True)
class RankedItem:
    """One line of a ranking.

    Attributes
    ----------
    item : label
        The item.
    position : int
        Its position, 1 is best.
    win_rate : float
        How probable it is that it wins against another item, taken at random.
    low, high : int
        The range of its positions.
    """

    item: object
    position: int
    win_rate: float
    low: int
    high: int


@dataclass(frozen=True, eq=False, repr=False)
class UserRankings(FramedResult):
    """Rankings of all items for users, best first; indexing gives one user's lines.

    Attributes
    ----------
    users : (M,) labels
        Whose rankings these are; one row "population" without comparisons.
    items : (Q,) labels
        The items.
    win_rate : (M, Q) array
        How probable it is that each item wins against another one, taken at random.
    low, high : (M, Q) arrays of int
        The range of each item's positions at the given level, 1 is best.
    n_top : int
        How many items of each ranking are shown; all where None.
    """

    users: Labels
    items: Labels
    win_rate: Array
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    n_top: int | None = None
    frame_kind: str | None = None

    def __getitem__(self, m: int) -> list[RankedItem]:
        items = self.items.tolist()
        wins, low, high = self.win_rate[m], self.low[m], self.high[m]
        order = np.argsort(-np.round(wins, 12), kind="stable")[: self.n_top]
        return [
            RankedItem(items[i], n, float(wins[i]), int(low[i]), int(high[i]))
            for n, i in enumerate(order, 1)
        ]

    def __len__(self) -> int:
        return len(self.users)

    def __iter__(self) -> Iterator[list[RankedItem]]:
        return (self[m] for m in range(len(self)))

    def columns(self) -> dict[str, Any]:
        """User, position, item, win_rate, low, high: a row for each user and item."""
        rows = [
            (user, line)
            for user, lines in zip(self.users.tolist(), self, strict=True)
            for line in lines
        ]
        columns: dict[str, Any] = {"user": [user for user, _ in rows]}
        for name in ("position", "item", "win_rate", "low", "high"):
            columns[name] = [getattr(line, name) for _, line in rows]
        return columns

    def __repr__(self) -> str:
        return f"Rankings of {len(self.items):,} items for {len(self.users):,} users"

    def _repr_html_(self) -> str:
        headings = ("user", "position", "item", "win rate", "range of positions")
        rows = [
            (
                name_of(user),
                str(x.position),
                name_of(x.item),
                percent(x.win_rate),
                f"{x.low}–{x.high}",
            )
            for m, user in _first(self.users)
            for x in self[m][:_SHOWN]
        ]
        return table_of(headings, rows, repr(self))
