"""The default estimator: spectral initialisations, the better of them refined by Monte-Carlo EM."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import FitError, Option
from mallowmix.learn.spectral.fit_notes import halves_note, spectrum_note
from mallowmix.learn.spectral.initialisation import (
    Initialisation,
    embed_pairs,
    initialise_from_pairs,
    initialise_from_users,
)
from mallowmix.learn.spectral.large_data import learn_from_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, monte_carlo_em, new_chains
from mallowmix.learn.spectral.number_of_components import (
    ComponentCount,
    count_components,
    noise_edge,
)
from mallowmix.learn.spectral.signed_moment import (
    SignedMoment,
    count_all_pairs,
    count_pairs,
    leading_subspace,
)
from mallowmix.learn.spectral.split_merge import split_and_merge
from mallowmix.learn.spectral.stability import half_distances
from mallowmix.learn.spectral.subspace import PairStatistics, Subspace, pair_statistics
from mallowmix.learn.spectral.user_sample import sample_blocks, sampled_share
from mallowmix.learn.spectral.variational_em import Variational, variational_em
from mallowmix.model.dispersion import phi_of_counts
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import FitReport, SpectralTrace
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.kemeny import borda_order, insertion_search
from mallowmix.typing import Array, Progress

_EM_STEPS = 6  # of variational EM, before an initialisation is judged or refined
_FIRST_PHI = (
    0.8  # refinement begins with a large φ: a small one would keep the rankings as they are
)
_EXTRA = 8  # vectors of the subspace beyond the rank that is needed


@dataclass
class Work:
    """The state that all steps share: users, counts of pairs, and what the report will say."""

    blocks: list[Block]
    pairs: PairStatistics
    engine: Engine
    seed: int
    progress: Progress | None
    n_items: int
    trace: SpectralTrace = field(default_factory=SpectralTrace)
    notes: list[str] = field(default_factory=list)

    def show(self, step: str, done: int, total: int) -> None:
        """Report progress."""
        if self.progress:
            self.progress(step, done, total)


def fit_spectral(
    comparisons: Comparisons | StoredComparisons,
    n_components: int | Literal["auto"],
    options: SpectralOptions | None = None,
    *,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> FittedModel:
    """Learn an M4 near the statistical limit.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        What users preferred.
    n_components : int or "auto"
        A number, or as many as the spectrum shows above its noise.
    options : SpectralOptions
        How far to refine, and how corners are found.
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
    chosen, run = options or SpectralOptions(), engine or ThreadEngine()
    all_blocks = make_blocks(comparisons)
    work = start_work(comparisons, all_blocks, run, seed, progress)
    sampled = work.trace.sampled_share < 1
    count = _count(work) if n_components == "auto" else None
    K = count.n_components if count is not None else _checked_count(work, int(n_components))
    both = chosen.refine != "none"
    initialisations = _initialise(work, K, chosen.corners, both=both, known=count)
    if chosen.refine == "none":
        first = initialisations[0]
        return as_model(first.components, first.alpha, comparisons, work, chosen)
    best = _better(work, initialisations)
    if chosen.refine == "short":
        return as_model(best.components, best.alpha, comparisons, work, chosen)
    if K > 1:
        _note_spectrum(work, K, count)
    outcome = refine(work, best, all_blocks if sampled else None)
    return as_model(outcome.components, outcome.alpha, comparisons, work, chosen)


def start_work(
    comparisons: Comparisons | StoredComparisons,
    all_blocks: list[Block],
    engine: Engine,
    seed: int,
    progress: Progress | None,
) -> Work:
    """Choose the users to learn from (a sample of very many), and count pairs over all of them.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        What users preferred.
    all_blocks : list of blocks
        All users.
    engine, seed, progress
        As in `fit`.
    """
    share = sampled_share(comparisons.n_comparisons)
    blocks = sample_blocks(all_blocks, share, seed, engine)
    counts = count_all_pairs(all_blocks, engine) if share < 1 else count_pairs(blocks, engine)
    pairs = pair_statistics(counts, comparisons.n_items)
    trace = SpectralTrace(sampled_share=share)
    return Work(blocks, pairs, engine, seed, progress, comparisons.n_items, trace)


def _count(work: Work) -> ComponentCount:
    """How many components the spectrum shows."""
    count = count_components(work.blocks, work.pairs, work.engine, seed=work.seed)
    work.trace = replace(work.trace, choice_of_k=count.sentence(), noise_edge=count.edge)
    return count


def _checked_count(work: Work, n_components: int) -> int:
    n_pairs = len(work.pairs.share)
    if n_components - 1 > n_pairs:
        raise FitError(
            f"{work.n_items} items make {n_pairs} pairs, which cannot distinguish {n_components} "
            "components: lower ",
            Option("n_components"),
            f" to at most {n_pairs + 1}.",
        )
    return n_components


def _initialise(
    work: Work, K: int, corners: str, *, both: bool, known: ComponentCount | None
) -> list[Initialisation]:
    """Steps 1 to 3: the subspace, and initialisations from pairs and from users."""
    if K == 1:
        return [_single(work)]
    work.show("spectrum", 0, 1)
    subspace = _subspace(work, K, known)
    work.trace = replace(
        work.trace, spectrum=tuple(subspace.values.tolist()), subspace_passes=subspace.passes
    )
    if not (subspace.converged or both):  # refinement has a better test of its own: `_note_halves`
        work.notes.append(
            "The leading eigenvectors had not converged after the last pass: the data may not show "
            "this many components."
        )
    embedding = embed_pairs(subspace, work.pairs, K - 1)
    first = initialise_from_pairs(
        embedding, work.pairs, work.n_items, corners=corners, seed=work.seed
    )
    work.show("spectrum", 1, 1)
    if not both:
        return [first]
    second = initialise_from_users(
        work.blocks, subspace, work.pairs, K - 1, work.engine, seed=work.seed
    )
    return [first, second]


