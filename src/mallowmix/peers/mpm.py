"""MPM, the multinomial preference model (Volkovs and Zemel 2014): one consensus, with adherence.

A user's comparisons are draws from one multinomial over all ordered pairs,

    P_m(i over j) = exp(γ_m (v_i − v_j)) / Z(γ_m),      Z(γ) = (Σ_i e^{γ v_i}) (Σ_j e^{−γ v_j}) − Q,

v the consensus and γ_m > 0 the user's adherence, log γ_m ~ N(0, τ²). Sufficient for a user are
s_m = Σ_i v_i (wins − losses of i) and the number of comparisons. Of two items i wins with
probability 1 / (1 + exp(−2 γ_m (v_i − v_j))), averaged over the posterior of γ_m.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step, parallel_sum
from mallowmix.model.pair_model import Pairs
from mallowmix.numerics.compiled import compiled
from mallowmix.peers.component_mixture import pair_numbers
from mallowmix.peers.required_data import known_comparisons, need_comparisons
from mallowmix.typing import Array

_LOW, _HIGH = -4.0, 2.5  # of log γ
_GRID = np.linspace(_LOW, _HIGH, 66)


class People(NamedTuple):
    """Statistics of a block: wins less losses by item, number of comparisons, and user weights."""

    net: Array  # (M, Q)
    n: Array  # (M,)
    user_weight: Array


@dataclass(frozen=True)
class MPM:
    """One score for every item, the same for all, and how closely each user follows it.

    Needs comparisons; assumes one consensus, and pairs compared more often where the answer is
    clearer (one multinomial makes both).

    Parameters
    ----------
    spread : sequence of float
        Candidates for τ, the standard deviation of log γ; where there are several, the likeliest.
    ridge : float
        Prior precision of a score.
    """

    spread: Sequence[float] = (1.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.5)
    ridge: float = 0.1
    name: str = "MPM consensus"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"
    has_components: ClassVar[bool] = False

    def fit(self, data: Comparisons, n_components: int = 1, *, seed: int = 0) -> "FittedMPM":
        """Maximise the profile likelihood of v, each γ at its own maximum (L-BFGS); K is 1."""
        data = need_comparisons(self, data)
        people = ThreadEngine().map(summed, make_blocks(data))
        v, spread = self._consensus(people, self.spread[0]), self.spread[0]
        if len(self.spread) > 1:
            value = [_marginal(people, v, tau) for tau in self.spread]
            spread = self.spread[int(np.argmax(value))]
            v = self._consensus(people, spread)
        return FittedMPM(data.items, v, spread)

    def _consensus(self, people: list[People], spread: float) -> Array:
        """(Q,) v, with mean 0."""
        games = max(float(sum(part.user_weight @ part.n for part in people)), 1.0)

        def loss(v: Array) -> tuple[float, Array]:
            value, slope = parallel_sum(lambda part: _profile(part, v, spread), people)
            return (self.ridge / 2 * v @ v - value) / games, (self.ridge * v - slope) / games

        net = sum(part.user_weight @ part.net for part in people)
        start = np.asarray(net) / (np.abs(net).max() + 1.0)
        v = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8},
        ).x
        return v - v.mean()


@dataclass(frozen=True, eq=False)
class FittedMPM:
    """The consensus v; adherence is inferred when predicting."""

    items: Labels
    v: Array
    spread: float

    @property
    def components(self) -> Array:
        """(1, Q) the consensus."""
        return self.v[None]

    def adherence(self, people: Any) -> Array:
        """(M,) the most likely γ of each user, 1 for a user without comparisons."""
        people = known_comparisons(people).with_items(self.items, unknown_items="drop")
        parts = ThreadEngine().map(_adherence, make_blocks(people), (self.v, self.spread))
        return np.concatenate(parts)

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) 1 / (1 + exp(−2 γ (v_i − v_j))), averaged over the posterior of γ."""
        first, second = pair_numbers(self.items, pairs)
        people = known_comparisons(people).with_items(self.items, unknown_items="drop")
        parts = ThreadEngine().map(_posterior, make_blocks(people), (self.v, self.spread))
        return np.concatenate(parts) @ expit(
            2 * np.exp(_GRID)[:, None] * (self.v[first] - self.v[second])
        )


