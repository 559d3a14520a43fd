"""Draws of a user's state under each member of a model's predictor, with the members' weights.

A model without a predictor has one member: its components, with their calibration.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.infer.gibbs_draws import draw
from mallowmix.infer.member_evidence import user_weights
from mallowmix.infer.prepared_model import PreparedModel, prepare, prepare_components
from mallowmix.infer.rankings_posterior import ranking_draws
from mallowmix.infer.state_draws import (
    Codes,
    Moments,
    RankingDraws,
    StateDraws,
    UtilityDraws,
    WeightDraws,
)
from mallowmix.infer.utilities_posterior import utility_draws
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.predictor import N_CATEGORIES, CalibratedModel, Predictor
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

_LEAST_DRAWS = 2  # of a member


class PreparedComponents(NamedTuple):
    """Components with their calibration, and their probabilities in single precision."""

    prepared: PreparedModel
    narrow: NDArray[np.float32]


PreparedMember = PreparedComponents | UtilitiesModel | RankingsModel


class PreparedPool(NamedTuple):
    """Members from whose posteriors states are drawn.

    Attributes
    ----------
    members : tuple
        The members.
    weights : (3, J) array
        The weights of the members, as in `Predictor`.
    predictor : Predictor, optional
        By which the weights depend on the user.
    """

    members: tuple[PreparedMember, ...]
    weights: Array
    predictor: Predictor | None = None


class PoolStates(NamedTuple):
    """Draws of one user's state.

    Attributes
    ----------
    states : tuple
        Draws under each member.
    weights : (3, J) array
        The weights of the members, as in `Predictor`.
    known : (Q,) array of int
        1 for items that the user has compared before, else 0.
    """

    states: tuple[StateDraws, ...]
    weights: Array
    known: NDArray[np.int64]

    def thinned(self, step: int) -> "PoolStates":
        """One draw in `step`."""
        return self._replace(states=tuple(each.thinned(step) for each in self.states))

    def moments(self, codes: Codes, *, rough: bool = False) -> Moments:
        """(P,) the means of p and of H(p) over members, by their weights, and draws."""
        parts = [
            each.rough_moments(codes) if rough else each.moments(codes) for each in self.states
        ]
        if len(parts) == 1:
            return parts[0]
        Q = len(self.known)
        weights = self.weights[self.known[codes // Q] + self.known[codes % Q]].T  # (J, P)
        mean, rest = (np.sum(weights * np.array(each), axis=0) for each in zip(*parts, strict=True))
        return mean, rest


def prepare_pool(model: ComponentModel) -> PreparedPool:
    """Make the predictor of a model, or its components, ready to draw from.

    Parameters
    ----------
    model : FittedModel or M4
        The model.

    Returns
    -------
    PreparedPool
    """
    predictor = model.predictor if isinstance(model, FittedModel) else None
    if predictor is None:
        return PreparedPool((_components(prepare(model)),), np.ones((N_CATEGORIES, 1)))
    members = tuple(
        _components(prepare_components(member.model, member.calibration))
        if isinstance(member, CalibratedModel)
        else member
        for member in predictor.members
    )
    return PreparedPool(members, predictor.weights, predictor)


def _components(prepared: PreparedModel) -> PreparedComponents:
    return PreparedComponents(prepared, prepared.beta.astype(np.float32))


def draw_states(block: Block, pool: PreparedPool, n_draws: int, seed: int) -> PoolStates:
    """Draw the state of a user from the posterior.

    Parameters
    ----------
    block : Block
        The comparisons of one user.
    pool : PreparedPool
        Each member gives draws in proportion to its weight, and two at least.
    n_draws : int
        About how many draws.
    seed : int
        Of the draws.

    Returns
    -------
    PoolStates
    """
    weights = pool.weights if pool.predictor is None else user_weights(block, pool.predictor)[0]
    counts = draw_counts(weights, n_draws)
    states = tuple(
        _member_states(block, member, int(n), seed)
        for member, n in zip(pool.members, counts, strict=True)
    )
    known = np.zeros(block.n_items, np.int64)
    for item in np.divmod(block.pair[block.weight > 0], block.n_items):
        known[item] = 1
    return PoolStates(states, weights, known)


def draw_counts(weights: Array, n_draws: int) -> NDArray[np.int64]:
    """(J,) how many of about `n_draws` draws each member gives, by its weights (3, J)."""
    share = weights.mean(axis=0)
    return np.maximum(np.round(share * n_draws), _LEAST_DRAWS).astype(np.int64)


def _member_states(block: Block, member: PreparedMember, n_draws: int, seed: int) -> StateDraws:
    if isinstance(member, UtilitiesModel):
        return UtilityDraws(utility_draws(block, member, n_draws, seed=seed)[0])
    if isinstance(member, RankingsModel):
        found = ranking_draws(block, member, n_draws, seed=seed)[0]
        return RankingDraws(found, member.error_rate)
    theta = draw(block, member.prepared, n_draws, as_key(seed))[0]
    return WeightDraws(theta, member.prepared.beta, member.narrow)
