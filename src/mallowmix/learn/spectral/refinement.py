"""Refinement: Monte-Carlo EM, split and merge, and passes over all users."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mallowmix.engine import Block
from mallowmix.learn.spectral.fit_notes import halves_note, is_unstable, optima_note
from mallowmix.learn.spectral.fit_state import FitState, part_of_users
from mallowmix.learn.spectral.gibbs_sweep import new_chains
from mallowmix.learn.spectral.initialisation import Initialisation
from mallowmix.learn.spectral.large_data import learn_from_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, monte_carlo_em
from mallowmix.learn.spectral.one_ranking import refine_one_ranking
from mallowmix.learn.spectral.restarts import Restarts, optimum_distances, try_restarts
from mallowmix.learn.spectral.split_merge import split_and_merge
from mallowmix.learn.spectral.stability import half_distances
from mallowmix.learn.spectral.variational_em import Variational, variational_em
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array

_BRIEF_CYCLES: dict[str, Any] = {
    "min_burn_in": 2,
    "max_burn_in": 3,
    "min_average": 2,
    "max_average": 2,
}
_EARLY = 250_000  # comparisons that the first steps are taken on, where there are twice as many
_EARLY_CYCLES = 2  # of Monte-Carlo EM on them: more would fit rankings to too few users
_FIRST_PHI = 0.8  # refinement begins with a large φ: a small one would hold the rankings fixed
FEW_STEPS = 3  # of variational EM, before an initialisation is judged
EM_STEPS = 6  # before it is refined
_INNER = 16  # fixed-point steps of users who were not among the first


def refine(
    state: FitState,
    first: Variational,
    all_blocks: list[Block] | None,
    *,
    explore: bool = True,
    initialise: Callable[[FitState], Initialisation] | None = None,
) -> MonteCarlo:
    """Steps 5 and 6: Monte-Carlo EM on the direct likelihood, then passes over all users.

    Parameters
    ----------
    state : FitState
        The users.
    first : Variational
        Where to begin, with the weights of `early_users`.
    all_blocks : list of blocks or None
        All users, where `state` has a sample of them.
    explore : bool
        Look for better local optima where components came out alike (`learn.spectral.split_merge`).
    initialise : callable, optional
        Another initialisation for users, by the seed of their state: then other local optima are
        looked for (`learn.spectral.restarts`).

    Returns
    -------
    MonteCarlo
        The refined components and prior.
    """
    if len(first.alpha) == 1:
        return _refine_one(state, first, state.blocks if all_blocks is None else all_blocks)
    tried = None
    if initialise is not None:
        first, tried = _best_start(state, first, initialise)
    outcome = _ascend(state, first)
    if explore and len(first.alpha) > 2:
        outcome, scores = split_and_merge(
            state.blocks,
            outcome,
            lambda c, a: _ascend_anew(state, c, a),
            state.engine,
            seed=state.seed,
        )
        state.trace = replace(state.trace, predicted_halves=tuple(scores))
    state.trace = replace(state.trace, moved=tuple(outcome.moved))
    if all_blocks is None:
        theta = [chain.theta for chain in outcome.chains]
        distances = half_distances(state.blocks, outcome.components, theta, state.engine)
    else:
        outcome, distances = learn_from_all_users(
            all_blocks,
            state.blocks,
            outcome,
            state.engine,
            seed=state.seed,
            progress=state.progress,
        )
        state.trace = replace(state.trace, moved_by_all=tuple(outcome.moved))
    others = 0 * distances if tried is None else optimum_distances(outcome, tried)
    _note_unstable(state, outcome, distances, others)
    return outcome


def early_users(state: FitState) -> FitState:
    """A part of many users: the first steps need no more, and their end is moved by all.

    Parameters
    ----------
    state : FitState
        The users.
    """
    return part_of_users(state, _EARLY, Step.EARLY_USERS, least=2 * _EARLY)


def _refine_one(state: FitState, first: Variational, blocks: list[Block]) -> MonteCarlo:
    outcome, distances = refine_one_ranking(blocks, first.components, first.alpha, state.engine)
    state.trace = replace(state.trace, moved=tuple(outcome.moved))
    _note_unstable(state, outcome, distances, 0 * distances)
    return outcome


def _best_start(
    state: FitState, first: Variational, initialise: Callable[[FitState], Initialisation]
) -> tuple[Variational, Restarts]:
    """Where to begin: the first initialisation, or another one that is clearly better."""
    tried = try_restarts(
        state,
        lambda part: _roughly(part, _steps(part, first.components, first.alpha, FEW_STEPS)),
        lambda part: _roughly(part, first_steps(part, initialise(part), FEW_STEPS)),
        _further,
    )
    if tried.best:
        best = tried.models[tried.best]
        first = _steps(early_users(state), best.components, best.alpha)
        state.trace = replace(state.trace, initialisation="people")
    return first, tried


def _roughly(state: FitState, first: Variational) -> MonteCarlo:
    """One cycle of Monte-Carlo EM: enough to see whether models agree."""
    return _monte_carlo(state, first, max_burn_in=1, max_average=0)


def _further(state: FitState, rough: MonteCarlo) -> MonteCarlo:
    """The same model refined briefly: enough to compare models by."""
    return monte_carlo_em(
        state.blocks,
        *rough[:3],
        state.engine,
        **_BRIEF_CYCLES,
        seed=child_seed(state.seed, Step.RESTART_END),
    )


def refine_briefly(state: FitState, first: Variational) -> MonteCarlo:
    """A few cycles of Monte-Carlo EM: enough to compare models by.

    Parameters
    ----------
    state : FitState
        The users.
    first : Variational
        Where to begin, with the weights of these users.
    """
    if len(first.alpha) == 1:
        return refine_one_ranking(state.blocks, first.components, first.alpha, state.engine)[0]
    return _monte_carlo(state, first, **_BRIEF_CYCLES)


def _ascend(state: FitState, first: Variational) -> MonteCarlo:
    """Monte-Carlo EM: burn-in on a part of many users, then all of them."""
    early = early_users(state)
    if early is not state:
        burnt_in = _monte_carlo(early, first, max_burn_in=_EARLY_CYCLES, max_average=0)
        components, alpha = burnt_in.components, burnt_in.alpha
        # the weights of all users; the components that come with them are not needed
        weights = variational_em(
            state.blocks, components, alpha, state.engine, n_iter=1, inner=_INNER
        )
        first = weights._replace(components=components)
    return _monte_carlo(state, first)


def _monte_carlo(state: FitState, first: Variational, **cycles: Any) -> MonteCarlo:
    """Monte-Carlo EM whose chains begin at the weights of variational EM."""
    theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in first.gamma]
    return monte_carlo_em(
        state.blocks,
        first.components,
        first.alpha,
        new_chains(state.blocks, theta),
        state.engine,
        **cycles,
        seed=state.seed,
        progress=state.progress,
    )


def _ascend_anew(state: FitState, components: MallowsComponents, alpha: Array) -> MonteCarlo:
    return _ascend(state, _steps(early_users(state), components, alpha))


def _steps(
    state: FitState, components: MallowsComponents, alpha: Array, n_iter: int = EM_STEPS
) -> Variational:
    return variational_em(state.blocks, components, alpha, state.engine, n_iter=n_iter)


def first_steps(state: FitState, first: Initialisation, n_iter: int = EM_STEPS) -> Variational:
    """A few steps of variational EM from an initialisation.

    Parameters
    ----------
    state : FitState
        The users.
    first : Initialisation
        Where to begin.
    n_iter : int
        How many steps.
    """
    components, K = first.components, len(first.alpha)
    if K > 1:
        components = MallowsComponents(components.sigma, np.full(K, _FIRST_PHI))
    return _steps(state, components, first.alpha / first.alpha.sum(), n_iter)


def further_steps(state: FitState, found: Variational, n_iter: int) -> Variational:
    """More steps of variational EM.

    Parameters
    ----------
    state : FitState
        The users.
    found : Variational
        After the steps before, with the weights of these users.
    n_iter : int
        How many steps.
    """
    more = variational_em(state.blocks, *found[:2], state.engine, n_iter=n_iter, gamma=found.gamma)
    return more._replace(elbo=found.elbo + more.elbo)


def _note_unstable(state: FitState, outcome: MonteCarlo, halves: Array, others: Array) -> None:
    """Note the rankings that two halves of the users, or other optima, put in other orders."""
    order = np.argsort(-outcome.alpha, kind="stable")
    halves, others = halves[order], others[order]
    state.trace = replace(
        state.trace,
        half_distances=tuple(halves.tolist()),
        optimum_distances=tuple(others.tolist()),
    )
    state.unstable = tuple((np.flatnonzero(is_unstable(halves, others)) + 1).tolist())
    state.notes += [note for note in (halves_note(halves), optima_note(others)) if note]
