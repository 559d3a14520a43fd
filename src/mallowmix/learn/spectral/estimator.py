"""The default estimator: spectral initialisations, the better of them refined by Monte-Carlo EM."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.parallel import begun
from mallowmix.errors import FitError, Option
from mallowmix.learn.spectral.fit_notes import extreme_notes, spectrum_note
from mallowmix.learn.spectral.fit_state import FitState, new_fit_state, some_of
from mallowmix.learn.spectral.initialisation import (
    Initialisation,
    embed_pairs,
    initialise_from_pairs,
    initialise_from_users,
)
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.number_of_components import noise_edge
from mallowmix.learn.spectral.refinement import (
    early_users,
    first_steps,
    refine,
    refine_briefly,
)
from mallowmix.learn.spectral.signed_moment import (
    SignedMoment,
    count_pairs,
    leading_subspace,
)
from mallowmix.learn.spectral.subspace import Subspace
from mallowmix.learn.spectral.variational_em import Variational
from mallowmix.model.dispersion import phi_of_counts
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.kemeny import borda_order, insertion_search
from mallowmix.numerics.randomness import Step
from mallowmix.typing import Array, Progress

_EXTRA = 8  # vectors of the subspace beyond the rank that is needed
_ENOUGH_TO_JUDGE = 100_000  # comparisons by which initialisations are compared


def fit_spectral(
    comparisons: Comparisons | StoredComparisons,
    n_components: int,
    options: SpectralOptions | None = None,
    *,
    chosen: bool = False,
    shown: bool = True,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> FittedModel:
    """Learn an M4 near the statistical limit.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        What users preferred.
    n_components : int
        K.
    options : SpectralOptions
        How far to refine, and how corners are found.
    chosen : bool
        Whether K was chosen by predictions: then the spectrum has nothing to say about it.
    shown : bool
        Whether people will look at it. Then other initialisations are tried
        (`learn.spectral.restarts`), φ and α are taken to the maximum itself, and components that
        are unstable are looked for. A model that only predicts, for a fold, does without.
    seed, engine, progress
        As in `fit`.

    Returns
    -------
    FittedModel
        Components in the order of their shares, and a report of the steps.

    Raises
    ------
    FitError
        For more components than pairs of items can distinguish.
    """
    settings, run = options or SpectralOptions(), engine or ThreadEngine()
    all_blocks = make_blocks(comparisons, n_jobs=run.n_jobs)
    state = new_fit_state(comparisons, all_blocks, run, seed, progress)
    sampled = state.trace.sampled_share < 1
    K = _checked_count(state, n_components)
    both = settings.refine != "none"
    early = early_users(state)
    # the comparisons of rankings depend on each other: their spectrum only bounds the number
    dependent = any(block.ranking_id is not None for block in state.blocks)
    edge = None
    if shown and K > 1 and settings.refine == "full" and not (chosen or dependent):
        of_noise = partial(noise_edge, state.blocks, state.pairs, run, seed=seed)
        edge = begun(of_noise, run.n_jobs)
    first, other = _initialise(state, early, K, settings.corners, both=both)
    if settings.refine == "none":
        return as_model(first.components, first.alpha, comparisons, state, settings)
    if settings.refine == "short" and K > 1:  # one ranking is one search
        best = _better(state, first, other)
        return as_model(best.components, best.alpha, comparisons, state, settings)
    best = _better(early, first, other)
    state.trace = early.trace
    n_notes = len(state.notes)
    outcome = refine(
        state,
        early,
        best,
        all_blocks if sampled else None,
        shown=shown,
        initialise=partial(_initialise_anew, rank=K - 1) if shown else None,
    )
    if edge is not None:
        state.notes[n_notes:n_notes] = _spectrum_notes(state, K, edge())
    return as_model(outcome.components, outcome.alpha, comparisons, state, settings)


def fit_briefly(
    comparisons: Comparisons, n_components: int, *, seed: int, engine: Engine
) -> FittedModel:
    """Learn an M4 by a few cycles of Monte-Carlo EM, to compare numbers of components by.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred, in memory.
    n_components, seed, engine
        As in `fit_spectral`.

    Returns
    -------
    FittedModel
    """
    state = new_fit_state(comparisons, make_blocks(comparisons), engine, seed, None)
    K = _checked_count(state, n_components)
    outcome = refine_briefly(state, _better(state, *_initialise(state, state, K, "spa", both=True)))
    return as_model(outcome.components, outcome.alpha, comparisons, state, SpectralOptions())


def _checked_count(state: FitState, n_components: int) -> int:
    n_pairs = len(state.pairs.share)
    if n_components - 1 > n_pairs:
        raise FitError(
            f"{state.n_items} items make {n_pairs} pairs, which cannot distinguish {n_components} "
            "components: lower ",
            Option("n_components"),
            f" to at most {n_pairs + 1}.",
        )
    return n_components


def _initialise(
    state: FitState, early: FitState, K: int, corners: str, *, both: bool
) -> tuple[Initialisation, Callable[[], Initialisation]]:
    """Steps 1 to 3: the subspace, the initialisation from pairs, and what finds that from users."""
    if K == 1:
        single = _single(state)
        return single, lambda: single
    state.show("spectrum", 0, 1)
    start = None if early is state else _subspace(early, K).vectors
    subspace = state.subspace = early.subspace = _subspace(state, K, start)
    state.trace = replace(
        state.trace, spectrum=tuple(subspace.values.tolist()), subspace_passes=subspace.passes
    )
    if not (subspace.converged or both):  # refinement has a better test of its own: `_note_halves`
        state.notes.append(
            "The leading eigenvectors had not converged after the last pass: the data may not show "
            "this many components."
        )
    embedding = embed_pairs(subspace, state.pairs, K - 1)
    first = initialise_from_pairs(
        embedding, state.pairs, state.n_items, corners=corners, seed=state.seed
    )
    state.show("spectrum", 1, 1)
    early.trace = state.trace
    return first, partial(_initialise_anew, state, K - 1)


def _subspace(state: FitState, K: int, start: Array | None = None) -> Subspace:
    A = SignedMoment(state.blocks, state.pairs, state.engine)
    return leading_subspace(A, K - 1, extra=_EXTRA, seed=state.seed, start=start)


def _single(state: FitState) -> Initialisation:
    """One ranking for all: its items by wins, then insertion search."""
    Q = state.n_items
    wins = count_pairs(state.blocks, state.engine).reshape(Q, Q)
    sigma = sigma_of(insertion_search(wins, borda_order(wins)))
    components = MallowsComponents(sigma[None], np.array([phi_of_counts(wins, sigma)]))
    return Initialisation("wins", components, np.ones(1))


def _better(
    state: FitState, first: Initialisation, other: Callable[[], Initialisation]
) -> Variational:
    """Step 4: a few steps of variational EM from each; the outcome with the higher bound (ELBO).

    Of many users some compare the two, and the better one takes its steps with all of them. The
    first takes steps while the other is still being found. One ranking for all has one
    initialisation, and no weights for such steps to find.
    """
    if len(first.alpha) == 1:
        state.trace = replace(state.trace, initialisation=first.name)
        return Variational(first.components, first.alpha, [], [])
    judges = some_of(state, _ENOUGH_TO_JUDGE, Step.FIRST_STEPS_USERS)
    steps = begun(partial(first_steps, judges, first), state.engine.n_jobs)
    tried = [first, other()]
    from_other = begun(partial(first_steps, judges, tried[1]), state.engine.n_jobs)
    outcomes = [steps()]
    state.show("initialisations", 1, 2)
    outcomes.append(from_other())
    state.show("initialisations", 2, 2)
    best = int(np.argmax([outcome.elbo[-1] for outcome in outcomes]))
    bounds = tuple((each.name, tuple(out.elbo)) for each, out in zip(tried, outcomes, strict=True))
    state.trace = replace(state.trace, initialisation=tried[best].name, elbo=bounds)
    return outcomes[best] if judges is state else first_steps(state, tried[best])


def _initialise_anew(state: FitState, rank: int) -> Initialisation:
    """Another clustering of the users, by the seed of their state."""
    assert state.subspace is not None
    return initialise_from_users(
        state.blocks, state.subspace, state.pairs, rank, state.engine, seed=state.seed
    )


def _spectrum_notes(state: FitState, K: int, edge: float) -> list[str]:
    """Whether the spectrum shows another number of components."""
    state.trace = replace(state.trace, noise_edge=edge)
    note = spectrum_note(np.array(state.trace.spectrum), edge, K)
    return [note] if note else []


def by_share(alpha: Array) -> NDArray[np.intp]:
    """(K,) the order that components take in a model: the largest share first."""
    return np.argsort(-alpha, kind="stable")


def as_model(
    components: MallowsComponents,
    alpha: Array,
    comparisons: Comparisons | StoredComparisons,
    state: FitState,
    options: SpectralOptions,
) -> FittedModel:
    """Make the model, its components in the order of their shares.

    Parameters
    ----------
    components : MallowsComponents
        Rankings and dispersions.
    alpha : (K,) array
        The prior.
    comparisons : Comparisons or StoredComparisons
        For the items' labels.
    state : FitState
        For the report.
    options : SpectralOptions
        For the report.
    """
    order = by_share(alpha)
    m4 = M4(components.sigma[order], components.phi[order], alpha[order], comparisons.items)
    notes = (*state.notes, *(extreme_notes(m4, comparisons) if options.refine == "full" else ()))
    report = FitReport(
        method="spectral",
        options=options,
        notes=notes,
        unstable=state.unstable,
        spectral=state.trace,
    )
    return FittedModel(m4, report)
