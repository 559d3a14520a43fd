"""Algorithm 1: the paper's method from end to end. Halves, novel pairs, ranking matrix, components, prior."""

from functools import partial
from typing import Any, Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.engine import Engine
from mallowmix.errors import FitError, check_choice
from mallowmix.learn.paper.components_from_topics import Dispersion, components
from mallowmix.learn.paper.ddp import ddp_pairs
from mallowmix.learn.paper.fast_anchor_words import anchor_pairs
from mallowmix.learn.paper.neighbourhoods import Metric
from mallowmix.learn.paper.novel_pairs import (
    NovelPairs,
    Progress,
    candidate_pairs,
    check_enough,
    find_novel_pairs,
)
from mallowmix.learn.paper.pair_moments import HalfMoments, Moments
from mallowmix.learn.paper.ranking_matrix import RankingMatrix, estimate_ranking_matrix
from mallowmix.learn.paper.recover import recover
from mallowmix.model.m4 import M4
from mallowmix.numerics.dirichlet import dirichlet_from_moments

PAPER_ZETA = 0.05
Vertices = Literal["projections", "ddp", "fast-anchor-words"]
Regression = Literal["printed", "l2", "kl"]


def fit_projections(
    comparisons: Comparisons,
    n_components: int,
    *,
    vertices: Vertices = "projections",
    regression: Regression = "printed",
    n_projections: int | None = None,
    zeta: float | Literal["auto"] = PAPER_ZETA,
    tol: float = 1e-4,
    metric: Metric | Literal["auto"] = "moment",
    min_count: float = 0.0,
    dispersion: Dispersion = "pooled",
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> M4:
    """Learn an M4 as the paper does; the options are those of `find_novel_pairs`, `estimate_ranking_matrix` and `components`.

    vertices, regression : other separable topic models in place of Algorithms 2 and 3, see `ranking_matrix_from`
    """
    (B, a, R), novel = ranking_matrix_from(
        comparisons,
        n_components,
        vertices=vertices,
        regression=regression,
        n_projections=n_projections,
        zeta=zeta,
        tol=tol,
        metric=metric,
        min_count=min_count,
        seed=seed,
        engine=engine,
        progress=progress,
    )
    sigma, phi, _ = components(B, dispersion=dispersion)
    return M4(
        sigma, phi, dirichlet_from_moments(a, R), comparisons.items, _report(novel, comparisons)
    )


def ranking_matrix_from(
    comparisons: Comparisons,
    n_components: int,
    *,
    vertices: Vertices = "projections",
    regression: Regression = "printed",
    n_projections: int | None = None,
    zeta: float | Literal["auto"] = PAPER_ZETA,
    tol: float = 1e-4,
    metric: Metric | Literal["auto"] = "moment",
    min_count: float = 0.0,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> tuple[RankingMatrix, NovelPairs]:
    """Everything before Algorithm 4: B as the regression left it, with a and R, and the novel pairs that it rests on.

    vertices : "projections" is Algorithm 2; "ddp" and "fast-anchor-words" are `learn.paper.ddp` and `learn.paper.fast_anchor_words`, which
        take `min_count` of its options (and DDP ζ, where it is not the default)
    regression : "printed" is Algorithm 3; "l2" and "kl" are RecoverL2 and RecoverKL (`learn.paper.recover`)
    """
    check_choice("vertices", vertices, ("projections", "ddp", "fast-anchor-words"))
    check_choice("regression", regression, ("printed", "l2", "kl"))
    E = HalfMoments(comparisons, seed=seed, engine=engine)
    if n_components > 1 and not E.scale:
        raise FitError(
            "Nobody made two comparisons, so nothing shows which choices go together: one component is all that can be learnt. "
            "Ask for one, or add comparisons by the same people."
        )
    if vertices == "projections":
        options = {
            "n_projections": n_projections,
            "zeta": zeta,
            "metric": metric,
            "min_count": min_count,
        }
        novel = find_novel_pairs(E, n_components, **options, seed=seed, progress=progress)
    else:
        novel = _other_vertices(E, n_components, vertices, zeta, min_count, seed)
    matrix = (
        estimate_ranking_matrix
        if regression == "printed"
        else partial(recover, divergence=regression)
    )
    return matrix(E, novel.pairs, tol=tol), novel


def _other_vertices(
    E: Moments, K: int, vertices: str, zeta: float | str, min_count: float, seed: int
) -> NovelPairs:
    """DDP or FastAnchorWords in place of Algorithm 2; the paper's ζ is far below the noise of E, and is replaced."""
    candidates, notes = candidate_pairs(E, min_count)
    check_enough(candidates, K)
    if vertices == "ddp":
        pairs = ddp_pairs(
            E, candidates, K, zeta=None if zeta in ("auto", PAPER_ZETA) else float(zeta)
        )
    else:
        pairs = anchor_pairs(E, candidates, K, seed=seed)
    return NovelPairs(pairs, np.zeros(0), 0.0, notes)


def _report(novel: NovelPairs, comparisons: Comparisons) -> dict[str, Any]:
    items = text_of(comparisons.items)
    pairs = [[items[code // len(items)], items[code % len(items)]] for code in novel.pairs.tolist()]
    angles = (
        {"solid_angles": novel.solid_angles.tolist(), "zeta": novel.zeta}
        if len(novel.solid_angles)
        else {}
    )
    return {"novel_pairs": pairs, **angles, "notes": novel.notes}
