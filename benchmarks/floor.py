"""How close a fit is to the floor.

One float64 product of the users × pairs matrix with K + 10 columns, in scipy.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.planted import Setting, count_matrix, draw
from benchmarks.record import Tell, about, repeated
from benchmarks.speed import REFINE
from benchmarks.steps import seconds_by_step
from mallowmix.model.fit_options import SpectralOptions


@dataclass(frozen=True)
class Sizes:
    """How many people; how often a product and a fit are repeated."""

    setting: Setting = field(default_factory=Setting)
    users: Sequence[int] = (3_000, 10_000)
    products: int = 15
    repeats: Sequence[int] = (3, 1)  # of the fits, a number a size
    threads: Sequence[int] = (1, 2)


FULL = Sizes()
QUICK = Sizes(
    Setting(n_items=30, n_components=4, per_user=100), users=(300,), products=5, repeats=(1,)
)


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """Fits as multiples of the product, and the seconds of their steps."""
    runs = [
        _one_size(sizes, M, repeats, tell)
        for M, repeats in zip(sizes.users, sizes.repeats, strict=True)
    ]
    return {
        "about": about(),
        "setting": asdict(sizes.setting),
        "columns": sizes.setting.n_components + 10,
        "runs": runs,
    }


def product_seconds(comparisons: mm.Comparisons, n_columns: int, times: int) -> float:
    """One product X @ V; scipy uses one thread for it."""
    X = count_matrix(comparisons)
    V = np.random.default_rng(0).standard_normal((X.shape[1], n_columns))
    return repeated(lambda: X @ V, times)[0]


def _one_size(sizes: Sizes, M: int, repeats: int, tell: Tell) -> dict[str, Any]:
    comparisons, K = draw(sizes.setting, M), sizes.setting.n_components
    product = product_seconds(comparisons, K + 10, sizes.products)
    rows = []
    for refine in REFINE:
        for threads in sizes.threads:
            seconds, _ = repeated(
                lambda r=refine, t=threads: mm.fit(
                    comparisons, K, method=SpectralOptions(refine=r), n_jobs=t, predictor=False
                ),
                repeats,
            )
            rows.append({"method": refine, "threads": threads, "seconds": seconds})
            tell(f"M = {M:,}: {refine}, n_jobs={threads}: {seconds / product:.1f} products")
    steps = {
        r: seconds_by_step(
            lambda r=r: mm.fit(
                comparisons, K, method=SpectralOptions(refine=r), n_jobs=1, predictor=False
            )
        )
        for r in REFINE
    }
    return {
        "users": M,
        "comparisons": comparisons.n_comparisons,
        "product_seconds": product,
        "rows": rows,
        "steps": steps,
    }
