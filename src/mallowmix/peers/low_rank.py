"""Low-rank logistic preferences: P(i over j) = σ(u·(v_i − v_j) + b_i − b_j), u a user's own.

Learnt by variational EM with the bound of Jaakkola and Jordan (`peers.logistic_bound`),

    log σ(η) ≥ log σ(ξ) + (η − ξ)/2 − λ(ξ)(η² − ξ²),      λ(ξ) = tanh(ξ/2) / (4ξ).

A user's u then has a Gaussian posterior, which is averaged over (a point estimate would be far too
confident), and the items' v and b solve one linear system of Q (rank + 1) equations. The bound
never falls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step, reduce_step
from mallowmix.errors import OptionError, check_at_least
from mallowmix.fitting.members import part_of
from mallowmix.model.pair_model import Pairs
from mallowmix.numerics.randomness import Step, child_seed, generator
from mallowmix.peers.component_mixture import pair_numbers
from mallowmix.peers.logistic_bound import sums_of_pairs, user_posteriors
from mallowmix.peers.validation import NEW_ITEMS, HoldOut, Trial, loss, trial
from mallowmix.typing import Array

_START = Step.LOW_RANK
# how far the grids of rank, penalty, likelihood weight and precision grow
_EQUAL = 0.0002  # nats a comparison: no difference
_LIMITS = ((1, 32), (0.25, 4096.0), (0.015, 1.0), (0.06, 16.0))
_INNER = 25  # rounds of (u, ξ) when someone is placed


class UserCalibration(NamedTuple):
    """The likelihood weight of a comparison, and the precision of the prior of u."""

    likelihood_weight: float = 1.0
    precision: float = 1.0


AS_LEARNT = UserCalibration()


@dataclass(frozen=True, eq=False)
class FittedLowRank:
    """(Q, rank + 1) coordinates v and, last, b of every item, in one or more fits.

    Predictions are averaged over the fits.
    """

    items: Labels
    fits: Sequence[Array]
    calibration: UserCalibration = AS_LEARNT
    settings: tuple[tuple[str, float], ...] = ()

    @property
    def components(self) -> Array:
        """(rank + 1, Q) b, then the coordinates of v, whose sign is a user's own."""
        return np.roll(self.fits[0], 1, axis=1).T

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) E σ(η) over the user's posterior, η ~ N(m, s²), as σ(m / √(1 + π s²/8))."""
        people = people.with_items(self.items, unknown_items="drop")
        first, second = pair_numbers(self.items, pairs)
        parts = ThreadEngine().map(
            _predict_rows, make_blocks(people), (self.fits, first, second, self.calibration)
        )
        return np.concatenate(parts)


@dataclass(frozen=True)
class LowRank:
    """Low-rank logistic preferences: each user weighs the items' coordinates.

    Needs comparisons, some of each user to infer u; assumes preferences that vary linearly along a
    few directions, and logistic noise. Has no rankings to read.

    Parameters
    ----------
    ranks : sequence of int
        Candidates for the length of u.
    penalties : sequence of float
        Candidates for the precision of v's prior.
    likelihood_weights, precision : sequence of float
        Candidates for the inference of a user (`UserCalibration`). All four are chosen together, on
        a third of the training users after learning from the others; where the best lies at the
        edge of several candidates, the search goes on beyond it. `n_components` plays no part.
    n_fits : int
        Fits that predictions are averaged over; all but the first learn from half of each user's
        comparisons.
    n_iter : int
        Of EM.
    bias_penalty : float
        The precision of b's prior.
    hold_out : HoldOut
        What is held out of the training users by whom settings are chosen.
    """

    ranks: Sequence[int] = (1, 2, 4, 8)
    penalties: Sequence[float] = (16.0, 4.0, 64.0)
    likelihood_weights: Sequence[float] = (1.0, 0.5, 0.25, 0.12)
    precision: Sequence[float] = (1.0, 0.5, 2.0)
    n_fits: int = 4
    n_iter: int = 30
    bias_penalty: float = 1.0
    hold_out: HoldOut = NEW_ITEMS
    name: str = "low-rank logistic"
    needs: Literal["comparisons", "ratings"] = "comparisons"
    has_components: ClassVar[bool] = False

    def fit(self, data: Comparisons, n_components: int = 1, *, seed: int = 0) -> FittedLowRank:
        """Learn from comparisons."""
        for name in ("ranks", "penalties", "likelihood_weights", "precision"):
            if not getattr(self, name) or min(getattr(self, name)) <= 0:
                raise OptionError(
                    option=name,
                    value=getattr(self, name),
                    expected="one or more numbers above 0",
                )
        check_at_least("n_fits", self.n_fits, 1)
        parts = [data, *(part_of(data, seed, n) for n in range(1, self.n_fits))]
        with threadpool_limits(1):  # threads are ours, over blocks of users
            rank, penalty, calibration = self.chosen(data, seed)
            fits = [
                self.coordinates(part, rank, penalty, child_seed(seed, Step.MEMBER_FIT, n))
                for n, part in enumerate(parts)
            ]
        settings = (
            ("rank", rank),
            ("penalty", penalty),
            ("likelihood_weight", calibration.likelihood_weight),
            ("precision", calibration.precision),
        )
        return FittedLowRank(data.items, fits, calibration, settings)

    def chosen(self, data: Comparisons, seed: int) -> tuple[int, float, UserCalibration]:
        """Tune all settings jointly, on a grid that grows where its best is at the edge."""
        ranks, penalties = sorted(self.ranks), sorted(self.penalties)
        weights, precisions = sorted(self.likelihood_weights), sorted(self.precision)
        grids: list[list[Any]] = [ranks, penalties, weights, precisions]
        free = [len(grid) > 1 for grid in grids]
        if not any(free):
            return ranks[0], penalties[0], UserCalibration(weights[0], precisions[0])
        held, seen = trial(data, seed, None, self.hold_out), {}
        losses: dict[tuple[Any, ...], float] = {}
        while True:
            for setting in product(*grids):
                if setting not in losses:
                    losses[setting] = self._loss(held, seen, setting, seed)
            best = _simplest(losses)
            if not _grown(grids, free, best):
                break
        rank, penalty, weight, precision = best
        return rank, penalty, UserCalibration(weight, precision)

    def _loss(
        self, held: Trial, seen: dict[Any, FittedLowRank], setting: tuple[Any, ...], seed: int
    ) -> float:
        rank, penalty, weight, precision = setting
        W = self._tried(held, seen, rank, penalty, seed).fits
        calibration = UserCalibration(weight, precision)
        return loss(FittedLowRank(held.train.items, W, calibration), *held[1:])

    def _tried(
        self, held: Trial, seen: dict[Any, FittedLowRank], rank: int, penalty: float, seed: int
    ) -> FittedLowRank:
        if (rank, penalty) not in seen:
            seen[rank, penalty] = FittedLowRank(
                held.train.items, [self.coordinates(held.train, rank, penalty, seed)]
            )
        return seen[rank, penalty]

    def coordinates(
        self,
        data: Comparisons,
        rank: int,
        penalty: float,
        seed: int,
        bounds: list[float] | None = None,
    ) -> Array:
        """(Q, rank + 1) by EM; `bounds` collects the bound on the log-posterior in each step."""
        blocks, engine = make_blocks(data), ThreadEngine()
        ridge = np.r_[np.full(rank, penalty), self.bias_penalty]
        W = np.c_[
            0.5 * generator(seed, _START).standard_normal((data.n_items, rank)),
            np.zeros(data.n_items),
        ]
        state: list[Any] = [None] * len(blocks)
        for _ in range(self.n_iter):
            (curve, pull, bound), state = engine.reduce(_e_step, blocks, W, state)
            if bounds is not None:
                bounds.append(float(bound - 0.5 * np.sum(ridge * W**2)))
            W = _m_step(curve, pull, ridge)
        return W


