"""Refinement: Monte-Carlo EM, split and merge, and passes over all users."""

from dataclasses import replace

import numpy as np

from mallowmix.engine import Block
from mallowmix.learn.spectral.fit_notes import halves_note
from mallowmix.learn.spectral.fit_state import FitState
from mallowmix.learn.spectral.gibbs_sweep import new_chains
from mallowmix.learn.spectral.large_data import learn_from_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, monte_carlo_em
from mallowmix.learn.spectral.split_merge import split_and_merge
from mallowmix.learn.spectral.stability import half_distances
from mallowmix.learn.spectral.variational_em import Variational, variational_em
from mallowmix.typing import Array

_BRIEF = {"min_burn_in": 3, "max_burn_in": 4, "min_average": 3, "max_average": 3}  # cycles
EM_STEPS = 6  # of variational EM, before an initialisation is judged or refined


def refine(
    state: FitState,
    first: Variational,
    all_blocks: list[Block] | None,
    *,
    min_burn_in: int = 4,
    explore: bool = True,
) -> MonteCarlo:
    """Steps 5 and 6: Monte-Carlo EM on the direct likelihood, then passes over all users.

    Parameters
    ----------
    state : FitState
        The users.
    first : Variational
        Where to begin.
    all_blocks : list of blocks or None
        All users, where `state` has a sample of them.
    min_burn_in : int
        Cycles of Monte-Carlo EM before averaging may begin.
    explore : bool
        Look for better local optima where components came out alike (`learn.spectral.split_merge`).

    Returns
    -------
    MonteCarlo
        The refined components and prior.
    """
    outcome = _ascend(state, first, min_burn_in)
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
    _note_halves(state, outcome, distances)
    return outcome


def refine_briefly(state: FitState, first: Variational) -> MonteCarlo:
    """A few cycles of Monte-Carlo EM: enough to compare models by.

    Parameters
    ----------
    state, first
        As in `refine`.
    """
    return _ascend(state, first, **_BRIEF)


def _ascend(state: FitState, first: Variational, min_burn_in: int = 4, **cycles: int) -> MonteCarlo:
    theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in first.gamma]
    return monte_carlo_em(
        state.blocks,
        first.components,
        first.alpha,
        new_chains(state.blocks, theta),
        state.engine,
        min_burn_in=min_burn_in,
        seed=state.seed,
        progress=state.progress,
        **cycles,
    )


def _ascend_anew(state: FitState, components: MallowsComponents, alpha: Array) -> MonteCarlo:
    return _ascend(
        state, variational_em(state.blocks, components, alpha, state.engine, n_iter=EM_STEPS)
    )


def _note_halves(state: FitState, outcome: MonteCarlo, distances: Array) -> None:
    """Note the rankings that two halves of the users would put in different orders."""
    ordered = distances[np.argsort(-outcome.alpha, kind="stable")]
    state.trace = replace(state.trace, half_distances=tuple(ordered.tolist()))
    note = halves_note(ordered)
    state.notes += [note] if note else []
