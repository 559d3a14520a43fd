"""How sure a model is: intervals for places, dispersions, shares and win rates, by a bootstrap over people."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.assess.intervals.little_bootstraps import (
    comparisons_of_blocks,
    draw_places,
    draw_subsets,
    is_large,
)
from mallowmix.assess.intervals.replicates import (
    Replicates,
    counter,
    many,
    replicate_rankings,
    replicate_start,
    replicate_weights,
)
from mallowmix.assess.intervals.score_sums import sum_scores
from mallowmix.assess.intervals.user_scores import one_step, phi_and_share, settle
from mallowmix.assess.simulated_error import Simulated, simulate_phi
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.data.text import joined, name_of, percent, table_of
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import Option, OptionError, check_at_least, check_level
from mallowmix.learn.spectral.user_sample import sampled_share
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.mallows import gap_probabilities
from mallowmix.numerics.randomness import Step, as_key, generator
from mallowmix.typing import Array, Positions, Progress

_STEP = Step.PHI_BIAS
_SIMULATIONS = 4  # of b people: their error is b/n times as large for all n
_TOP = "the interval is about where the likelihood is largest, and the model"
_UNREFINED = f"{_TOP} was not brought there: fit with refine 'full'."
_STOPPED = f"{_TOP} stopped a little before."
_TOO_SMALL = "rankings that were chosen to fit make phi too small, which the interval makes up for."


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals at a level, and the replicates that they are read off.

    position, position_low, position_high : (K, Q) places of the items in each component, 0 is best
    phi, phi_low, phi_high; share, share_low, share_high : (K,)
    draws : the replicates: sigma (R, K, Q), phi (R, K), share (R, K)
    refined : whether the model was brought to where the likelihood is largest, which intervals of φ and shares are about

    Positions are discrete: an interval of places holds the estimate and at least the level of the replicates. Where a ranking is all
    but known, most intervals are a place or two and cover more often than they say.
    """

    level: float
    items: Labels
    position: Positions
    phi: Array
    share: Array
    draws: Replicates
    refined: bool = True

    @cached_property
    def _positions(self) -> tuple[Positions, Positions]:
        return shortest_run(self.draws.sigma, self.position, self.level)

    @property
    def position_low(self) -> Positions:
        """(K, Q) the best place of each item that is still believable."""
        return self._positions[0]

    @property
    def position_high(self) -> Positions:
        """(K, Q) the worst."""
        return self._positions[1]

    def _quantile(self, draws: Array, side: float) -> Array:
        """The end of an interval: with R replicates, the place p (R + 1), which the truth is below with probability p."""
        return np.quantile(draws, 0.5 + side * self.level / 2, axis=0, method="weibull")

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

    @property
    def notes(self) -> list[str]:
        """A sentence where φ or a share of the model lies outside its own interval: which, and why."""
        small, large = self.phi < self.phi_low, self.phi > self.phi_high
        shares = (self.share < self.share_low) | (self.share > self.share_high)
        if not self.refined:
            small, large = np.zeros_like(small), small | large
        why = _STOPPED if self.refined else _UNREFINED
        cases = (("phi", small, _TOO_SMALL), ("phi", large, why), ("share", shares, why))
        return [
            f"Outside its interval is the {name} of {_components(which)}: {reason}"
            for name, which, reason in cases
            if which.any()
        ]

    def win_rate(self, winner: object, loser: object) -> tuple[float, float, float]:
        """How often the population prefers one item to another, Σ_k a_k β_(i,j),k: the estimate and the ends of its interval."""
        names = [str(item) for item in self.items.tolist()]
        for item in (winner, loser):
            if str(item) not in names:
                raise OptionError(
                    f"The model has no item {item!r}; it has {len(names)} others.",
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
        """A table for notebooks: shares, dispersions and the first places of each component, with their intervals."""
        headings = ("component", "share", "phi", "ranking, best first, with places")
        caption = " ".join([f"Intervals at {100 * self.level:g} %.", *self.notes])
        return table_of(headings, [self._cells(k) for k in range(len(self.phi))], caption)

    def _cells(self, k: int) -> list[str]:
        low, high = self.position_low[k] + 1, self.position_high[k] + 1
        first = np.argsort(self.position[k], kind="stable")[:8]
        places = ", ".join(
            f"{name_of(self.items[i])}\N{NO-BREAK SPACE}[{low[i]}–{high[i]}]" for i in first
        )
        share = f"{percent(self.share[k])} [{percent(self.share_low[k])}, {percent(self.share_high[k])}]"
        return [
            str(k + 1),
            share,
            f"{self.phi[k]:.3f} [{self.phi_low[k]:.3f}, {self.phi_high[k]:.3f}]",
            places,
        ]

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


def _components(which: NDArray[np.bool_]) -> str:
    """Their numbers, as in "components 1 and 3"."""
    numbers = [str(k + 1) for k in np.flatnonzero(which)]
    return f"component{'s' * (len(numbers) > 1)} {joined(numbers)}"


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


def intervals(
    model: AnyModel,
    comparisons: Comparisons,
    n_replicates: int = 200,
    level: float = 0.9,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    engine: EngineName | Engine | None = None,
) -> Intervals:
    """Intervals for every item's place in every component, for φ, for the shares, and for the population's win rates.

    comparisons : those that the model was learnt from
    n_replicates : how many times people are weighted anew
    level : how often an interval should hold the truth
    seed, n_jobs, progress : as in `fit`
    engine : as in `fit`; comparisons from `store_comparisons` are read block by block

    A replicate gives every person a weight drawn from the exponential distribution (the Bayesian bootstrap): nothing is copied.
    Its rankings come from a few passes of Monte-Carlo EM that start at the model's. Its φ and α come from one Newton step with
    people's weighted scores, η* = η̂ + I⁻¹ Σ (u_m − 1) s_m (`assess.intervals.user_scores`): warm-started passes would stop short of the end
    where people are hard to place. η̂ is where the marginal likelihood is largest for the model's rankings; the model's own φ and
    α may be up to a standard error away. Rankings that were chosen to fit make φ too small, and less certain than it would be if
    they were known: by how much is found by simulation, and taken off (with its own error) and put on. The intervals hold for the
    tastes that the model is about: what all replicates share, such as two tastes taken for one, shows in none of them.

    Beyond 20,000 people or 6 million comparisons nothing is kept of most people. φ and shares are bootstrapped by two passes
    that add up scores (`assess.intervals.score_sums`): of everybody up to 6 million comparisons, else of people who made 4 million, as
    many as `fit` learns φ from. Positions come from bootstraps of five samples of at most 10,000 people, scaled to everybody and
    rounded outwards (`assess.intervals.little_bootstraps`). The bias of φ is simulated for one sample of b people; for n it is b/n of that.

    Measured (docs/assess.md), 90% intervals of places and win rates reach their level; those of φ and the shares nearly do.
    """
    fitted = as_fitted(model)
    check_request(fitted, n_replicates, level)
    seed = int(as_key(seed))
    votes = comparisons.with_items(model.items)
    with using(engine, n_jobs) as run, threadpool_limits(1):  # as in `fit`
        if is_large(votes):
            draws = _of_sums(model, votes, n_replicates, seed, run, progress)
        else:
            draws = _of_everybody(
                model, _in_memory(votes), n_replicates, seed, run.n_jobs, progress
            )
    refined = _is_refined(fitted.report)
    return Intervals(level, model.items, model.sigma, model.phi, model.share, draws, refined)


def check_request(model: FittedModel, n_replicates: int, level: float) -> None:
    """Refuse what `intervals` cannot do, before any work."""
    check_at_least("n_replicates", n_replicates, 10)
    check_level(level)
    if model.bradley_terry is not None:
        raise OptionError(
            "The model has Bradley–Terry components; intervals are for Mallows components. "
            "Fit it with ",
            Option("components", "mallows"),
            ".",
            option="components",
            value="bradley-terry",
            expected="'mallows'",
        )


def _is_refined(report: FitReport) -> bool:
    """Whether the model was brought to where the likelihood is largest."""
    options = report.options
    full = isinstance(options, SpectralOptions) and options.refine == "full"
    return full or report.method == "update"


def _in_memory(votes: Any) -> Comparisons:
    """So few people are kept, wherever they came from."""
    if isinstance(votes, Comparisons):
        return votes
    return comparisons_of_blocks(
        [block.load() for block in make_blocks(votes)], votes.items, votes.users
    )


def _of_everybody(
    model: AnyModel,
    votes: Comparisons,
    n_replicates: int,
    seed: int,
    n_jobs: int,
    progress: Progress | None,
) -> Replicates:
    """The Bayesian bootstrap: η* = η̂ + I⁻¹ Σ_m w_m (u_m − 1) s_m, less the bias of logit φ; rankings that u wants."""
    engine, advance = ThreadEngine(n_jobs), counter(progress, n_replicates)
    start = replicate_start(model, votes, engine, seed=seed)
    smooth = settle(model, start.blocks, engine, seed=seed)
    simulated = simulate_phi(model, smooth, votes, seed=seed, n_jobs=n_jobs, progress=progress)
    u = replicate_weights(n_replicates, votes.n_users, seed=seed)
    sigma = many(
        lambda r: replicate_rankings(start, smooth, u[r], seed=seed, draw=r),
        range(n_replicates),
        n_jobs,
        advance,
    )
    steps = one_step(smooth, (u - 1) * start.people @ smooth.scores)
    return Replicates(np.array(sigma), *phi_and_share(_moved(smooth.eta, steps, simulated, seed)))


def _moved(eta: Array, steps: Array, simulated: Simulated, seed: int) -> Array:
    """η̂ and the replicates' steps (R, 2K); for logit φ as much wider, and less the bias, as simulations say."""
    K, bias = (
        steps.shape[1] // 2,
        simulated.bias + simulated.error * generator(seed, _STEP).standard_normal((len(steps), 1)),
    )
    return eta + np.c_[simulated.widening * steps[:, :K] - bias, steps[:, K:]]


def _of_sums(
    model: AnyModel,
    votes: Any,
    n_replicates: int,
    seed: int,
    run: Engine,
    progress: Progress | None,
) -> Replicates:
    """The same of many people: φ and shares from sums over them, places from samples of them."""
    everybody = make_blocks(votes)
    subsets = draw_subsets(votes, everybody, run, seed=seed)
    near = settle(model, make_blocks(subsets[0]), ThreadEngine(run.n_jobs), seed=seed)
    share = sampled_share(votes.n_comparisons)
    smooth, steps = sum_scores(
        model.sigma, near, everybody, n_replicates, run, share=share, seed=seed
    )
    sigma = draw_places(
        model,
        smooth,
        subsets,
        votes.n_users,
        n_replicates,
        seed=seed,
        n_jobs=run.n_jobs,
        progress=progress,
    )
    part = subsets[0].n_users / votes.n_users  # b/n
    simulated = simulate_phi(
        model,
        smooth,
        subsets[0],
        _SIMULATIONS,
        part=part,
        seed=seed,
        n_jobs=run.n_jobs,
        progress=progress,
    )
    return Replicates(sigma, *phi_and_share(_moved(smooth.eta, steps, simulated, seed)))


def shortest_run(
    draws: Positions, estimate: Positions, level: float
) -> tuple[Positions, Positions]:
    """The shortest run of places with `level` of the draws (R, …), of several the nearest to the estimate, widened to hold it."""
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
