"""Estimates with their intervals, read off the replicates of a bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.intervals.replicates import Replicates
from mallowmix.data.frames import FramedResult
from mallowmix.data.labels import Labels
from mallowmix.data.text import joined, name_of, percent, table_of
from mallowmix.errors import OptionError, did_you_mean
from mallowmix.model.mallows import gap_probabilities
from mallowmix.model.names import component_title
from mallowmix.typing import Array, Positions

_TOP = "the interval is about where the likelihood is largest, and the model"
_UNREFINED = f"{_TOP} was not brought there: fit with refine 'full'."
_STOPPED = f"{_TOP} stopped a little before."
_OTHERS = "most models from other initialisations lie on one side of it."
_TOO_SMALL = "rankings that were chosen to fit make phi too small, which the interval makes up for."


@dataclass(frozen=True, eq=False)
class Intervals(FramedResult):
    """Intervals at a level, and the replicates that they are read off.

    Positions are discrete: an interval of positions holds the estimate and at least `level` of the
    replicates. Where a ranking is all but known, most intervals are one or two positions wide and
    cover more often than they say. Of unstable components there are few models, and the shortest
    run of most of them would leave the others out too often: their positions lie between the same
    ranks as φ does, the least and the largest at 90%.

    Attributes
    ----------
    level : float
    items : Labels
    position, position_low, position_high : ndarray, shape (K, Q)
        Positions of the items in each component, 0 is best.
    phi, phi_low, phi_high, share, share_low, share_high : ndarray, shape (K,)
    draws : Replicates
        sigma (R, K, Q), phi (R, K), share (R, K).
    refined : bool
        Whether the model was brought to the maximum of the likelihood, which intervals of φ and
        shares are about.
    unstable : tuple of int
        The components, from 1, whose intervals are over models from other initialisations.
    component_names : tuple of str
        Names of the components, where they have some.
    """

    level: float
    items: Labels
    position: Positions
    phi: Array
    share: Array
    draws: Replicates
    refined: bool = True
    unstable: tuple[int, ...] = ()
    component_names: tuple[str, ...] = ()
    frame_kind: str | None = None

    @cached_property
    def _positions(self) -> tuple[Positions, Positions]:
        low, high = shortest_run(self.draws.sigma, self.position, self.level)
        for k in (each - 1 for each in self.unstable):  # of few models: by rank, as for φ
            least, most = (self._quantile(self.draws.sigma[:, k], side) for side in (-1, 1))
            low[k] = np.minimum(np.floor(least), self.position[k])
            high[k] = np.maximum(np.ceil(most), self.position[k])
        return low, high

    @property
    def position_low(self) -> Positions:
        """(K, Q) the best position in each interval."""
        return self._positions[0]

    @property
    def position_high(self) -> Positions:
        """(K, Q) the worst position in each interval."""
        return self._positions[1]

    def _quantile(self, draws: Array | Positions, side: float) -> Array:
        """The end of an interval: of R sorted replicates the one of rank p (R + 1)."""
        return np.quantile(draws, 0.5 + side * self.level / 2, axis=0, method="weibull")

    @property
    def phi_low(self) -> Array:
        """(K,) lower ends."""
        return self._quantile(self.draws.phi, -1)

    @property
    def phi_high(self) -> Array:
        """(K,) upper ends."""
        return self._quantile(self.draws.phi, 1)

    @property
    def share_low(self) -> Array:
        """(K,) lower ends."""
        return self._quantile(self.draws.share, -1)

    @property
    def share_high(self) -> Array:
        """(K,) upper ends."""
        return self._quantile(self.draws.share, 1)

    @property
    def notes(self) -> list[str]:
        """Sentences: what unstable components' intervals are, and who lies outside their own."""
        small, large = self.phi < self.phi_low, self.phi > self.phi_high
        shares = (self.share < self.share_low) | (self.share > self.share_high)
        if not self.refined:
            small, large = np.zeros_like(small), small | large
        why = _STOPPED if self.refined else _UNREFINED
        loose = self._is_unstable
        cases = (
            ("phi", small & ~loose, _TOO_SMALL),
            ("phi", large & ~loose, why),
            ("share", shares & ~loose, why),
            ("phi", (small | large) & loose, _OTHERS),
            ("share", shares & loose, _OTHERS),
        )
        names = self.component_names
        return self._unstable_note(names) + [
            f"Outside its interval is the {name} of {_components(which, names)}: {reason}"
            for name, which, reason in cases
            if which.any()
        ]

    @property
    def _is_unstable(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(len(self.phi)) + 1, self.unstable)

    def _unstable_note(self, names: Sequence[str]) -> list[str]:
        if not self.unstable:
            return []
        which = self._is_unstable
        verb, whose = ("are", "their") if which.sum() > 1 else ("is", "its")
        said = _components(which, names)
        return [
            f"{said[0].upper()}{said[1:]} {verb} unstable: {whose} intervals are over models of "
            "other people from other initialisations, not around this one."
        ]

    def win_rate(self, winner: object, loser: object) -> tuple[float, float, float]:
        """How often the population prefers one item to another, Σ_k a_k β_(i,j),k.

        Parameters
        ----------
        winner, loser : object
            Labels of items.

        Returns
        -------
        estimate, low, high : float

        Raises
        ------
        OptionError
            Where the model has no such item.
        """
        names = [str(item) for item in self.items.tolist()]
        for item in (winner, loser):
            if str(item) not in names:
                raise OptionError(
                    f"The model has no item {item!r}; it has {len(names)} others."
                    f"{did_you_mean(item, names)}",
                    option="item",
                    value=item,
                    expected="an item of the model",
                )
        i, j = names.index(str(winner)), names.index(str(loser))
        rates = _win_rates(
            self.draws.sigma[:, :, i],
            self.draws.sigma[:, :, j],
            self.draws.phi,
            self.draws.share,
            len(names),
        )
        estimate = _win_rates(
            self.position[None, :, i],
            self.position[None, :, j],
            self.phi[None],
            self.share[None],
            len(names),
        )
        return float(estimate[0]), float(self._quantile(rates, -1)), float(self._quantile(rates, 1))

    def _repr_html_(self) -> str:
        """A table for notebooks: shares, dispersions and first positions, with their intervals."""
        headings = ("component", "share", "phi", "ranking, best first, with positions")
        caption = " ".join([f"Intervals at {100 * self.level:g} %.", *self.notes])
        return table_of(headings, [self._cells(k) for k in range(len(self.phi))], caption)

    def _cells(self, k: int) -> list[str]:
        low, high = self.position_low[k] + 1, self.position_high[k] + 1
        first = np.argsort(self.position[k], kind="stable")[:8]
        positions = ", ".join(
            f"{name_of(self.items[i])}\N{NO-BREAK SPACE}[{low[i]}–{high[i]}]" for i in first
        )
        ends = f"{percent(self.share_low[k])}, {percent(self.share_high[k])}"
        return [
            name_of(component_title(self.component_names, k + 1, "")),
            f"{percent(self.share[k])} [{ends}]",
            f"{self.phi[k]:.3f} [{self.phi_low[k]:.3f}, {self.phi_high[k]:.3f}]",
            positions,
        ]

    def columns(self) -> dict[str, Any]:
        """The rows of `table`, as columns."""
        rows = self.table()
        return {name: [row[name] for row in rows] for name in rows[0]}

    def table(self) -> list[dict[str, Any]]:
        """Rows of quantity, component, item, estimate, low, high; and name, of named components.

        The item is None except for positions; components and positions count from 1.
        """
        rows = []
        for k in range(len(self.phi)):
            for name in ("share", "phi"):
                values = (float(getattr(self, f"{name}{end}")[k]) for end in ("", "_low", "_high"))
                rows.append(_row(name, k, None, *values))
            for i in np.argsort(self.position[k], kind="stable"):
                values = (int(ends[k, i]) + 1 for ends in (self.position, *self._positions))
                rows.append(_row("position", k, self.items.tolist()[i], *values))
        names = self.component_names
        return [row | {"name": names[row["component"] - 1]} for row in rows] if names else rows


