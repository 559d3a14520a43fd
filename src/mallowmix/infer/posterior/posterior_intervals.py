"""Intervals of the population's quantities from draws of the posterior.

Their width is that of the person-level sandwich (`infer.posterior.person_spread`). Where chains
stay in different optima, they are weighted by how well they predict held-out people.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from mallowmix.data.frames import as_frame
from mallowmix.data.labels import Labels
from mallowmix.data.text import list_of, name_of, percent, table_of
from mallowmix.errors import check_level
from mallowmix.infer.posterior.convergence import check_convergence
from mallowmix.infer.posterior.person_spread import (
    PersonSpread,
    QuantityIntervals,
    chain_weights,
)
from mallowmix.infer.posterior.posterior_sample import PosteriorSample
from mallowmix.infer.posterior.win_rate_intervals import win_rate_intervals
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False)
class PosteriorIntervals:
    """Intervals from draws of the posterior.

    Attributes
    ----------
    items : (Q,) labels
    level : float
    phi, share : QuantityIntervals
        (K,) each.
    position : QuantityIntervals
        (K, Q), from 0, rounded outwards.
    win_rate : QuantityIntervals
        (Q,) how often an item is preferred to another one, by the population: as often as it was
        seen to win, and as M4 says where it was not seen.
    leaderboard : QuantityIntervals
        (Q,) the position of an item by its win rate, from 0.
    chain_weights : (C,) array
        How much each chain counts; equal where the chains agree.
    converged : bool
        Whether the chains agree.
    notes : tuple of str
    """

    items: Labels
    level: float
    phi: QuantityIntervals
    share: QuantityIntervals
    position: QuantityIntervals
    win_rate: QuantityIntervals
    leaderboard: QuantityIntervals
    chain_weights: Array
    converged: bool
    notes: tuple[str, ...]

    def table(self) -> list[dict[str, Any]]:
        """One row for each interval; components from 1, positions from 1."""
        names = ("share", "phi", "position", "win_rate", "leaderboard")
        return [row for name in names for row in self._rows(name)]

    def to_frame(self, like: Any = None) -> Any:
        """The rows of `table` as a dataframe.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind of table that is wanted; Arrow unless given.
        """
        return as_frame(pa.Table.from_pylist(self.table()), like)

    def _repr_html_(self) -> str:
        """Win rates and positions by the population, best first."""
        best = np.argsort(self.leaderboard.estimate, kind="stable")
        rate, at = self.win_rate, self.leaderboard
        rows = [
            (
                name_of(self.items[i]),
                "{} [{}, {}]".format(
                    *(percent(float(x[i])) for x in (rate.estimate, rate.low, rate.high))
                ),
                f"{at.low[i] + 1:g} to {at.high[i] + 1:g}",
            )
            for i in best
        ]
        said = f"Intervals of the posterior at {100 * self.level:g} %"
        return table_of(("item", "win rate", "position"), rows, said) + list_of(self.notes)

    def _rows(self, name: str) -> list[dict[str, Any]]:
        found, first = getattr(self, name), int(name in ("position", "leaderboard"))
        by_component = name in ("share", "phi", "position")
        by_item = name in ("position", "win_rate", "leaderboard")
        return [
            {
                "quantity": name,
                "component": at[0] + 1 if by_component else None,
                "item": self.items[at[-1]] if by_item else None,
                "estimate": float(found.estimate[at]) + first,
                "low": float(found.low[at]) + first,
                "high": float(found.high[at]) + first,
                "scale": float(found.scale[at]),
            }
            for at in np.ndindex(found.estimate.shape)
        ]


def posterior_intervals(sample: PosteriorSample, level: float = 0.9) -> PosteriorIntervals:
    """Compute intervals of φ, shares, positions, win rates and the leaderboard.

    Their width is that of the person-level sandwich: what would vary if other people were asked.

    Parameters
    ----------
    sample : PosteriorSample
        From `sample_posterior`, with at least four draws a chain.
    level : float
        How often an interval should hold the truth.

    Returns
    -------
    PosteriorIntervals

    Raises
    ------
    MissingPackageError
        Where arviz is not installed.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=30)
    >>> sample = mm.sample_posterior(dishes.comparisons, 1, n_warmup=30, n_draws=20, thin=2)
    >>> found = mm.posterior_intervals(sample, 0.8)
    >>> bool((found.phi.low <= found.phi.high).all())
    True
    """
    check_level(level)
    report = check_convergence(sample)
    C = len(sample.log_likelihood)
    weights = np.full(C, 1 / C) if report.converged else chain_weights(sample)
    spread = PersonSpread(sample, weights, level, one=report.converged)
    position = spread.intervals(sample.sigma.astype(np.float64))
    notes = report.notes
    if not report.converged:
        shown = ", ".join(f"{100 * weight:.0f} %" for weight in weights)
        notes = (
            *notes,
            f"The chains are weighted by how well they predict held-out people: {shown}.",
        )
    return PosteriorIntervals(
        sample.items,
        level,
        _proportions(spread.intervals(sample.phi)),
        _proportions(spread.intervals(sample.share)),
        _rounded(position, len(sample.items)),
        *win_rate_intervals(sample, spread),
        weights,
        report.converged,
        notes,
    )


def _proportions(found: QuantityIntervals) -> QuantityIntervals:
    """No end outside 0 to 1, where draws that were spread may lie."""
    return replace(found, low=np.maximum(found.low, 0.0), high=np.minimum(found.high, 1.0))


def _rounded(found: QuantityIntervals, n_items: int) -> QuantityIntervals:
    """Positions, rounded outwards."""
    low, high, model_low, model_high = (
        np.clip(rounded(each), 0, n_items - 1)
        for each, rounded in (
            (found.low, np.floor),
            (found.high, np.ceil),
            (found.model_low, np.floor),
            (found.model_high, np.ceil),
        )
    )
    return QuantityIntervals(found.estimate, low, high, model_low, model_high, found.scale)
