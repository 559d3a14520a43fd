"""Algorithm 1: the paper's method. Halves, novel pairs, ranking matrix, components, prior."""

from functools import partial

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, text_of
from mallowmix.engine import Engine
from mallowmix.errors import FitError, Option
from mallowmix.learn.paper.components_from_topics import components_from_topics
from mallowmix.learn.paper.ddp import ddp_pairs
from mallowmix.learn.paper.fast_anchor_words import anchor_pairs
from mallowmix.learn.paper.novel_pairs import (
    NovelPairEstimate,
    candidate_pairs,
    check_enough,
    find_novel_pairs,
)
from mallowmix.learn.paper.pair_moments import HalfMoments, Moments
from mallowmix.learn.paper.ranking_matrix import RankingMatrix, estimate_ranking_matrix
from mallowmix.learn.paper.recover import recover
from mallowmix.model.fit_options import PAPER_ZETA, ProjectionsOptions
from mallowmix.model.fit_report import FitReport, ProjectionsTrace
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.numerics.dirichlet import dirichlet_from_moments
from mallowmix.typing import Progress


def algorithm_1(
    comparisons: Comparisons,
    n_components: int,
    options: ProjectionsOptions | None = None,
    *,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> FittedModel:
    """Learn an M4 as the paper does, or with other algorithms for some steps.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.
    n_components : int
        K.
    options : ProjectionsOptions, optional
        Which algorithm does each step, and its settings; the paper's unless given.
    seed, engine, progress
        As in `fit`.

    Returns
    -------
    FittedModel
        The model and a report of the steps.

    Raises
    ------
    FitError
        Where the data does not show so many components.
    """
    chosen = options or ProjectionsOptions()
    E = moments_of(comparisons, n_components, seed=seed, engine=engine)  # Lemma 2
    novel = novel_pairs_of(E, n_components, chosen, seed=seed, progress=progress)  # Algorithm 2
    B, a, R = ranking_matrix_of(E, novel, chosen)  # Algorithm 3
    sigma, phi, _ = components_from_topics(B, dispersion=chosen.dispersion)  # Algorithm 4
    m4 = M4(sigma, phi, dirichlet_from_moments(a, R), comparisons.items)
    return FittedModel(m4, _report(novel, chosen, comparisons.items))


def moments_of(
    comparisons: Comparisons, n_components: int, *, seed: int = 0, engine: Engine | None = None
) -> HalfMoments:
    """Estimate E from two halves of all users' comparisons.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.
    n_components : int
        K, to check that the data can show several components.
    seed, engine
        As in `fit`.

    Raises
    ------
    FitError
        For several components where nobody made two comparisons.
    """
    E = HalfMoments(comparisons, seed=seed, engine=engine)
    if n_components > 1 and not E.scale:
        raise FitError(
            "Nobody made two comparisons, so nothing shows which choices go together: one "
            "component is all that can be learnt. Pass ",
            Option("n_components", 1),
            ", or add comparisons by the same people.",
        )
    return E


def novel_pairs_of(
    E: Moments,
    n_components: int,
    options: ProjectionsOptions,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> NovelPairEstimate:
    """Find the novel pairs by Algorithm 2, DDP or FastAnchorWords, as the options say.

    DDP and FastAnchorWords use `min_count` of the options of Algorithm 2; the paper's ζ is far
    below the noise of E, so that DDP estimates its own.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    n_components : int
        K.
    options : ProjectionsOptions
        Which algorithm, and its settings.
    seed : int
        Of random projections.
    progress : callable, optional
        Called as ``progress(step, done, total)``.
    """
    if options.novel_pairs == "projections":
        return find_novel_pairs(
            E,
            n_components,
            n_projections=options.n_projections,
            zeta=options.zeta,
            metric=options.metric,
            min_count=options.min_count,
            seed=seed,
            progress=progress,
        )
    candidates, notes = candidate_pairs(E, options.min_count)
    check_enough(candidates, n_components)
    if options.novel_pairs == "ddp":
        zeta = None if options.zeta in ("auto", PAPER_ZETA) else float(options.zeta)
        pairs = ddp_pairs(E, candidates, n_components, zeta=zeta)
    else:
        pairs = anchor_pairs(E, candidates, n_components, seed=seed)
    return NovelPairEstimate(pairs, np.zeros(0), 0.0, notes)


def ranking_matrix_of(
    E: Moments, novel: NovelPairEstimate, options: ProjectionsOptions
) -> RankingMatrix:
    """Estimate the ranking matrix by Algorithm 3, RecoverL2 or RecoverKL, as the options say."""
    if options.regression == "algorithm-3":
        return estimate_ranking_matrix(E, novel.pairs, tol=options.tol)
    return partial(recover, divergence=options.regression)(E, novel.pairs, tol=options.tol)


def _report(novel: NovelPairEstimate, options: ProjectionsOptions, items: Labels) -> FitReport:
    names = text_of(items)
    pairs = tuple((names[c // len(names)], names[c % len(names)]) for c in novel.pairs.tolist())
    angles = tuple(novel.solid_angles.tolist())
    trace = ProjectionsTrace(pairs, angles, novel.zeta if angles else None)
    return FitReport(
        method="projections", options=options, notes=tuple(novel.notes), projections=trace
    )
