"""Algorithm 1: the paper's method from end to end. Halves, novel pairs, ranking matrix, components, prior."""

from typing import Any, Literal

from mallowmix.comparisons import Comparisons
from mallowmix.engine import LocalEngine
from mallowmix.errors import FitError
from mallowmix.labels import text_of
from mallowmix.learn.components import Dispersion, components
from mallowmix.learn.moments import HalfMoments
from mallowmix.learn.neighbourhoods import Metric
from mallowmix.learn.novel_pairs import NovelPairs, Progress, find_novel_pairs
from mallowmix.learn.prior import dirichlet_from_moments
from mallowmix.learn.ranking_matrix import estimate_ranking_matrix
from mallowmix.model import M4


def fit_projections(
    comparisons: Comparisons,
    n_components: int,
    *,
    n_projections: int | None = None,
    zeta: float | Literal["auto"] = 0.05,
    tol: float = 1e-4,
    metric: Metric = "moment",
    min_count: float = 0.0,
    dispersion: Dispersion = "pooled",
    seed: int = 0,
    engine: LocalEngine | None = None,
    progress: Progress | None = None,
) -> M4:
    """Learn an M4 as the paper does; the options are those of `find_novel_pairs`, `estimate_ranking_matrix` and `components`."""
    E = HalfMoments(comparisons, seed=seed, engine=engine)
    if n_components > 1 and not E.scale:
        raise FitError(
            "Nobody made two comparisons, so nothing shows which choices go together: one component is all that can be learnt. "
            "Ask for one, or add comparisons by the same people."
        )
    novel = find_novel_pairs(
        E,
        n_components,
        n_projections=n_projections,
        zeta=zeta,
        metric=metric,
        min_count=min_count,
        seed=seed,
        progress=progress,
    )
    B, a, R = estimate_ranking_matrix(E, novel.pairs, tol=tol)
    sigma, phi, _ = components(B, dispersion=dispersion)
    return M4(sigma, phi, dirichlet_from_moments(a, R), comparisons.items, _report(novel, comparisons))


def _report(novel: NovelPairs, comparisons: Comparisons) -> dict[str, Any]:
    items = text_of(comparisons.items)
    return {
        "novel_pairs": [[items[code // len(items)], items[code % len(items)]] for code in novel.pairs.tolist()],
        "solid_angles": novel.solid_angles.tolist(),
        "zeta": novel.zeta,
        "notes": novel.notes,
    }
