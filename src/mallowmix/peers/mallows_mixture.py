"""Mixtures of Mallows models from comparisons by EM: one component per user.

Lu and Boutilier (2011, 2014). There are two models of a user's comparisons. *One ranking*: the user
has drawn one ranking and all comparisons agree with it; EM is over (component, ranking), with AMP
draws for the ranking (`peers.amp_em`). *Independent*: the user draws a new ranking from their
component for every comparison, so comparisons may contradict each other; then

    p(comparisons | k) = Π_n β_(w_n),k,      E: r_mk ∝ a_k p(comparisons of m | k),
    M: Mallows components from Σ_m r_mk counts.

The second is M4 with a prior on the vertices. It is initialised by k-means on net wins
(`peers.user_groups`), several times; the most likely result is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, reduce_step
from mallowmix.errors import check_at_least
from mallowmix.learn.spectral.mallows_mstep import (
    MallowsComponents,
    beta_table,
    update_components,
)
from mallowmix.model import least_beta
from mallowmix.model.calibration import Calibration
from mallowmix.model.dispersion import phi_of_counts
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.kemeny import borda_order, insertion_search
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.required_data import need_comparisons
from mallowmix.peers.user_groups import group_people, net_wins
from mallowmix.peers.validation import (
    LIKELIHOOD_WEIGHTS,
    NEW_ITEMS,
    HoldOut,
    best,
    trial,
)
from mallowmix.typing import Array

_LEAST = 1e-3  # share of a component


class Mixture(NamedTuple):
    """K Mallows components, their shares, and the log-likelihood of the data."""

    components: MallowsComponents
    share: Array
    log_likelihood: float


@dataclass(frozen=True)
class MixtureOfMallows:
    """Mixture of K Mallows components, one for each user, comparisons independent given it.

    Needs comparisons, which may contradict each other; assumes K types of users, all of a type
    alike.

    Parameters
    ----------
    n_starts, n_iter, tol
        Of EM, which stops when the log-likelihood per comparison rises by less than tol.
    likelihood_weights : sequence of float
        Candidates for the likelihood weight of one comparison; where there are several, chosen on a
        third of the training users.
    hold_out : HoldOut
        What is held out of the training users by whom settings are chosen.
    """

    n_starts: int = 5
    n_iter: int = 60
    tol: float = 1e-6
    likelihood_weights: Sequence[float] = LIKELIHOOD_WEIGHTS
    hold_out: HoldOut = NEW_ITEMS
    name: str = "mixture of Mallows"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        data, likelihood_weight = need_comparisons(self, data), self.likelihood_weights[0]
        if len(self.likelihood_weights) > 1:
            train, given, held_out = trial(data, seed, None, self.hold_out)
            model = self.learnt(train, min(n_components, train.n_users), seed)
            likelihood_weight = best(
                self.likelihood_weights, lambda e: of_model(at_vertices(model, e)), given, held_out
            )
        return of_model(
            at_vertices(self.learnt(data, n_components, seed), likelihood_weight),
            (("likelihood_weight", likelihood_weight),),
        )

    def learnt(self, data: Comparisons, K: int, seed: int) -> FittedModel:
        """The most likely of several runs of EM."""
        check_at_least("n_starts", self.n_starts, 1)
        blocks, engine, points = make_blocks(data), ThreadEngine(), net_wins(data)
        runs = [
            self._run(
                blocks,
                engine,
                group_people(points, K, child_seed(seed, Step.PEER_START, s)),
                K,
                data,
            )
            for s in range(self.n_starts)
        ]
        return mixture_model(
            max(runs, key=lambda run: run.log_likelihood), data.items, "mixture of Mallows"
        )

    def _run(
        self,
        blocks: list[Block],
        engine: Engine,
        groups: NDArray[np.int64],
        K: int,
        data: Comparisons,
    ) -> Mixture:
        return em_mallows(
            blocks, engine, from_groups(data, groups, K), self.n_iter, self.tol * data.n_comparisons
        )


def at_vertices(model: AnyModel, likelihood_weight: float = 1.0) -> FittedModel:
    """The model with all prior mass at the vertices: one component per user."""
    calibration = Calibration(likelihood_weight=likelihood_weight, vertex_share=1.0)
    return replace(as_fitted(model), calibration=calibration)


def mixture_model(found: Mixture, items: Labels, method: str) -> FittedModel:
    """An M4 whose Dirichlet parameters are the shares, all prior mass at the vertices."""
    m4 = M4(found.components.sigma, found.components.phi, found.share, items)
    report = FitReport(method=method, log_likelihood=float(found.log_likelihood))
    return at_vertices(FittedModel(m4, report))


def from_groups(data: Comparisons, groups: NDArray[np.int64], K: int) -> Mixture:
    """Initialise from groups of users: each one's best ranking and its φ.

    Parameters
    ----------
    data : Comparisons
    groups : ndarray of int, shape (M,)
    K : int

    Returns
    -------
    Mixture
    """
    Q, weight = data.n_items, data.weight * data.user_weight[data.user]
    wins = [
        np.bincount(data.pair, weight * (groups[data.user] == k), Q * Q).astype(float).reshape(Q, Q)
        for k in range(K)
    ]
    sigma = np.stack([sigma_of(insertion_search(table, borda_order(table))) for table in wins])
    phi = np.array(
        [
            phi_of_counts(table, row, floor=least_beta.EXPECTED_COUNTS)
            for table, row in zip(wins, sigma, strict=True)
        ]
    )
    return Mixture(
        MallowsComponents(sigma, phi),
        shares(np.bincount(groups, data.user_weight, K).astype(float)),
        -np.inf,
    )


def shares(held: Array) -> Array:
    """(K,) normalised to sum 1, none below a thousandth."""
    share = np.maximum(held / held.sum(), _LEAST)
    return share / share.sum()


def em_mallows(
    blocks: list[Block], engine: Engine, start: Mixture, n_iter: int, least_gain: float = 0.0
) -> Mixture:
    """EM for a mixture of Mallows components with independent comparisons.

    Parameters
    ----------
    blocks : list of Block
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
        (counts, held, value), _ = engine.reduce(
            e_step, blocks, (beta_table(found.components, least_beta.EXPECTED_COUNTS), found.share)
        )
        if value - last <= least_gain:
            break
        last = value
        found = Mixture(
            update_components(counts, found.components, floor=least_beta.EXPECTED_COUNTS),
            shares(held),
            value,
        )
    return found


@reduce_step("mixture of Mallows E-step")
def e_step(
    block: Block, broadcast: tuple[Array, Array], _: Any
) -> tuple[tuple[Array, Array, float], None]:
    """(Q², K) wins and (K,) users by component, log-likelihood; broadcast: β (Q², K), shares."""
    table, share = broadcast
    log_p = np.log(table)[block.pair] * block.weight[:, None]
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))
    single = np.stack(
        [np.bincount(person, column, block.n_users) for column in log_p.T], axis=1
    ) + np.log(share)
    total = np.asarray(logsumexp(single, axis=1))
    held = np.exp(single - total[:, None]) * block.user_weight[:, None]
    counts = [
        np.bincount(block.pair, block.weight * column[person], len(table)) for column in held.T
    ]
    return (
        np.stack(counts, axis=1).astype(float),
        held.sum(axis=0),
        float(block.user_weight @ total),
    ), None
