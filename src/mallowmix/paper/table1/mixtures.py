"""The ranking mixtures of Table 1: what the paper says of each, and the system that is run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mallowmix.peers.amp_em import MixtureOfRankings
from mallowmix.peers.btl import MixtureOfBT
from mallowmix.peers.grade_of_membership import GradeOfMembership
from mallowmix.peers.interface import Peer
from mallowmix.peers.mallows_mixture import MixtureOfMallows
from mallowmix.peers.mallows_rankings import MallowsFromRankings
from mallowmix.peers.mixed_mallows_peer import MixedMallowsPeer
from mallowmix.peers.mnl_tensor import MixtureOfMNL
from mallowmix.peers.mpm import MPM
from mallowmix.peers.plackett_luce import MixtureOfPL
from mallowmix.peers.sparse_choice import SparseChoice
from mallowmix.peers.tm import TM
from mallowmix.peers.top_three import TwoMallowsTopThree


class Table1Properties(NamedTuple):
    """A row of the paper's Table 1, names of models in their usual spelling."""

    observation: str
    component: str
    prior: str
    consistency: str
    computation: str


@dataclass(frozen=True)
class RankingMixture:
    """A system of Table 1.

    Parameters
    ----------
    own_model : str
        The model whose data are its own, a key of `populations.PLANTED_MODELS`.
    make : callable
        ``make(quick)`` is the system with its options.
    printed : Table1Properties, optional
        What the paper's table says of it; None where it only cites the system.
    """

    own_model: str
    make: Callable[[bool], Peer]
    printed: Table1Properties | None = None


def _grade_of_membership(quick: bool) -> Peer:
    """Whole: until R-hat of α is below 1.05."""
    if quick:
        return GradeOfMembership(n_burn=300, n_draws=100)
    return GradeOfMembership(n_burn=1000, n_draws=400, max_rounds=6)


RANKING_MIXTURES: dict[str, RankingMixture] = {
    "M4": RankingMixture(
        "M4",
        lambda quick: MixedMallowsPeer(calibrated=True),
        Table1Properties("pairwise", "Mallows", "general", "provable", "polynomial"),
    ),
    "TM": RankingMixture(
        "TM",
        lambda quick: TM(),
        Table1Properties("pairwise", "single ranking", "general", "provable", "polynomial"),
    ),
    "grade of membership PL": RankingMixture(
        "grade of membership PL",
        _grade_of_membership,
        Table1Properties("full", "Plackett–Luce", "Dirichlet", "not available", "not available"),
    ),
    "sparse choice": RankingMixture(
        "sparse choice",
        lambda quick: SparseChoice(),
        Table1Properties("pairwise", "single ranking", "vertices", "provable", "combinatorial"),
    ),
    "mixture of Mallows, AMP": RankingMixture(
        "Mallows, pairs",
        lambda quick: MixtureOfRankings(),
        Table1Properties("pairwise", "Mallows", "vertices", "not available", "not available"),
    ),
    "mixture of Mallows": RankingMixture("Mallows, pairs", lambda quick: MixtureOfMallows()),
    "two Mallows from the top three": RankingMixture(
        "two Mallows",
        lambda quick: TwoMallowsTopThree(),
        Table1Properties("top-3 rank", "Mallows", "vertices", "provable", "polynomial"),
    ),
    "mixture of Mallows from rankings": RankingMixture(
        "two Mallows", lambda quick: MallowsFromRankings()
    ),
    "mixture of BTL, tensors": RankingMixture(
        "BTL",
        lambda quick: MixtureOfMNL(),
        Table1Properties("pairwise", "Bradley–Terry–Luce", "vertices", "provable", "polynomial"),
    ),
    "mixture of BTL, EM": RankingMixture("BTL", lambda quick: MixtureOfBT()),
    "mixture of PL": RankingMixture("PL", lambda quick: MixtureOfPL()),
    "MPM": RankingMixture("MPM", lambda quick: MPM()),
}