def _simplest(losses: dict[tuple[Any, ...], float]) -> tuple[Any, ...]:
    """Of the settings that are as good as the best, the least rank, and then the most penalty."""
    finite = {each: float(np.nan_to_num(loss, nan=np.inf)) for each, loss in losses.items()}
    least = min(finite.values())
    equal = [each for each in finite if finite[each] <= least + _EQUAL]
    return min(equal, key=lambda each: (each[0], -each[1], finite[each], each))


def _grown(grids: list[list[Any]], free: list[bool], best: tuple[Any, ...]) -> bool:
    """Add a value beyond each edge where the best setting lies, within limits; whether any was."""
    grown = False
    for grid, may_grow, value, (low, high) in zip(grids, free, best, _LIMITS, strict=True):
        more, less = value * 2, value // 2 if isinstance(value, int) else value / 2
        if may_grow and value == grid[-1] and more <= high:
            grid.append(more)
            grown = True
        elif may_grow and value == grid[0] and less >= low:
            grid.insert(0, less)
            grown = True
    return grown


def _m_step(curve: Array, pull: Array, ridge: Array) -> Array:
    """(Q, R) the W that maximises the bound, from curve (Q, Q, R, R) Σ λ T and pull (Q, R) ½ Σ ±ũ.

    Σ ½ (w_i − w_j)·ũ − λ (w_i − w_j)ᵀ T (w_i − w_j) − ½ Σ ridge w², ũ = (u, 1), T = E ũ ũᵀ.
    """
    Q, R = pull.shape
    both = 2 * (curve + curve.transpose(1, 0, 2, 3))
    system = -both
    system[np.arange(Q), np.arange(Q)] = both.sum(axis=1) + np.diag(ridge)
    flat = system.transpose(0, 2, 1, 3).reshape(Q * R, Q * R)
    return cho_solve(cho_factor(flat), pull.ravel()).reshape(Q, R)


@reduce_step("low-rank E-step")
def _e_step(block: Block, W: Array, xi: Array | None) -> tuple[tuple[Array, Array, float], Array]:
    xi = np.ones(len(block.pair)) if xi is None else xi.copy()
    mean, spread, bound = user_posteriors(
        block.starts, block.pair, block.weight, block.user_weight, W, xi, 1.0, 1.0, 2
    )
    curve, pull = sums_of_pairs(
        block.starts, block.pair, block.weight, block.user_weight, W, xi, mean, spread
    )
    return (curve, pull, bound), xi


@map_step("low-rank predictions")
def _predict_rows(
    block: Block, broadcast: tuple[Sequence[Array], Any, Any, UserCalibration]
) -> Array:
    fits, first, second, calibration = broadcast
    total = np.zeros((block.n_users, len(first)))
    for W in fits:
        xi = np.ones(len(block.pair))
        mean, spread, _bound = user_posteriors(
            block.starts,
            block.pair,
            block.weight,
            block.user_weight,
            W,
            xi,
            calibration.likelihood_weight,
            calibration.precision,
            _INNER,
        )
        x, d = W[first, :-1] - W[second, :-1], W[first, -1] - W[second, -1]
        variance = np.einsum("na,mab,nb->mn", x, spread, x, optimize=True)
        total += expit((mean @ x.T + d) / np.sqrt(1 + np.pi / 8 * np.maximum(variance, 0)))
    return total / len(fits)
