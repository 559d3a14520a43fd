"""One chain of the posterior: a state, a step that moves all of it, and the draws that are kept.

A step draws the tokens' components given θ, then α with θ left out, then θ; then it moves each
component given θ, and two components at a time with users' splits between them left out. Every
move leaves the posterior unchanged. In the warm-up, which is not kept, the widths of the random
walks adapt. In its first half the likelihood of rankings counts little at first and more and more,
and α stays as it is: a chain then leaves a poor initialisation.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.infer.heldout.importance import log_evidence
from mallowmix.infer.posterior.alpha_moves import log_weight_sums, move_alpha, tail_counts
from mallowmix.infer.posterior.component_moves import (
    fill_beta,
    fill_gaps,
    move_component,
    total_log_likelihood,
)
from mallowmix.infer.posterior.crowd_moves import move_crowd
from mallowmix.infer.posterior.posterior_data import PosteriorData
from mallowmix.infer.posterior.posterior_priors import PosteriorPriors
from mallowmix.infer.posterior.split_evidence import MOST_ANSWERS, answer_counts
from mallowmix.infer.posterior.split_moves import move_split
from mallowmix.infer.posterior.weight_moves import draw_tokens, draw_user_weights, move_weights
from mallowmix.typing import Array

_SWEEPS = 1  # collapsed sweeps of a step
_ROUNDS = 2  # proposals for each φ and α in a step
_PER_ITEM = 2  # insertions in a step and component, for each item
_SPLIT_COST = 4e6  # multiplications in a step for the moves with splits left out
_ACCEPTED = 0.44  # the share of accepted proposals that the widths of random walks aim at
_COOLED = 0.5  # of the warm-up: from here on the likelihood of rankings counts in full
_HEAT = 0.02  # of the likelihood of rankings, at the beginning
_EVIDENCE = 32  # draws of θ behind a user's evidence: its noise is averaged over the chain's draws
_NO_TAILS, _NO_SUMS = np.zeros((1, 1)), np.zeros(1)


class ChainStart(NamedTuple):
    """Where a chain begins."""

    name: str
    sigma: NDArray[np.int64]  # (K, Q)
    phi: Array  # (K,)
    alpha: Array  # (K,)
    crowd: NDArray[np.int64]  # (Q,) the crowd's ranking


class ChainLength(NamedTuple):
    """How long a chain is: steps of the warm-up, draws that are kept, and steps for each."""

    n_warmup: int
    n_draws: int
    thin: int


class ChainDraws(NamedTuple):
    """The kept draws of one chain, D of them."""

    sigma: NDArray[np.int16]  # (D, K, Q)
    phi: Array  # (D, K)
    alpha: Array  # (D, K)
    theta: NDArray[np.float32]  # (D, M, K), M = 0 where weights are not kept
    log_likelihood: Array  # (D,)
    evidence: NDArray[np.float32]  # (D, M) log p(answers of a user | components, α)
    crowd: NDArray[np.int16]  # (D, Q)
    crowd_phi: Array  # (D,)


class PosteriorChain:
    """The state of one chain.

    Parameters
    ----------
    data : PosteriorData
        The comparisons.
    priors : PosteriorPriors
        The priors.
    start : ChainStart
        Where it begins; every user's weights begin at the prior mean.
    key : uint64
        Of the random numbers: of the seed and the chain.
    """

    def __init__(
        self, data: PosteriorData, priors: PosteriorPriors, start: ChainStart, key: np.uint64
    ) -> None:
        self.data, self.priors, self.key = data, priors, key
        self.sigma, self.phi = start.sigma.astype(np.int64), start.phi.copy()
        self.alpha, self.crowd, self.crowd_phi = start.alpha.copy(), start.crowd.copy(), 0.5
        K, Q = self.sigma.shape
        self.theta = np.tile(self.alpha / self.alpha.sum(), (data.n_users, 1))
        self.beta = np.empty((Q * Q, K))
        gaps = np.empty(2 * Q - 1)
        for k in range(K):
            fill_gaps(self.phi[k], gaps)
            fill_beta(self.sigma[k], gaps, self.beta[:, k])
        self._widths = {
            "alpha": np.full(K + 1, 0.3),
            "phi": np.full(K, 0.3),
            "crowd": np.ones(1),
            "reach": np.full(K, max(Q / 8, 1.0)),
        }
        self._alpha_prior = np.array([np.log(priors.alpha_median), priors.alpha_spread])
        self._phi_prior = np.array(priors.phi, np.float64)
        self._crowd_prior = np.array(priors.crowd_phi, np.float64)
        self._counts = answer_counts(data.starts, data.power)
        self._n_splits = _number_of_splits(data, self._counts, K)
        self._step = 0

    def run(self, length: ChainLength, keep_theta: bool, report: Callable[[], None]) -> ChainDraws:
        """Warm up, then keep one draw in `thin` steps; `report` is called after each step."""
        for s in range(length.n_warmup):
            share = s / max(_COOLED * length.n_warmup, 1)
            self.step(heat=min(1.0, _HEAT ** (1 - share)), gain=1 / np.sqrt(1 + s))
            report()
        kept = []
        for _ in range(length.n_draws):
            for _ in range(length.thin):
                self.step()
                report()
            kept.append(self._draw(keep_theta))
        return ChainDraws(*(np.stack(values) for values in zip(*kept, strict=True)))

    def step(self, heat: float = 1.0, gain: float = 0.0) -> None:
        """Move everything once.

        Parameters
        ----------
        heat : float
            The power of the likelihood in moves of rankings; below 1, α is not moved.
        gain : float
            How much the widths of random walks adapt; 0 after the warm-up.
        """
        self._step += 1
        self._move_users(heat, gain)
        hierarchical = self.priors.rankings == "mallows"
        rows = (self.data.pair_starts, self.data.row_user, self.data.row_power)
        n_insertions = _PER_ITEM * self.data.n_items
        for k in range(len(self.phi)):
            inserted, accepted = move_component(
                *rows,
                self.theta,
                self.beta,
                self.sigma,
                self.phi,
                k,
                self.crowd,
                float(np.log(self.crowd_phi)) if hierarchical else 0.0,
                self._phi_prior,
                self._widths["reach"][k],
                self._widths["phi"][k],
                n_insertions,
                _ROUNDS,
                heat,
                self.key,
                self._step,
            )
            self._adapt("reach", k, inserted, gain)
            self._adapt("phi", k, accepted, gain)
        self._move_splits(heat)
        if hierarchical:
            self.crowd_phi, accepted = move_crowd(
                self.crowd,
                self.crowd_phi,
                self.sigma,
                self._crowd_prior,
                self._widths["crowd"][0],
                n_insertions,
                _ROUNDS,
                self.key,
                self._step,
            )
            self._adapt("crowd", 0, accepted, gain)

    def _move_splits(self, heat: float) -> None:
        """Move each component together with another, in turn all others, where it is cheap."""
        K, data = len(self.phi), self.data
        rows = (data.starts, data.pair, data.power, self._counts)
        log_crowd_phi = float(np.log(self.crowd_phi)) if self.priors.rankings == "mallows" else 0.0
        for j in range(K if K > 1 and self._n_splits else 0):
            widths = np.array([self._widths[name][j] for name in ("reach", "phi", "alpha")])
            move_split(
                rows,
                self.theta,
                self.beta,
                self.sigma,
                self.phi,
                self.alpha,
                np.array([j, (j + 1 + self._step % (K - 1)) % K]),
                self.crowd,
                log_crowd_phi,
                self._phi_prior,
                self._alpha_prior,
                widths,
                self._n_splits,
                heat,
                self.key,
                self._step * K + j,
            )

    def _move_users(self, heat: float, gain: float) -> None:
        """Draw users' weights, and α where the likelihood counts in full."""
        data, counters = self.data, (self.key, self._step)
        rows = (data.starts, data.pair, data.power, self.beta, self.alpha, self.theta)
        tokens, tails, sums = None, _NO_TAILS, _NO_SUMS
        if data.whole:
            tokens = draw_tokens(*rows, _SWEEPS, *counters)
            tails = tail_counts(tokens)
        else:
            move_weights(*rows, *counters)
            sums = log_weight_sums(self.theta)
        if heat == 1:
            given = (self.alpha, tails, sums, data.whole, self._alpha_prior)
            accepted = move_alpha(*given, self._widths["alpha"], _ROUNDS, *counters)
            self._adapt("alpha", slice(None), accepted, gain)
        if tokens is not None:
            draw_user_weights(tokens, self.alpha, self.theta, *counters)

    def _adapt(self, name: str, k: int | slice, accepted: Array | float, gain: float) -> None:
        """Widen a walk that is accepted too often, and narrow one that is not often enough."""
        if gain:
            width = self._widths[name][k] * np.exp(gain * (accepted - _ACCEPTED))
            least, most = (1.0, self.data.n_items - 1.0) if name == "reach" else (1e-3, 10.0)
            self._widths[name][k] = np.clip(width, least, max(most, least))

    def _draw(self, keep_theta: bool) -> ChainDraws:
        data = self.data
        value = total_log_likelihood(data.starts, data.pair, data.power, self.theta, self.beta)
        return ChainDraws(
            self.sigma.astype(np.int16),
            self.phi.copy(),
            self.alpha.copy(),
            self.theta[: data.n_users if keep_theta else 0].astype(np.float32),
            np.asarray(value),
            self._evidence().astype(np.float32),
            self.crowd.astype(np.int16),
            np.asarray(self.crowd_phi),
        )

    def _evidence(self) -> Array:
        """(M,) the log-likelihood of each user's answers, their weights integrated out."""
        data = self.data
        rows = (data.starts, data.pair, data.power, self.beta, self.alpha)
        return log_evidence(*rows, _EVIDENCE, _EVIDENCE, 0.0, 1, 0, self.key)[:, 0]


def _number_of_splits(data: PosteriorData, counts: NDArray[np.int64], K: int) -> int:
    """How many proposals of `move_split` for each component a step can afford; 0 for none.

    One costs Σ_m n_m² / 2 multiplications, with n_m answers of user m.
    """
    if not data.whole or counts.max() > MOST_ANSWERS:
        return 0
    cost = max(0.5 * float((counts.astype(np.float64) ** 2).sum()), 1.0)
    return int(min(_PER_ITEM * data.n_items, _SPLIT_COST / (K * cost)))
