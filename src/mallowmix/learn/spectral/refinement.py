"""Refinement: Monte-Carlo EM, split and merge, and passes over all users."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mallowmix.engine import Block
from mallowmix.learn.spectral.fit_notes import halves_note, is_unstable, optima_note
from mallowmix.learn.spectral.fit_state import FitState, some_of
from mallowmix.learn.spectral.gibbs_sweep import Chain, new_chains
from mallowmix.learn.spectral.initialisation import Initialisation
from mallowmix.learn.spectral.large_data import learn_from_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.marginal_ascent import (
    ascend_marginal,
    marginal_half_distances,
    say_little,
)
from mallowmix.learn.spectral.marginal_maximum import marginal_maximum
from mallowmix.learn.spectral.monte_carlo_em import LEAST_PASSES, MonteCarlo, monte_carlo_em
from mallowmix.learn.spectral.one_ranking import refine_one_ranking
from mallowmix.learn.spectral.restarts import Restarts, optimum_distances, try_restarts
from mallowmix.learn.spectral.split_merge import split_and_merge
from mallowmix.learn.spectral.stability import half_distances
from mallowmix.learn.spectral.variational_em import (
    Variational,
    expected_counts,
    variational_em,
)
from mallowmix.model import least_beta
from mallowmix.numerics.randomness import Step
from mallowmix.typing import Array

_BRIEF = 3  # cycles to burn in (one more at most) and to average over
_FIRST_PHI = 0.8  # refinement begins with a large φ: a small one would hold the rankings fixed
_FEW_STEPS = 3  # of variational EM, before another initialisation is refined briefly
EM_STEPS = 6  # of variational EM, before an initialisation is judged or refined
_INNER = 20  # fixed-point steps from even weights, until few users look too mixed
_EARLY = 1_000_000  # comparisons for the first cycles of Monte-Carlo EM
_LEAST_AFTER = 4  # passes with all users, after those with early ones
_TOL = 0.002  # nats a position by chance: a part in 250 of what the data leave open


def early_users(state: FitState) -> FitState:
    """The users with whom refinement begins: all, or a sample of very many.

    Rankings that are nearly right stand still after few cycles with all users.

    Parameters
    ----------
    state : FitState
        All users, or those that the rankings are learnt from.
    """
    return some_of(state, _EARLY, Step.EARLY_USERS)


def refine(
    state: FitState,
    early: FitState,
    first: Variational,
    all_blocks: list[Block] | None,
    *,
    min_burn_in: int = 4,
    explore: bool = True,
    shown: bool = True,
    initialise: Callable[[FitState], Initialisation] | None = None,
) -> MonteCarlo:
    """Steps 5 and 6: Monte-Carlo EM on the direct likelihood, then passes over all users.

    Parameters
    ----------
    state : FitState
        The users.
    early : FitState
        Those of them with whom it begins (`early_users`).
    first : Variational
        Where to begin, with the weights of these.
    all_blocks : list of blocks or None
        All users, where `state` has a sample of them.
    min_burn_in : int
        Cycles of Monte-Carlo EM before averaging may begin.
    explore : bool
        Look for better local optima where components came out alike (`learn.spectral.split_merge`).
    shown : bool
        As in `fit_spectral`.
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
        first, tried = _best_start(early, first, initialise)
        if tried.best:
            state.trace = replace(state.trace, initialisation="people")
    outcome = _ascend(state, early, first, min_burn_in)
    if explore and len(first.alpha) > 2:
        outcome, scores = split_and_merge(
            state.blocks,
            outcome,
            lambda c, a: _ascend(state, early, _steps(early, c, a)),
            state.engine,
            seed=state.seed,
        )
        state.trace = replace(state.trace, predicted_halves=tuple(scores))
    little, before = say_little(state.blocks), outcome
    if little:
        outcome = ascend_marginal(
            state.blocks, outcome, state.engine, seed=state.seed, progress=state.progress
        )
    state.trace = replace(state.trace, moved=tuple(outcome.moved))
    if all_blocks is None:
        outcome = _at_maximum(state, outcome, fine=shown)
        if not shown:
            return outcome
        distances = _half_distances(state, outcome, little)
    else:
        outcome, distances = learn_from_all_users(
            all_blocks,
            state.blocks,
            outcome,
            state.engine,
            marginal=outcome is not before,  # as rankings of the sample were found
            seed=state.seed,
            progress=state.progress,
        )
        state.trace = replace(state.trace, moved_by_all=tuple(outcome.moved))
    others = 0 * distances if tried is None else optimum_distances(outcome, tried)
    _note_unstable(state, outcome, distances, others)
    return outcome