def _components(which: NDArray[np.bool_], names: Sequence[str]) -> str:
    """Their numbers, as in "components 1 and 3", with their names."""
    titles = [component_title(names, int(k) + 1, "") for k in np.flatnonzero(which)]
    return f"component{'s' * (len(titles) > 1)} {joined(titles)}"


def _row(
    quantity: str, k: int, item: object, estimate: float, low: float, high: float
) -> dict[str, Any]:
    return {
        "quantity": quantity,
        "component": k + 1,
        "item": item,
        "estimate": estimate,
        "low": low,
        "high": high,
    }


def shortest_run(
    draws: Positions, estimate: Positions, level: float
) -> tuple[Positions, Positions]:
    """Find the shortest interval of positions that holds a level of the draws.

    Parameters
    ----------
    draws : ndarray of int, shape (R, …)
    estimate : ndarray of int
    level : float

    Returns
    -------
    low, high : ndarray of int
        Of several such intervals the nearest to the estimate, widened to hold it.
    """
    R = len(draws)
    n = int(np.ceil(level * R - 1e-9))
    ordered = np.sort(draws, axis=0)
    low, high = ordered[: R - n + 1], ordered[n - 1 :]
    # below 1: breaks ties alone
    far = np.abs((low + high) / 2 - estimate) / (1 + np.abs(draws).max())
    best = np.argmin(high - low + far, axis=0)[None]
    low, high = (np.take_along_axis(ends, best, axis=0)[0] for ends in (low, high))
    return np.minimum(low, estimate).astype(np.int32), np.maximum(high, estimate).astype(np.int32)


def _win_rates(
    first: Positions, second: Positions, phi: Array, share: Array, n_items: int
) -> Array:
    """(R,) Σ_k a_k β(σ_k(j) − σ_k(i); φ_k)."""
    rates = np.zeros(len(phi))
    for r in range(len(phi)):
        for k in range(phi.shape[1]):
            gap = int(second[r, k] - first[r, k])
            win, lose = gap_probabilities(n_items, float(phi[r, k]))
            rates[r] += share[r, k] * (win[gap] if gap >= 0 else lose[-gap])
    return rates
