"""The predictor that `fit` learns: models of different kinds, pooled.

The weights of the pool are learnt on held-out users.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mallowmix.data.labels import text_of
from mallowmix.errors import DataError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.m4 import M4
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

N_CATEGORIES = 3  # of a pair's two items the user has compared none, one or both before


@dataclass(frozen=True)
class CalibratedModel:
    """Components with the calibration that predicted best.

    Parameters
    ----------
    model : M4 or BradleyTerryModel
        The components.
    calibration : Calibration
        How their posterior is computed.
    """

    model: M4 | BradleyTerryModel
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def n_components(self) -> int:
        """K."""
        return self.model.n_components


Member: TypeAlias = CalibratedModel | UtilitiesModel | RankingsModel


def member_name(member: Member) -> str:
    """Name a member: what kind of model it is, and its number of components.

    Parameters
    ----------
    member : CalibratedModel, UtilitiesModel or RankingsModel
        The member.

    Returns
    -------
    str
    """
    if isinstance(member, UtilitiesModel):
        factors = f"{member.n_factors} factor{'s' * (member.n_factors != 1)}"
        return f"Gaussian utilities, K = {member.n_components}, {factors}"
    if isinstance(member, RankingsModel):
        return f"personal rankings, K = {member.n_components}"
    kind = "mixed membership" if isinstance(member.model, M4) else "Bradley–Terry mixed membership"
    return f"{kind}, K = {member.n_components}"


@dataclass(frozen=True, eq=False)
class Predictor:
    """A pool of models that predicts users' answers; frozen.

    The probability of a pair is Σ_j w_cj p_j, where p_j is the posterior predictive probability of
    member j given the user's comparisons, and c (0, 1 or 2) is how many of the pair's two items the
    user has compared before.

    Parameters
    ----------
    members : tuple
        Models of how consistent a person is: an `M4` with its calibration (a new draw for each
        answer), a `UtilitiesModel` (a person has utilities of their own) or a `RankingsModel` (a
        person has a ranking of their own).
    weights : (3, J) array
        The weights w, each row adding up to 1.
    evidence_weights : (3,) array
        γ: how far a user's own comparisons change the odds of the members of their own kind
        (utilities, rankings) against the mixed-membership member (`infer.member_evidence`); 0 for
        not at all.
    win_rate_draws : (S + 1, Q) array
        Win rates of the items in the population, and S draws of them over samples of users, from
        which `leaderboard` takes its intervals.
    """

    members: tuple[Member, ...]
    weights: Array
    win_rate_draws: Array | None = None
    evidence_weights: Array = field(default_factory=lambda: np.zeros(N_CATEGORIES))

    def __post_init__(self) -> None:
        members = tuple(self.members)
        weights = np.ascontiguousarray(self.weights, np.float64)
        shape = (N_CATEGORIES, len(members))
        right = weights.shape == shape and len(members) > 0 and (weights >= 0).all()
        if not right or not np.allclose(weights.sum(axis=1), 1):
            raise DataError(
                f"The weights of a predictor of {len(members)} members must have the shape "
                f"{shape}, be at least 0, and add up to 1 in each row."
            )
        evidence = np.ascontiguousarray(self.evidence_weights, np.float64)
        if evidence.shape != (N_CATEGORIES,) or not (evidence >= 0).all():
            raise DataError("The evidence weights of a predictor must be three numbers from 0 on.")
        evidence.setflags(write=False)
        object.__setattr__(self, "evidence_weights", evidence)
        weights.setflags(write=False)
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "weights", weights)

    def check_items(self, items: Array) -> None:
        """Raise a DataError unless all members are of these items, in this order."""
        for member in self.members:
            own = member.model.items if isinstance(member, CalibratedModel) else member.items
            if text_of(own) != text_of(items):
                raise DataError(
                    "The members of a predictor must be of the same items, in the same order."
                )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Predictor)
            and self.members == other.members
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.evidence_weights, other.evidence_weights)
            and np.array_equal(_or_empty(self.win_rate_draws), _or_empty(other.win_rate_draws))
        )

    __hash__ = None  # type: ignore[assignment]


def _or_empty(values: Array | None) -> Array:
    return np.empty(0) if values is None else values
