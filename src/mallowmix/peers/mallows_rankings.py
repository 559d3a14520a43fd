"""Mixtures of Mallows models from rankings by EM (Busse, Orbanz and Buhmann 2007).

Full rankings need no draws: the distance of a ranking to a reference is known, and

    E: r_mk ∝ a_k Π_(rankings of m) φ_k^d(ranking, σ_k) / Z_k,
    M: σ_k the Kemeny ranking, φ_k from the mean distance,

both from how often i is above j among the users of component k. Partial rankings, with ties or
unlisted items, are turned into the comparisons that they imply, with AMP draws (`peers.amp_em`),
which are exact for top-k lists.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mallowmix.data.rankings import Rankings
from mallowmix.engine import Engine, ThreadEngine, reduce_step
from mallowmix.engine.blocks import InMemory
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.dispersion import LEAST_PHI, phi_from_distance
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.mallows import log_z
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.kemeny import best_order
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.amp_em import MixtureOfRankings
from mallowmix.peers.amp_people import FittedOneRanking
from mallowmix.peers.mallows_mixture import Mixture, mixture_model, shares
from mallowmix.peers.required_data import need_rankings
from mallowmix.peers.user_groups import group_people, net_wins
from mallowmix.typing import Array

_PEOPLE = 1024  # a block


@dataclass(frozen=True)
class MallowsFromRankings:
    """Mixture of K Mallows components, one for each user, whose rankings are drawn from it.

    Needs rankings, full or partial; assumes K types of users.

    Parameters
    ----------
    n_starts, n_iter, tol
        Of EM, which stops when the log-likelihood per user rises by less than tol.
    """

    n_starts: int = 5
    n_iter: int = 100
    tol: float = 1e-6
    name: str = "mixture of Mallows from rankings"
    needs: Literal["comparisons", "ratings", "rankings"] = "rankings"

    def fit(self, data: Rankings, n_components: int, *, seed: int = 0) -> FittedOneRanking:
        """Learn from rankings."""
        instead = (
            "Use a mixture of Mallows from comparisons (mixture-mallows, mixture-mallows-amp)."
        )
        rankings = need_rankings(self, data, instead)
        if rankings.is_full:
            return FittedOneRanking(self.learnt(rankings, n_components, seed))
        amp = MixtureOfRankings(n_starts=min(self.n_starts, 3), name=self.name)
        return FittedOneRanking(amp.learnt(rankings.comparisons(), n_components, seed))

    def learnt(self, data: Rankings, K: int, seed: int) -> FittedModel:
        """The most likely of several runs of EM."""
        blocks, engine, points = (
            make_ranking_blocks(data),
            ThreadEngine(),
            net_wins(data.comparisons()),
        )
        runs = []
        for s in range(self.n_starts):
            start = _from_groups(
                blocks, engine, group_people(points, K, child_seed(seed, Step.PEER_START, s)), K
            )
            runs.append(em_full(blocks, engine, start, self.n_iter, self.tol * data.n_users))
        return mixture_model(max(runs, key=lambda run: run.log_likelihood), data.items, self.name)


@dataclass(frozen=True, eq=False)
class RankingBlock(InMemory):
    """Full rankings of consecutive users: whose (from 0 in the block), weight, best item first."""

    first_user: int
    user: NDArray[np.int64]
    weight: Array
    order: NDArray[np.int32]
    user_weight: Array


def make_ranking_blocks(data: Rankings) -> list[RankingBlock]:
    """Users in blocks of 1024, whatever the data."""
    order, blocks = data.item.reshape(len(data), data.n_items), []
    for first in range(0, data.n_users, _PEOPLE):
        last = min(first + _PEOPLE, data.n_users)
        rows = slice(*np.searchsorted(data.user, [first, last]).tolist())
        blocks.append(
            RankingBlock(
                first,
                data.user[rows].astype(np.int64) - first,
                data.weight[rows],
                order[rows],
                data.user_weight[first:last],
            )
        )
    return blocks


def em_full(
    blocks: list[RankingBlock],
    engine: Engine,
    start: Mixture,
    n_iter: int,
    least_gain: float = 0.0,
) -> Mixture:
    """EM for a mixture of Mallows components from full rankings.

    Parameters
    ----------
    blocks : list of RankingBlock
    engine : Engine
    start : Mixture
        The initialisation.
    n_iter : int
        At most.
    least_gain : float
        Stop when the log-likelihood rises by no more.

    Returns
    -------
    Mixture
    """
    found, last = start, -np.inf
    for _ in range(n_iter):
        (above, held, given, value), _ = engine.reduce(_e_step, blocks, found)
        if value - last <= least_gain:
            break
        last = value
        found = Mixture(_m_step(above, given), shares(held), value)
    return found


def _from_groups(
    blocks: list[RankingBlock], engine: Engine, groups: NDArray[np.int64], K: int
) -> Mixture:
    held = np.eye(K)[groups]
    (above, given), _ = engine.reduce(_sums_of, blocks, held)
    return Mixture(_m_step(above, given), shares(held.sum(axis=0)), -np.inf)


@reduce_step("counts of rankings")
def _sums_of(block: RankingBlock, held: Array, _: Any) -> tuple[tuple[Array, Array], None]:
    mine = (
        held[block.first_user : block.first_user + len(block.user_weight)]
        * block.user_weight[:, None]
    )
    by_ranking = mine[block.user] * block.weight[:, None]
    return (above_counts(block.order, by_ranking), by_ranking.sum(axis=0)), None


def _m_step(above: Array, given: Array) -> MallowsComponents:
    """Kemeny ranking and φ of each component, from (K, Q, Q) how often i is above j."""
    Q = above.shape[1]
    orders = np.stack([best_order(table) for table in above])
    distance = [
        np.tril(table[np.ix_(order, order)]).sum()
        for table, order in zip(above, orders, strict=True)
    ]
    phi = [
        phi_from_distance(Q, float(d / max(n, 1e-12))) for d, n in zip(distance, given, strict=True)
    ]
    return MallowsComponents(sigma_of(orders), np.clip(phi, LEAST_PHI, 0.999))


@reduce_step("mixture of rankings E-step")
def _e_step(
    block: RankingBlock, found: Mixture, _: Any
) -> tuple[tuple[Array, Array, Array, float], None]:
    """(K, Q, Q) how often i is above j, (K,) users and (K,) rankings, and the log-likelihood."""
    sigma, phi = found.components
    # d log φ − log Z
    log_p = kendall_distances(block.order, sigma) * np.log(phi) - np.array(
        [log_z(sigma.shape[1], p) for p in phi]
    )
    M = len(block.user_weight)
    single = np.stack(
        [np.bincount(block.user, block.weight * column, M) for column in log_p.T], axis=1
    ) + np.log(found.share)
    total = np.asarray(logsumexp(single, axis=1))
    held = np.exp(single - total[:, None]) * block.user_weight[:, None]
    by_ranking = held[block.user] * block.weight[:, None]
    sums = (above_counts(block.order, by_ranking), held.sum(axis=0), by_ranking.sum(axis=0))
    return (*sums, float(block.user_weight @ total)), None


@compiled
def kendall_distances(order, sigma):
    """(N, K) Kendall distances of rankings (items, best first) to references (positions)."""
    N, Q = order.shape
    K, d = len(sigma), np.zeros((N, len(sigma)))
    for n in range(N):
        for r in range(Q):
            for t in range(r + 1, Q):
                for k in range(K):
                    d[n, k] += sigma[k, order[n, r]] > sigma[k, order[n, t]]
    return d


@compiled
def above_counts(order, share):
    """(K, Q, Q) how often i is above j, each ranking counted `share[n, k]` times."""
    N, Q = order.shape
    K = share.shape[1]
    table = np.zeros((K, Q, Q))
    for n in range(N):
        for k in range(K):
            if share[n, k] > 0:
                for r in range(Q):
                    for t in range(r + 1, Q):
                        table[k, order[n, r], order[n, t]] += share[n, k]
    return table