@map_step("net wins and counts")
def summed(block: Block, _: Any) -> People:
    """The statistics of a block."""
    M, Q = block.n_users, block.n_items
    person = np.repeat(np.arange(M), np.diff(block.starts))
    winner, loser = np.divmod(block.pair.astype(np.int64), Q)
    won, lost = (
        np.bincount(person * Q + side, block.weight, M * Q).reshape(M, Q)
        for side in (winner, loser)
    )
    return People(
        np.asarray(won - lost, np.float64),
        np.bincount(person, block.weight, M).astype(np.float64),
        block.user_weight,
    )


def _profile(people: People, v: Array, spread: float) -> tuple[float, Array]:
    """Σ_m log p(comparisons of m, γ_m), each γ_m at its maximum, and its gradient in v."""
    s = people.net @ v
    gamma = best_gamma(s, people.n, v, spread)
    up, down = np.exp(np.outer(gamma, v)), np.exp(-np.outer(gamma, v))  # (M, Q)
    A, B = up.sum(axis=1), down.sum(axis=1)
    Z = A * B - len(v)
    value = people.user_weight @ (
        gamma * s - people.n * np.log(Z) - np.log(gamma) ** 2 / (2 * spread**2)
    )
    # E[wins − losses] of each item in one comparison
    expected = (up * B[:, None] - down * A[:, None]) / Z[:, None]
    slope = (people.user_weight * gamma) @ (people.net - people.n[:, None] * expected)
    return float(value), slope


@map_step("adherence")
def _adherence(block: Block, broadcast: tuple[Array, float]) -> Array:
    v, spread = broadcast
    people = summed(block)
    return best_gamma(people.net @ v, people.n, v, spread)


def _log_joint(people: People, v: Array, spread: float) -> Array:
    """(M, G) log p(comparisons, log γ on a grid), up to what does not depend on γ."""
    gamma = np.exp(_GRID)
    Z = np.exp(np.outer(gamma, v)).sum(axis=1) * np.exp(-np.outer(gamma, v)).sum(axis=1) - len(v)
    log_prior = -(_GRID**2) / (2 * spread**2)
    return (
        np.outer(people.net @ v, gamma)
        - np.outer(people.n, np.log(Z))
        + log_prior
        - np.log(np.exp(log_prior).sum())
    )


def _marginal(people: list[People], v: Array, spread: float) -> float:
    """Σ_m log p(comparisons of m), γ_m summed out."""
    return float(
        sum(
            part.user_weight @ np.asarray(logsumexp(_log_joint(part, v, spread), axis=1))
            for part in people
        )
    )


@map_step("posterior of adherence")
def _posterior(block: Block, broadcast: tuple[Array, float]) -> Array:
    """(M, G) the probability of each γ of the grid."""
    joint = _log_joint(summed(block), *broadcast)
    return np.exp(joint - np.asarray(logsumexp(joint, axis=1, keepdims=True)))


@compiled
def best_gamma(s, n, v, spread):
    """(M,) where γ (s − n (log Z)'(γ)) = log γ / τ², by bisection on log γ."""
    gamma = np.empty(len(s))
    for m in range(len(s)):
        low, high = _LOW, _HIGH
        for _ in range(40):
            middle = (low + high) / 2
            g = np.exp(middle)
            A, B, dA, dB = 0.0, 0.0, 0.0, 0.0
            for x in v:
                up, down = np.exp(g * x), np.exp(-g * x)
                A, B, dA, dB = A + up, B + down, dA + x * up, dB - x * down
            slope = g * (s[m] - n[m] * (dA * B + A * dB) / (A * B - len(v))) - middle / spread**2
            if slope > 0:
                low = middle
            else:
                high = middle
        gamma[m] = np.exp((low + high) / 2)
    return gamma
