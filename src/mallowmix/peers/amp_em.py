"""Mixtures of Mallows models with one ranking per user, learnt from comparisons by EM with AMP.

For every user and component, rankings are drawn that agree with the user's comparisons, with
weights w_s (`peers.amp`):

    p(comparisons | k) ≈ mean w_s,    r_k ∝ a_k mean w_s,
    i above j with probability Σ_s w_s [i above j] / Σ_s w_s.

So the E-step is importance sampling, right in the limit of many draws. M: σ_k agrees best with how
often i is above j (local Kemeny: insertion search), φ_k solves E d(φ) = mean distance.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, map_step, reduce_step
from mallowmix.errors import DataError
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.dispersion import LEAST_PHI, phi_from_distance
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.permutations import order_of, sigma_of
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.kemeny import borda_order, insertion_search
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.peers.amp import STEP, clear, find_cycles, tables, take_in, weighted_draws
from mallowmix.peers.amp_people import FittedOneRanking
from mallowmix.peers.mallows_mixture import Mixture, from_groups, mixture_model, shares
from mallowmix.peers.required_data import need_comparisons
from mallowmix.peers.user_groups import group_people, net_wins
from mallowmix.typing import Array


@dataclass(frozen=True)
class MixtureOfRankings:
    """Mixture of K Mallows components, one for each user, who draws one ranking from it.

    All comparisons of a user follow that ranking. Needs comparisons without cycles within a user;
    assumes K types of users.

    Parameters
    ----------
    n_draws : int
        Rankings for a user and component in an E-step; grows fourfold over the iterations.
    n_starts, n_iter : int
        Of EM.
    """

    n_draws: int = 8
    n_starts: int = 3
    n_iter: int = 20
    name: str = "mixture of Mallows, one ranking each (AMP)"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedOneRanking:
        """Learn from comparisons (or from those that full or partial rankings imply)."""
        return FittedOneRanking(self.learnt(need_comparisons(self, data), n_components, seed))

    def learnt(self, data: Comparisons, K: int, seed: int) -> FittedModel:
        """The most likely of several runs of EM, by the last E-step's estimate."""
        blocks, engine = make_blocks(data), ThreadEngine()
        check_consistent(data, blocks, engine, self.name)
        points = net_wins(data)
        runs = []
        for s in range(self.n_starts):
            start = from_groups(
                data, group_people(points, K, child_seed(seed, Step.PEER_START, s)), K
            )
            runs.append(
                em_rankings(
                    blocks,
                    engine,
                    start,
                    self.n_iter,
                    self.n_draws,
                    as_key(child_seed(seed, Step.PEER_START, s)),
                )
            )
        return mixture_model(max(runs, key=lambda run: run.log_likelihood), data.items, self.name)


class _Sent(NamedTuple):
    """What every block needs in an E-step."""

    order: NDArray[np.int32]  # (K, Q)
    S: Array  # (K, Q + 1)
    log_share: Array
    n_draws: int
    iteration: int
    key: np.uint64


def check_consistent(data: Comparisons, blocks: list[Block], engine: Engine, name: str) -> None:
    """Raise a DataError that names the first user whose comparisons contain a cycle."""
    parts = engine.map(_cycles, blocks)
    cyclic = np.flatnonzero(np.concatenate(parts))
    if len(cyclic):
        others = f" (and {len(cyclic) - 1:,} others)" if len(cyclic) > 1 else ""
        raise DataError(
            f"User {data.users.tolist()[cyclic[0]]!r}{others} contradicts themselves: "
            "their comparisons go round in a circle, so no one ranking can have made them. "
            f"{name} needs that; the mixture of Mallows with independent comparisons "
            "(MixtureOfMallows, mixture-mallows) and M4 do not."
        )


@map_step("find cycles")
def _cycles(block: Block, _: Any) -> NDArray[np.bool_]:
    return find_cycles(block.starts, block.pair, block.n_items)


def em_rankings(
    blocks: list[Block],
    engine: Engine,
    start: Mixture,
    n_iter: int,
    n_draws: int,
    key: np.uint64,
) -> Mixture:
    """EM with more and more draws: first fast iterations, then precise ones.

    Parameters
    ----------
    blocks : list of Block
    engine : Engine
    start : Mixture
        The initialisation.
    n_iter, n_draws : int
    key : uint64
        Of the random streams.

    Returns
    -------
    Mixture
    """
    found = start
    for iteration in range(n_iter):
        draws = n_draws * (1 if iteration < n_iter // 2 else 2 if iteration < n_iter - 3 else 4)
        (above, held, value), _ = engine.reduce(
            _e_step, blocks, _sent(found, draws, iteration, key)
        )
        found = Mixture(_m_step(above, held, found.components), shares(held), value)
    return found


def _sent(found: Mixture, draws: int, iteration: int, key: np.uint64) -> _Sent:
    Q = found.components.sigma.shape[1]
    S = np.stack([tables(Q, phi) for phi in found.components.phi])
    return _Sent(order_of(found.components.sigma), S, np.log(found.share), draws, iteration, key)


def _m_step(above: Array, held: Array, components: MallowsComponents) -> MallowsComponents:
    """σ from (K, Q, Q) how often i is above j, by two searches; φ from distances."""
    sigma, phi = components.sigma.copy(), components.phi.copy()
    for k, table in enumerate(above):
        orders = [
            insertion_search(table, start) for start in (order_of(sigma[k]), borda_order(table))
        ]
        distance = [float(np.tril(table[np.ix_(order, order)]).sum()) for order in orders]
        sigma[k] = sigma_of(orders[int(np.argmin(distance))])
        phi[k] = min(
            max(phi_from_distance(len(table), min(distance) / max(held[k], 1e-12)), LEAST_PHI),
            0.999,
        )
    return MallowsComponents(sigma, phi)


@reduce_step("AMP E-step")
def _e_step(block: Block, sent: _Sent, _: Any) -> tuple[tuple[Array, Array, float], None]:
    people = (block.first_user, block.starts, block.pair, block.user_weight)
    return _expect(
        *people, sent.order, sent.S, sent.log_share, sent.n_draws, sent.iteration, sent.key
    ), None


@compiled
def _expect(first_user, starts, pair, user_weight, order, S, log_share, n_draws, iteration, key):
    """(K, Q, Q) how often i is above j, (K,) users of each component, and the log-likelihood."""
    K, Q = order.shape
    table, held, value = np.zeros((K, Q, Q)), np.zeros(K), 0.0
    above, among = np.zeros((Q, Q), np.bool_), np.empty(Q, np.int64)
    orders, log_w, log_p = np.empty((K, n_draws, Q), np.int32), np.empty((K, n_draws)), np.empty(K)
    for m in range(len(starts) - 1):
        if user_weight[m] <= 0.0:
            continue
        n = take_in(starts[m], starts[m + 1], pair, above, among)
        total = weighted_draws(
            order, S, log_share, above, first_user + m, STEP, iteration, key, orders, log_w, log_p
        )
        value += user_weight[m] * total
        for k in range(K):
            for s in range(n_draws):
                share = user_weight[m] * np.exp(log_w[k, s] - total)
                held[k] += share
                if share > 1e-9:
                    for r in range(Q):
                        for t in range(r + 1, Q):
                            table[k, orders[k, s, r], orders[k, s, t]] += share
        clear(above, among[:n])
    return table, held, value
