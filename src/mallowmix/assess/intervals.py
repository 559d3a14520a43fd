"""How sure a model is: intervals for places, dispersions, shares and win rates, by a bootstrap over people."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.assess.replicates import Progress, Replicates, replicate_rankings, replicate_weights, start_of
from mallowmix.assess.scores import Smooth, settle
from mallowmix.assess.simulation import phi_bias
from mallowmix.comparisons import Comparisons
from mallowmix.engine import LocalEngine
from mallowmix.errors import OptionError, check_at_least
from mallowmix.labels import Labels
from mallowmix.mallows import gap_probabilities
from mallowmix.markup import name_of, percent, table_of
from mallowmix.model import M4
from mallowmix.randomness import as_key, generator

Array = NDArray[np.float64]
Places = NDArray[np.int32]
_STEP = 105


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals at a level, and the replicates that they are read off.

    position, position_low, position_high : (K, Q) places of the items in each component, 0 is best
    phi, phi_low, phi_high; share, share_low, share_high : (K,)
    draws : the replicates: sigma (R, K, Q), phi (R, K), share (R, K)

    Places are discrete: an interval of places holds the estimate and at least the level of the replicates. Where a ranking is all
    but known, most intervals are a place or two and cover more often than they say.
    """

    level: float
    items: Labels
    position: Places
    phi: Array
    share: Array
    draws: Replicates

    @cached_property
    def _positions(self) -> tuple[Places, Places]:
        return shortest_run(self.draws.sigma, self.position, self.level)

    @property
    def position_low(self) -> Places:
        """(K, Q) the best place of each item that is still believable."""
        return self._positions[0]

    @property
    def position_high(self) -> Places:
        """(K, Q) the worst."""
        return self._positions[1]

    def _quantile(self, draws: Array, side: float) -> Array:
        return np.quantile(draws, 0.5 + side * self.level / 2, axis=0)

    @property
    def phi_low(self) -> Array:
        """(K,)."""
        return self._quantile(self.draws.phi, -1)

    @property
    def phi_high(self) -> Array:
        """(K,)."""
        return self._quantile(self.draws.phi, 1)

    @property
    def share_low(self) -> Array:
        """(K,)."""
        return self._quantile(self.draws.share, -1)

    @property
    def share_high(self) -> Array:
        """(K,)."""
        return self._quantile(self.draws.share, 1)

    def win_rate(self, winner: object, loser: object) -> tuple[float, float, float]:
        """How often the population prefers one item to another, Σ_k a_k β_(i,j),k: the estimate and the ends of its interval."""
        names = [str(item) for item in self.items.tolist()]
        for item in (winner, loser):
            if str(item) not in names:
                raise OptionError(f"The model has no item {item!r}; it has {len(names)} others.")
        i, j = names.index(str(winner)), names.index(str(loser))
        rates = _win_rates(self.draws.sigma[:, :, i], self.draws.sigma[:, :, j], self.draws.phi, self.draws.share, len(names))
        estimate = _win_rates(self.position[None, :, i], self.position[None, :, j], self.phi[None], self.share[None], len(names))
        return float(estimate[0]), float(self._quantile(rates, -1)), float(self._quantile(rates, 1))

    def _repr_html_(self) -> str:
        """A table for notebooks: shares, dispersions and the first places of each component, with their intervals."""
        headings = ("component", "share", "phi", "ranking, best first, with places")
        caption = f"Intervals at {100 * self.level:g} %"
        return table_of(headings, [self._cells(k) for k in range(len(self.phi))], caption)

    def _cells(self, k: int) -> list[str]:
        low, high = self.position_low[k] + 1, self.position_high[k] + 1
        first = np.argsort(self.position[k], kind="stable")[:8]
        places = ", ".join(f"{name_of(self.items[i])}\N{NO-BREAK SPACE}[{low[i]}–{high[i]}]" for i in first)
        share = f"{percent(self.share[k])} [{percent(self.share_low[k])}, {percent(self.share_high[k])}]"
        return [str(k + 1), share, f"{self.phi[k]:.3f} [{self.phi_low[k]:.3f}, {self.phi_high[k]:.3f}]", places]

    def table(self) -> list[dict[str, Any]]:
        """Rows of quantity, component, item (None but for places), estimate, low, high; components and places count from 1."""
        rows = []
        for k in range(len(self.phi)):
            for name in ("share", "phi"):
                values = (float(getattr(self, f"{name}{end}")[k]) for end in ("", "_low", "_high"))
                rows.append(_row(name, k, None, *values))
            for i in np.argsort(self.position[k], kind="stable"):
                values = (int(places[k, i]) + 1 for places in (self.position, *self._positions))
                rows.append(_row("position", k, self.items.tolist()[i], *values))
        return rows


def _row(quantity: str, k: int, item: object, estimate: float, low: float, high: float) -> dict[str, Any]:
    return {"quantity": quantity, "component": k + 1, "item": item, "estimate": estimate, "low": low, "high": high}


