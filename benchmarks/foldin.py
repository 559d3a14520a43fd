"""Placing people among the components.

Many at once beside one sparse pass over their data, one new person beside a `solve`.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks.floor import product_seconds
from benchmarks.planted import Setting, draw, truth_of
from benchmarks.record import Tell, about, repeated
from mallowmix.engine import make_blocks
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.weights import _weights

ESTIMATES = ("map", "mean")


@dataclass(frozen=True)
class Sizes:
    """How many people with how many comparisons.

    How many the one new person has; how often each is repeated.
    """

    setting: Setting = field(default_factory=lambda: Setting(per_user=30))
    users: int = 1_000_000
    one: int = 50
    matrix: int = 100
    repeats: int = 1
    calls: int = 500
    threads: tuple[int, ...] = (1, 2)


FULL = Sizes()
QUICK = Sizes(Setting(n_items=30, n_components=4, per_user=30), users=2_000, repeats=3, calls=50)


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """Multiples of the product and of the `solve`."""
    return (
        {"about": about(), "setting": asdict(sizes.setting)}
        | _many(sizes, tell)
        | _one(sizes, tell)
    )


def _many(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """Each beside a product measured before and one after it, so that what else the machine does
    falls on both alike.
    """
    comparisons, model = draw(sizes.setting, sizes.users), truth_of(sizes.setting)
    columns, rows = sizes.setting.n_components + 10, []
    product_seconds(comparisons, columns, 1)  # the first touches new memory
    for estimate in ESTIMATES:
        for threads in sizes.threads:
            before = product_seconds(comparisons, columns, sizes.repeats)
            seconds, _ = repeated(_caller(model, comparisons, estimate, threads), sizes.repeats)
            product = (before + product_seconds(comparisons, columns, sizes.repeats)) / 2
            rows.append(
                {
                    "estimate": estimate,
                    "threads": threads,
                    "seconds": seconds,
                    "product_seconds": product,
                }
            )
            tell(
                f"{sizes.users:,} people: {estimate}, n_jobs={threads}: "
                f"{seconds / product:.1f} products"
            )
    return {"users": sizes.users, "comparisons": comparisons.n_comparisons, "rows": rows}


def _caller(
    model: mm.M4, comparisons: mm.Comparisons, estimate: Any, threads: int
) -> Callable[[], Any]:
    return lambda: mm.weights(model, comparisons, estimate=estimate, n_jobs=threads)


def _one(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """The kernel on arrays, labels mapped: what a service that holds the model ready would call."""
    setting = replace(sizes.setting, per_user=sizes.one)
    prepared, (block,) = prepare(truth_of(setting)), make_blocks(draw(setting, 1, others=True))
    random = np.random.default_rng(0)
    A, y = (
        random.standard_normal((sizes.matrix, sizes.matrix)),
        random.standard_normal(sizes.matrix),
    )
    with threadpool_limits(1):
        solve, _ = repeated(lambda: np.linalg.solve(A, y), sizes.calls)
        seconds = {
            estimate: repeated(
                lambda e=estimate: _weights(block, (prepared, e, 1000, 1e-6), None), sizes.calls
            )[0]  # type: ignore[arg-type]
            for estimate in ESTIMATES
        }
    for estimate in ESTIMATES:
        tell(
            f"one person: {estimate}: {seconds[estimate] / solve:.2f} solves "
            f"of {sizes.matrix} × {sizes.matrix}"
        )
    return {
        "one": {
            "comparisons": sizes.one,
            "matrix": sizes.matrix,
            "solve_seconds": solve,
            "seconds": seconds,
        }
    }
