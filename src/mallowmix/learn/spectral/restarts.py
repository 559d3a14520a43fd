"""Other local optima: briefly refined models from other initialisations.

Each is judged by how well one half of users' comparisons predicts the other, on a sample of large
data; where one is clearly better than the first, the fit goes on from there. Where one predicts as
well as the fitted model and orders a component differently, that component is unstable. (The
variational bound is no judge here: on ballots the better optimum has the lower bound.)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mallowmix.learn.spectral.fit_state import FitState, some_of
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.split_merge import MOVE_GAIN, halves_by_user
from mallowmix.model.permutations import match_components
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array

MOST_RESTARTS = 6
_AGREEING = 2  # restarts that end where the model is: then no more are needed
_SAME = 0.05  # fraction of pairs: models that differ by less are at the same optimum
_ENOUGH = 60_000  # comparisons that other initialisations are tried on
_CLEAR = 2.0  # standard errors by which another model must be better, or worse

First = Callable[[FitState], MonteCarlo]
Restart = Callable[[FitState, Callable[[MallowsComponents], bool]], MonteCarlo]


class Restarts(NamedTuple):
    """Models from several initialisations.

    Attributes
    ----------
    part : FitState
        The users that they were learnt from.
    models : list of MonteCarlo
        From the first initialisation, then from others.
    best : int
        The number of the one to go on from; 0 unless another is clearly better than the first.
    """

    part: FitState
    models: list[MonteCarlo]
    best: int


def try_restarts(state: FitState, first: First, restart: Restart) -> Restarts:
    """Refine several initialisations briefly, and compare them.

    One that comes to the rankings of the first is at the same optimum, and needs no more cycles.

    Parameters
    ----------
    state : FitState
        The users.
    first : callable
        From users to a briefly refined model, from the first initialisation.
    restart : callable
        The same from another initialisation, by the seed of the state; until components are the
        same as those of the first.

    Returns
    -------
    Restarts
    """
    some = some_of(state, _ENOUGH, Step.RESTART_USERS, from_times=1)
    part = replace(some, progress=None)
    models, n_same = [first(part)], 0

    def same(components: MallowsComponents) -> bool:
        return bool(_distance(models[0].components, components).max() <= _SAME)

    for number in range(MOST_RESTARTS):
        seed = child_seed(part.seed, Step.RESTART, number)
        models.append(restart(replace(part, seed=seed), same))
        n_same += same(models[-1].components)
        if n_same >= _AGREEING:
            break
    gains = _gains(part, models[1:], models[0])
    best = int(np.argmax([gain for gain, _ in gains]))
    gain, error = gains[best]
    return Restarts(part, models, best + 1 if gain > max(_CLEAR * error, MOVE_GAIN) else 0)


def optimum_distances(found: MonteCarlo, tried: Restarts) -> Array:
    """(K,) how differently models that predict as well order each component of `found`.

    Parameters
    ----------
    found : MonteCarlo
        The fitted model.
    tried : Restarts
        Models from other initialisations.
    """
    gains = _gains(tried.part, tried.models, found)
    as_good = [
        model
        for model, (gain, error) in zip(tried.models, gains, strict=True)
        if gain >= -_CLEAR * error
    ]
    distances = (_distance(found.components, model.components) for model in as_good)
    return np.max([np.zeros(len(found.alpha)), *distances], axis=0)


def _gains(
    state: FitState, models: list[MonteCarlo], base: MonteCarlo
) -> list[tuple[float, float]]:
    """How much better each predicts than `base`, per comparison, and the standard error."""
    sums = [
        halves_by_user(state.blocks, each.components, each.alpha, state.engine, seed=state.seed)
        for each in (base, *models)
    ]
    return [clustered_ratio(each[:, 0] - sums[0][:, 0], each[:, 1]) for each in sums[1:]]


def _distance(found: MallowsComponents, other: MallowsComponents) -> Array:
    """(K,) how differently the other ones order each component that was found."""
    return match_components(other.sigma, found.sigma).kendall