def intervals(
    model: M4,
    comparisons: Comparisons,
    replicates: int = 200,
    level: float = 0.9,
    *,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Intervals:
    """Intervals for every item's place in every component, for φ, for the shares, and for the population's win rates.

    comparisons : those that the model was learnt from
    replicates : how many times people are weighted anew
    level : how often an interval should hold the truth
    seed, jobs, progress : as in `fit`

    A replicate gives every person a weight drawn from the exponential distribution (the Bayesian bootstrap): nothing is copied.
    Its rankings come from a few passes of Monte-Carlo EM that start at the model's. Its φ and α come from one Newton step with
    people's weighted scores, η* = η̂ + I⁻¹ Σ (u_m − 1) s_m (`assess.scores`): warm-started passes would stop short of the end
    where people are hard to place. η̂ is where the marginal likelihood is largest for the model's rankings; the model's own φ and
    α may be up to a standard error away. Rankings that were chosen to fit make φ too small: by how much on average is found by
    simulation, and taken off with its own error. The intervals hold for the tastes that the model is about: what all replicates
    share, such as two tastes taken for one, shows in none of them.

    Measured (docs/assess.md), 90% intervals of places and win rates reach their level; those of φ and the shares fall short.
    """
    check_at_least("replicates", replicates, 10)
    if not 0 < level < 1:
        raise OptionError(f"level is {level}; it must lie between 0 and 1, as 0.9 does.")
    if getattr(model, "scores", None) is not None:
        raise OptionError("The model has Bradley–Terry columns; intervals are for Mallows columns: fit with the default ones.")
    seed = int(as_key(seed))
    engine = LocalEngine(jobs)
    with threadpool_limits(1):  # as in `fit`
        start = start_of(model, comparisons, engine, seed=seed)
        smooth = settle(model, start.blocks, engine, seed=seed)
        bias, error = phi_bias(model, smooth, comparisons, seed=seed, jobs=engine.jobs, progress=progress)
        u = replicate_weights(replicates, comparisons.n_users, seed=seed)
        sigma = _many(lambda r: replicate_rankings(start, smooth, u[r], seed=seed, draw=r), replicates, engine.jobs, progress)
    phi, share = _one_step(smooth, start.people, u, bias + error * generator(seed, _STEP).standard_normal((replicates, 1)))
    return Intervals(level, model.items, model.sigma, model.phi, model.share, Replicates(np.array(sigma), phi, share))


def _many(one: Any, count: int, jobs: int, progress: Progress | None) -> list[Any]:
    """one(0) … one(count − 1), several at a time; the answers do not depend on how many."""
    found = []
    with ThreadPoolExecutor(jobs) as pool:
        for answer in pool.map(one, range(count)):
            found.append(answer)
            if progress:
                progress("replicates", len(found), count)
    return found


def _one_step(smooth: Smooth, people: Array, u: Array, bias: Array) -> tuple[Array, Array]:
    """(R, K) φ and shares of the replicates: η* = η̂ + I⁻¹ Σ_m w_m (u_m − 1) s_m, less the bias of logit φ."""
    step = np.linalg.solve(smooth.information, ((u - 1) * people @ smooth.scores).T).T  # (R, 2K)
    eta, K = smooth.eta + step, len(smooth.eta) // 2
    alpha = np.exp(eta[:, K:] - eta[:, K:].max(axis=1, keepdims=True))
    return 1 / (1 + np.exp(bias - eta[:, :K])), alpha / alpha.sum(axis=1, keepdims=True)


def shortest_run(draws: Places, estimate: Places, level: float) -> tuple[Places, Places]:
    """The shortest run of places with `level` of the draws (R, …), of several the nearest to the estimate, widened to hold it."""
    R = len(draws)
    n = int(np.ceil(level * R - 1e-9))
    ordered = np.sort(draws, axis=0)
    low, high = ordered[: R - n + 1], ordered[n - 1 :]
    far = np.abs((low + high) / 2 - estimate) / (1 + np.abs(draws).max())  # below 1: breaks ties alone
    best = np.argmin(high - low + far, axis=0)[None]
    low, high = (np.take_along_axis(ends, best, axis=0)[0] for ends in (low, high))
    return np.minimum(low, estimate).astype(np.int32), np.maximum(high, estimate).astype(np.int32)


def _win_rates(first: Places, second: Places, phi: Array, share: Array, n_items: int) -> Array:
    """(R,) Σ_k a_k β(σ_k(j) − σ_k(i); φ_k)."""
    rates = np.zeros(len(phi))
    for r in range(len(phi)):
        for k in range(phi.shape[1]):
            gap = int(second[r, k] - first[r, k])
            win, lose = gap_probabilities(n_items, float(phi[r, k]))
            rates[r] += share[r, k] * (win[gap] if gap >= 0 else lose[-gap])
    return rates
