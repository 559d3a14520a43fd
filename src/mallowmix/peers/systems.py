"""The systems by name, as in `compare` and on the command line, in the order they are run."""

from collections.abc import Callable

from mallowmix.peers.amp_em import MixtureOfRankings
from mallowmix.peers.baselines import Borda, BradleyTerry, Coin, OneMallows
from mallowmix.peers.bias import Bias
from mallowmix.peers.bpmf import BPMF
from mallowmix.peers.btl import MixedBTL, MixtureOfBT
from mallowmix.peers.gaussian_utilities import GaussianUtilities
from mallowmix.peers.grade_of_membership import GradeOfMembership
from mallowmix.peers.interface import Peer
from mallowmix.peers.lda import LDA
from mallowmix.peers.low_rank import LowRank
from mallowmix.peers.mallows_mixture import MixtureOfMallows
from mallowmix.peers.mallows_rankings import MallowsFromRankings
from mallowmix.peers.mixed_mallows_peer import DefaultFit, MixedMallowsPeer
from mallowmix.peers.mnl_tensor import MixtureOfMNL
from mallowmix.peers.mpm import MPM
from mallowmix.peers.personal_rankings import PersonalRankings
from mallowmix.peers.plackett_luce import MixtureOfPL
from mallowmix.peers.pmf import PMF
from mallowmix.peers.separable import Separable
from mallowmix.peers.sparse_choice import SparseChoice
from mallowmix.peers.tm import TM
from mallowmix.peers.top_three import TwoMallowsTopThree

SYSTEMS: dict[str, Callable[[], Peer]] = {
    "mallowmix": lambda: DefaultFit(),
    "m4": lambda: MixedMallowsPeer(n_fits=8, calibrated=True, name="M4, 8 fits, calibrated"),
    "m4-one": lambda: MixedMallowsPeer(name="M4, one fit"),
    "gaussian-utilities": lambda: GaussianUtilities(),
    "personal-rankings": lambda: PersonalRankings(),
    "tm": lambda: TM(),
    "tm-unrounded": lambda: TM(rounded=False, name="TM, un-rounded"),
    "mm-btl": lambda: MixedBTL(
        n_fits=8, calibrated=True, name="mixed-membership BTL, 8 fits, calibrated"
    ),
    "mixture-bt": lambda: MixtureOfBT(n_fits=8, name="mixture of BT, 8 fits"),
    "mixture-mallows": lambda: MixtureOfMallows(),
    "mixture-mallows-amp": lambda: MixtureOfRankings(),
    "mixture-btl-tensor": lambda: MixtureOfMNL(),
    "gom-pl": lambda: GradeOfMembership(),
    "sparse-choice": lambda: SparseChoice(),
    "mpm": lambda: MPM(),
    "mallows-rankings": lambda: MallowsFromRankings(),
    "top-three": lambda: TwoMallowsTopThree(),
    "mixture-pl": lambda: MixtureOfPL(),
    "low-rank": lambda: LowRank(),
    "lda": lambda: LDA(),
    "projections": lambda: Separable(
        "projections", "algorithm-3", 0.0, 0.05, name="Algorithm 1 of the paper"
    ),
    "ddp": lambda: Separable("ddp", "l2", name="DDP + RecoverL2"),
    "anchors-l2": lambda: Separable("fast-anchor-words", "l2", name="FastAnchorWords + RecoverL2"),
    "anchors-kl": lambda: Separable("fast-anchor-words", "kl", name="FastAnchorWords + RecoverKL"),
    "mallows": lambda: OneMallows(),
    "bradley-terry": lambda: BradleyTerry(),
    "borda": lambda: Borda(),
    "coin": lambda: Coin(),
    "bias": lambda: Bias(),
    "pmf": lambda: PMF(),
    "bpmf": lambda: BPMF(),
}

ON_REQUEST = frozenset({"mixture-mallows-amp", "gom-pl", "sparse-choice", "top-three"})
"""Run by `compare` only where they are named.

They are slow (MCMC), or made for one kind of data (no contradictions, no noise, two components).
"""
