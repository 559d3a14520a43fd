"""Algorithm 1: the paper's method from end to end. Halves, novel pairs, ranking matrix, components, prior."""

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
    NovelPairs,
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
    """Learn an M4 as the paper does; the options name what may stand in the place of a step."""
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
    """E from two halves of everybody's comparisons; someone must have made two."""
    E = HalfMoments(comparisons, seed=seed, engine=engine)
    if n_components > 1 and not E.scale:
        raise FitError(
            "Nobody made two comparisons, so nothing shows which choices go together: one component "
            "is all that can be learnt. Pass ",
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
) -> NovelPairs:
    """Algorithm 2, or what the options put in its place.

    DDP and FastAnchorWords take `min_count` of its options; the paper's ζ is far below the noise of E, and
    DDP replaces it.
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
    return NovelPairs(pairs, np.zeros(0), 0.0, notes)


def ranking_matrix_of(E: Moments, novel: NovelPairs, options: ProjectionsOptions) -> RankingMatrix:
    """Algorithm 3, or what the options put in its place."""
    if options.regression == "algorithm-3":
        return estimate_ranking_matrix(E, novel.pairs, tol=options.tol)
    return partial(recover, divergence=options.regression)(E, novel.pairs, tol=options.tol)


def _report(novel: NovelPairs, options: ProjectionsOptions, items: Labels) -> FitReport:
    names = text_of(items)
    pairs = tuple((names[c // len(names)], names[c % len(names)]) for c in novel.pairs.tolist())
    angles = tuple(novel.solid_angles.tolist())
    trace = ProjectionsTrace(pairs, angles, novel.zeta if angles else None)
    return FitReport(
        method="projections", options=options, notes=tuple(novel.notes), projections=trace
    )