def _at_maximum(state: FitState, outcome: MonteCarlo, *, fine: bool) -> MonteCarlo:
    """The same rankings, with φ and α at the maximum of the marginal likelihood."""
    found = marginal_maximum(
        outcome.components, outcome.alpha, state.blocks, state.engine, seed=state.seed, fine=fine
    )
    state.trace = replace(state.trace, score_distances=found.distances)
    return outcome._replace(components=found.components, alpha=found.alpha)


def _half_distances(state: FitState, outcome: MonteCarlo, little: bool) -> Array:
    if little:
        return marginal_half_distances(state.blocks, outcome, state.engine, seed=state.seed)
    theta = [chain.theta for chain in outcome.chains]
    return half_distances(state.blocks, outcome.components, theta, state.engine)


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
        lambda part: refine_briefly(part, _steps(part, first.components, first.alpha, _FEW_STEPS)),
        lambda part: refine_briefly(part, first_steps(part, initialise(part), _FEW_STEPS)),
    )
    if tried.best:
        best = tried.models[tried.best]
        first = _steps(state, best.components, best.alpha)
    return first, tried


def refine_briefly(state: FitState, first: Variational) -> MonteCarlo:
    """A few cycles of Monte-Carlo EM: enough to compare models by.

    Parameters
    ----------
    state, first
        As in `refine`.
    """
    if len(first.alpha) == 1:
        return refine_one_ranking(state.blocks, first.components, first.alpha, state.engine)[0]
    return monte_carlo_em(
        state.blocks,
        first.components,
        first.alpha,
        _chains(state, first),
        state.engine,
        min_burn_in=_BRIEF,
        max_burn_in=_BRIEF + 1,
        min_average=_BRIEF,
        max_average=_BRIEF,
        seed=state.seed,
        progress=state.progress,
    )


def _ascend(
    state: FitState, early: FitState, first: Variational, min_burn_in: int = 4
) -> MonteCarlo:
    """Monte-Carlo EM with the early users, then with all."""
    found = _cycles(early, first, min_burn_in)
    if early is state:
        return found
    outcome = _cycles(state, _with_weights(state, found), 1, least_passes=_LEAST_AFTER)
    return outcome._replace(moved=[*found.moved, *outcome.moved])


def _cycles(
    state: FitState, first: Variational, min_burn_in: int, least_passes: int = LEAST_PASSES
) -> MonteCarlo:
    return monte_carlo_em(
        state.blocks,
        first.components,
        first.alpha,
        _chains(state, first),
        state.engine,
        min_burn_in=min_burn_in,
        tol=_TOL,
        least_passes=least_passes,
        seed=state.seed,
        progress=state.progress,
    )


def _chains(state: FitState, first: Variational) -> list[Chain]:
    """Chains that begin at the weights of variational EM."""
    theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in first.gamma]
    return new_chains(state.blocks, theta)


def _with_weights(state: FitState, found: MonteCarlo) -> Variational:
    """The same components and prior, with the weights of these users."""
    table = beta_table(found.components, least_beta.EXPECTED_COUNTS)
    _, gamma = expected_counts(state.blocks, table, found.alpha, state.engine, inner=_INNER)
    return Variational(found.components, found.alpha, gamma, [])


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
    components = MallowsComponents(first.components.sigma, np.full(len(first.alpha), _FIRST_PHI))
    return _steps(state, components, first.alpha / first.alpha.sum(), n_iter)


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
