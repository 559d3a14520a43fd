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

Restart = Callable[[FitState], MonteCarlo]


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


def try_restarts(state: FitState, first: Restart, restart: Restart) -> Restarts:
    """Refine several initialisations briefly, and compare them.

    Parameters
    ----------
    state : FitState
        The users.
    first : callable
        From users to a briefly refined model, from the first initialisation.
    restart : callable
        The same from another initialisation, by the seed of the state.

    Returns
    -------
    Restarts
    """
    some = some_of(state, _ENOUGH, Step.RESTART_USERS, from_times=1)
    part = replace(some, progress=None)
    models = [first(part)]
    for number in range(MOST_RESTARTS):
        models.append(restart(replace(part, seed=child_seed(part.seed, Step.RESTART, number))))
        near = [distance.max() <= _SAME for distance in _distances(models[0], models[1:])]
        if sum(near) >= _AGREEING:
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
    return np.max([np.zeros(len(found.alpha)), *_distances(found, as_good)], axis=0)


def _gains(
    state: FitState, models: list[MonteCarlo], base: MonteCarlo
) -> list[tuple[float, float]]:
    """How much better each predicts than `base`, per comparison, and the standard error."""
    sums = [
        halves_by_user(state.blocks, each.components, each.alpha, state.engine, seed=state.seed)
        for each in (base, *models)
    ]
    return [clustered_ratio(each[:, 0] - sums[0][:, 0], each[:, 1]) for each in sums[1:]]


def _distances(found: MonteCarlo, others: list[MonteCarlo]) -> list[Array]:
    """(K,) for each of the others: how differently it orders each component of `found`."""
    sigma = found.components.sigma
    return [match_components(other.components.sigma, sigma).kendall for other in others]