def _subspace(work: Work, K: int, known: ComponentCount | None) -> Subspace:
    """The leading K − 1 eigenpairs and a few more; the count of components has them already."""
    if known is not None:
        return known.subspace.leading(K - 1 + _EXTRA)
    A = SignedMoment(work.blocks, work.pairs, work.engine)
    return leading_subspace(A, K - 1, extra=_EXTRA, seed=work.seed)


def _single(work: Work) -> Initialisation:
    """One ranking for all: its items by wins, then insertion search."""
    Q = work.n_items
    wins = count_pairs(work.blocks, work.engine).reshape(Q, Q)
    sigma = sigma_of(insertion_search(wins, borda_order(wins)))
    components = MallowsComponents(sigma[None], np.array([phi_of_counts(wins, sigma)]))
    return Initialisation("wins", components, np.ones(1))


def _better(work: Work, initialisations: list[Initialisation]) -> Variational:
    """Step 4: a few steps of variational EM from each; the outcome with the higher bound (ELBO)."""
    outcomes = []
    for i, each in enumerate(initialisations):
        K, components = len(each.alpha), each.components
        if K > 1:
            components = MallowsComponents(components.sigma, np.full(K, _FIRST_PHI))
        prior = each.alpha / each.alpha.sum()
        outcomes.append(
            variational_em(work.blocks, components, prior, work.engine, n_iter=_EM_STEPS)
        )
        work.show("initialisations", i + 1, len(initialisations))
    best = int(np.argmax([outcome.elbo[-1] for outcome in outcomes]))
    names = [each.name for each in initialisations]
    bounds = zip(names, (tuple(outcome.elbo) for outcome in outcomes), strict=True)
    work.trace = replace(work.trace, initialisation=names[best], elbo=tuple(bounds))
    return outcomes[best]


def refine(
    work: Work,
    first: Variational,
    all_blocks: list[Block] | None,
    *,
    min_burn_in: int = 4,
    explore: bool = True,
) -> MonteCarlo:
    """Steps 5 and 6: Monte-Carlo EM on the direct likelihood, then passes over all users.

    Parameters
    ----------
    work : Work
        The users.
    first : Variational
        Where to begin.
    all_blocks : list of blocks or None
        All users, where `work` has a sample of them.
    min_burn_in : int
        Cycles of Monte-Carlo EM before averaging may begin.
    explore : bool
        Look for better local optima where components came out alike (`learn.spectral.split_merge`).

    Returns
    -------
    MonteCarlo
        The refined components and prior.
    """
    outcome = _ascend(work, first, min_burn_in)
    if explore and len(first.alpha) > 2:
        outcome, scores = split_and_merge(
            work.blocks, outcome, lambda c, a: _ascend_anew(work, c, a), work.engine, seed=work.seed
        )
        work.trace = replace(work.trace, predicted_halves=tuple(scores))
    work.trace = replace(work.trace, moved=tuple(outcome.moved))
    if all_blocks is None:
        theta = [chain.theta for chain in outcome.chains]
        distances = half_distances(work.blocks, outcome.components, theta, work.engine)
    else:
        outcome, distances = learn_from_all_users(
            all_blocks, work.blocks, outcome, work.engine, seed=work.seed, progress=work.progress
        )
        work.trace = replace(work.trace, moved_by_all=tuple(outcome.moved))
    _note_halves(work, outcome, distances)
    return outcome


def _ascend(work: Work, first: Variational, min_burn_in: int = 4) -> MonteCarlo:
    theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in first.gamma]
    return monte_carlo_em(
        work.blocks,
        first.components,
        first.alpha,
        new_chains(work.blocks, theta),
        work.engine,
        min_burn_in=min_burn_in,
        seed=work.seed,
        progress=work.progress,
    )


def _ascend_anew(work: Work, components: MallowsComponents, alpha: Array) -> MonteCarlo:
    return _ascend(
        work, variational_em(work.blocks, components, alpha, work.engine, n_iter=_EM_STEPS)
    )


def _note_spectrum(work: Work, K: int, known: ComponentCount | None) -> None:
    """Step 5 is about to begin: note whether the spectrum shows another number of components."""
    if known is None:
        edge = noise_edge(work.blocks, work.pairs, work.engine, seed=work.seed)
        work.trace = replace(work.trace, noise_edge=edge)
    else:
        edge = known.edge
    note = spectrum_note(np.array(work.trace.spectrum), edge, K)
    work.notes += [note] if note else []


def _note_halves(work: Work, outcome: MonteCarlo, distances: Array) -> None:
    """Note the rankings that two halves of the users would put in different orders."""
    ordered = distances[np.argsort(-outcome.alpha, kind="stable")]
    work.trace = replace(work.trace, half_distances=tuple(ordered.tolist()))
    note = halves_note(ordered)
    work.notes += [note] if note else []


def as_model(
    components: MallowsComponents,
    alpha: Array,
    comparisons: Comparisons | StoredComparisons,
    work: Work,
    options: SpectralOptions,
) -> FittedModel:
    """The model, its components in the order of their shares, and the report of the work."""
    order = np.argsort(-alpha, kind="stable")
    m4 = M4(components.sigma[order], components.phi[order], alpha[order], comparisons.items)
    report = FitReport(
        method="spectral", options=options, notes=tuple(work.notes), spectral=work.trace
    )
    return FittedModel(m4, report)
