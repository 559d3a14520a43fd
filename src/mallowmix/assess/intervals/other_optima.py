"""Unstable components: models of other people from other initialisations stand for replicates.

A bootstrap begins at the model and stays at its optimum. Where another optimum predicts as well, or
two halves of the people give different rankings, its intervals are too narrow: they say how sure a
component is, given that it is the right one. So the components are learnt anew, with people
weighted by exponential random numbers and from another initialisation each time, refined briefly,
and matched to those of the model. Rankings that were chosen to fit these weights make φ too small,
so φ and α take a Newton step to the maximum for other weights, drawn independently. The model
itself is one more such draw. With n draws in all, a model that somebody else learns lies between
the smallest and the largest with (n − 1) / (n + 1).
"""

import dataclasses
import math
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.intervals.replicates import Replicates, many, replicate_weights
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.learn.spectral.estimator import fit_briefly
from mallowmix.learn.spectral.user_scores import newton_step, phi_and_share, smooth_at
from mallowmix.model.fitted_model import AnyModel, FittedModel
from mallowmix.model.permutations import match_components
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array

_LEAST = 19  # draws, whatever the level: a median of fewer says little
_SWEEPS = 10  # behind a score: over thousands of people their noise is small beside v's


def number_of_draws(level: float, n_replicates: int) -> int:
    """How many draws, with the model, are needed so that their range holds a model at the level.

    Parameters
    ----------
    level : float
        (n − 1) / (n + 1) is at least this.
    n_replicates : int
        The most.

    Examples
    --------
    >>> from mallowmix.assess.intervals.other_optima import number_of_draws
    >>> number_of_draws(0.9, 100), number_of_draws(0.95, 100), number_of_draws(0.99, 100)
    (19, 39, 100)
    """
    needed = math.ceil((1 + level) / (1 - level) - 1e-9)
    return min(max(needed, _LEAST), n_replicates)


def other_optima(
    model: AnyModel,
    parts: list[Comparisons],
    n_draws: int,
    *,
    seed: int,
    n_jobs: int,
    advance: Callable[[], None],
) -> Replicates:
    """Learn the components anew, again and again.

    Parameters
    ----------
    model : AnyModel
        The first draw, and what the components of the others are matched to.
    parts : list of Comparisons
        All people, or samples of many, which take turns.
    n_draws : int
        With the model.
    seed, n_jobs : int
    advance : callable
        Called after each model.

    Returns
    -------
    Replicates
        Of `n_draws` models.
    """
    parts = [part.with_items(model.items) for part in parts]
    base = child_seed(seed, Step.REPLICATE)  # not the initialisations that the fit has tried

    def one(r: int) -> tuple[NDArray[np.int32], Array, Array]:
        part, own = parts[r % len(parts)], child_seed(base, Step.RESTART, r)
        u, v = replicate_weights(2, part.n_users, seed=own)
        found = _learn(part, u, model.n_components, own)
        phi, share = _stepped(found, part, v, own)
        order = match_components(found.sigma, model.sigma).found
        return found.sigma[order], phi[order], share[order]

    draws = [(model.sigma, model.phi, model.share), *many(one, range(n_draws - 1), n_jobs, advance)]
    return Replicates(*(np.array(values) for values in zip(*draws, strict=True)))


def _learn(part: Comparisons, u: Array, K: int, seed: int) -> FittedModel:
    weighted = dataclasses.replace(part, user_weight=part.user_weight * u)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)  # said of all people already
        return fit_briefly(weighted, K, seed=seed, engine=ThreadEngine(1))


def _stepped(model: FittedModel, part: Comparisons, v: Array, seed: int) -> tuple[Array, Array]:
    """(K,) φ and shares after a Newton step for people weighted by v."""
    blocks, engine = make_blocks(part), ThreadEngine(1)
    at = smooth_at(model.sigma, model.phi, model.alpha, blocks, engine, sweeps=_SWEEPS, seed=seed)
    phi, share = phi_and_share(newton_step(at, (part.user_weight * v) @ at.scores)[None])
    return phi[0], share[0]


def with_other_optima(
    draws: Replicates | None, others: Replicates, unstable: list[int], n_replicates: int
) -> Replicates:
    """Put draws of other optima, each as often as the others, in place of unstable components.

    Parameters
    ----------
    draws : Replicates, optional
        Of the stable components; None where there are none.
    others : Replicates
        From `other_optima`.
    unstable : list of int
        The components, from 0.
    n_replicates : int
        R of the result.
    """
    rows = np.arange(n_replicates) % len(others.phi)
    repeated = Replicates(others.sigma[rows], others.phi[rows], others.share[rows])
    if draws is None:
        return repeated
    mixed = Replicates(draws.sigma.copy(), draws.phi.copy(), draws.share.copy())
    for values, other in zip(mixed, repeated, strict=True):
        values[:, unstable] = other[:, unstable]
    share = mixed.share / mixed.share.sum(axis=1, keepdims=True)  # of two kinds of models
    return mixed._replace(share=share)
