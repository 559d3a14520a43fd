"""Plackett–Luce and its mixtures: maximum likelihood by MM and EM.

Of the items left, item i is chosen with probability p_i / Σ p.

    MM (Hunter 2004): p_i ← (times i was chosen + a) / (Σ over choices with i left of 1 / Σ p + b)

Every step raises the likelihood (with a, b: a Gamma(a + 1, b) prior). EM around it:
r_mk ∝ share_k P_k(rankings of m).
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.data.rankings import Rankings
from mallowmix.engine import Engine, ThreadEngine, map_step, reduce_step
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import FittedModel, with_scores
from mallowmix.model.pair_model import Pairs
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.choice_sums import log_probabilities, normalised, sums_of_choices
from mallowmix.peers.component_mixture import of_model, pair_numbers
from mallowmix.peers.mallows_mixture import at_vertices, shares
from mallowmix.peers.required_data import known_comparisons, need_rankings
from mallowmix.peers.stages import Stages, make_stages
from mallowmix.peers.user_groups import group_people, net_wins
from mallowmix.typing import Array


class Found(NamedTuple):
    """(K, Q) scores log p, each with mean 0, (K,) shares, and the log-likelihood."""

    scores: Array
    share: Array
    log_likelihood: float


@dataclass(frozen=True)
class MixtureOfPL:
    """Mixture of K Plackett–Luce models, one for each user, whose rankings are drawn from it.

    Needs rankings, full, partial or top-k; assumes K types of users. (Not identifiable from too few
    items: K types need rankings of 2K or more.)

    Parameters
    ----------
    prior : float
        Wins added to every item, so that one that is never chosen has a score.
    n_starts, n_iter, tol
        Of EM, which stops when the log-likelihood per user rises by less than tol.
    """

    prior: float = 0.1
    n_starts: int = 5
    n_iter: int = 200
    tol: float = 1e-6
    name: str = "mixture of Plackett–Luce"
    needs: Literal["comparisons", "ratings", "rankings"] = "rankings"

    def fit(self, data: Rankings, n_components: int, *, seed: int = 0) -> "FittedPL":
        """Learn from rankings."""
        rankings = need_rankings(
            self,
            data,
            "Use a mixture of Bradley–Terry components (mixture-bt), which is the same for pairs.",
        )
        return FittedPL(
            pl_model(self.learnt(rankings, n_components, seed), rankings.items, self.name)
        )

    def learnt(self, data: Rankings, K: int, seed: int) -> Found:
        """The most likely of several runs of EM."""
        blocks, engine, points = (
            make_stages(data, self.name),
            ThreadEngine(),
            net_wins(data.comparisons()),
        )
        least = self.tol * data.n_users
        runs = []
        for s in range(self.n_starts):
            held = np.eye(K)[group_people(points, K, child_seed(seed, Step.PEER_START, s))]
            start = _from_groups(blocks, engine, held, data.n_items, self.prior)
            runs.append(em_pl(blocks, engine, start, self.prior, self.n_iter, least))
        return max(runs, key=lambda run: run.log_likelihood)


@dataclass(frozen=True, eq=False)
class FittedPL:
    """Plackett–Luce components, one for each user.

    Given rankings, a user's posterior is exact; given comparisons, they count as independent
    choices.
    """

    model: FittedModel
    settings: tuple[tuple[str, float], ...] = ()

    @property
    def items(self) -> Labels:
        """The items' labels."""
        return self.model.items

    @property
    def scores(self) -> Array:
        """(K, Q) log p of the items."""
        assert self.model.bradley_terry is not None  # `pl_model` makes no other
        return self.model.bradley_terry.scores

    @property
    def components(self) -> Array:
        """(K, Q) the scores."""
        return np.array(self.scores)

    def weights(self, people: Comparisons | Rankings) -> Array:
        """(M, K) the probability that each user belongs to each component."""
        if not isinstance(people, Rankings):
            return of_model(self.model).weights(known_comparisons(people))
        sent = (np.array(self.scores), self.model.share)
        blocks = make_stages(_over_items(people, self.items), "Plackett–Luce")
        return np.concatenate(ThreadEngine().map(_weights, blocks, sent))

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) Σ_k P(k | given) p_ki / (p_ki + p_kj); users may be new."""
        first, second = pair_numbers(self.items, pairs)
        return self.weights(people) @ self.model.beta()[:, first, second]


def pl_model(found: Found, items: Labels, method: str) -> FittedModel:
    """A model with these scores at the vertices: on two items Plackett–Luce is Bradley–Terry."""
    report = FitReport(method=method, log_likelihood=float(found.log_likelihood))
    model = with_scores(BradleyTerryModel(found.scores, found.share, items))
    return at_vertices(replace(model, report=report))


def _over_items(people: Rankings, items: Labels) -> Rankings:
    """The rankings restricted to known items, numbered as here."""
    number = {str(label): i for i, label in enumerate(items.tolist())}
    new = np.array([number.get(str(label), -1) for label in people.items.tolist()])[people.item]
    keep = new >= 0
    which, ranking = np.unique(people.ranking[keep], return_inverse=True)
    return Rankings.from_codes(
        people.user[which],
        ranking,
        new[keep],
        people.position[keep],
        items,
        people.users,
        people.weight[which],
    )


def fit_pl(
    data: Comparisons | Rankings, *, prior: float = 0.0, n_iter: int = 10_000, tol: float = 1e-9
) -> Array:
    """(Q,) the most likely scores of one Plackett–Luce model, with mean 0."""
    blocks, engine = make_stages(data, "Plackett–Luce"), ThreadEngine()
    held = np.ones((data.n_users, 1))
    scores = np.zeros((1, data.n_items))
    for _ in range(n_iter):
        new = _mm(blocks, engine, scores, held, prior)
        change, scores = np.abs(new - scores).max(), new
        if change < tol:
            break
    return scores[0]


def _from_groups(blocks: list[Stages], engine: Engine, held: Array, Q: int, prior: float) -> Found:
    scores = np.zeros((held.shape[1], Q))
    for _ in range(10):
        scores = _mm(blocks, engine, scores, held, prior)
    return Found(scores, shares(held.sum(axis=0)), -np.inf)


def em_pl(
    blocks: list[Stages],
    engine: Engine,
    start: Found,
    prior: float,
    n_iter: int,
    least_gain: float = 0.0,
) -> Found:
    """EM for a mixture of Plackett–Luce models, one MM step for the scores in each iteration.

    Parameters
    ----------
    blocks : list of Stages
    engine : Engine
    start : Found
        The initialisation.
    prior : float
    n_iter : int
        At most.
    least_gain : float
        Stop when the log-likelihood rises by no more.

    Returns
    -------
    Found
    """
    found, last = start, -np.inf
    for _ in range(n_iter):
        (chosen, rate, held, value), _ = engine.reduce(_e_step, blocks, (found.scores, found.share))
        if value - last <= least_gain:
            break
        last = value
        found = Found(_updated(chosen, rate, prior), shares(held), value)
    return found


def _mm(blocks: list[Stages], engine: Engine, scores: Array, held: Array, prior: float) -> Array:
    (chosen, rate), _ = engine.reduce(_counted, blocks, (scores, held))
    return _updated(chosen, rate, prior)


def _updated(chosen: Array, rate: Array, prior: float) -> Array:
    """(K, Q) log of (chosen + a) / (rate + b), b = a Q (a prior with Σ p = 1); mean 0."""
    Q = chosen.shape[1]
    scores = np.log(np.maximum(chosen + prior, 1e-12)) - np.log(np.maximum(rate + prior * Q, 1e-12))
    return scores - scores.mean(axis=1, keepdims=True)


@reduce_step("Plackett-Luce counts")
def _counted(
    block: Stages, broadcast: tuple[Array, Array], _: Any
) -> tuple[tuple[Array, Array], None]:
    scores, held = broadcast
    mine = (
        held[block.first_user : block.first_user + len(block.user_weight)]
        * block.user_weight[:, None]
    )
    share = mine[block.user] * block.weight[:, None]
    return sums_of_choices(
        block.starts, block.item, block.n_choices, share, normalised(scores)
    ), None


def _posterior(block: Stages, scores: Array, share: Array) -> tuple[Array, Array]:
    """(M, K) posterior of each user's component, and (M,) the log-likelihood."""
    log_p = log_probabilities(block.starts, block.item, block.n_choices, normalised(scores))
    M = len(block.user_weight)
    single = np.stack(
        [np.bincount(block.user, block.weight * column, M) for column in log_p.T], axis=1
    ) + np.log(share)
    total = np.asarray(logsumexp(single, axis=1))
    return np.exp(single - total[:, None]), total


@map_step("Plackett-Luce weights")
def _weights(block: Stages, broadcast: tuple[Array, Array]) -> Array:
    return _posterior(block, *broadcast)[0]


@reduce_step("Plackett-Luce E-step")
def _e_step(
    block: Stages, broadcast: tuple[Array, Array], _: Any
) -> tuple[tuple[Array, Array, Array, float], None]:
    scores, share = broadcast
    held, total = _posterior(block, scores, share)
    held = held * block.user_weight[:, None]
    by_ranking = held[block.user] * block.weight[:, None]
    sums = sums_of_choices(
        block.starts, block.item, block.n_choices, by_ranking, normalised(scores)
    )
    return (*sums, held.sum(axis=0), float(block.user_weight @ total)), None
