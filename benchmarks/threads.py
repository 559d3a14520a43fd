"""Two threads against one: the same fit, the same bytes, less time."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import mallowmix as mm
from benchmarks.planted import Setting, draw
from benchmarks.record import Tell, about, timed
from benchmarks.speed import REFINE
from mallowmix.model.fit_options import SpectralOptions


@dataclass(frozen=True)
class Sizes:
    """How many people; how often each fit is repeated, one and two threads in turn."""

    setting: Setting = field(default_factory=Setting)
    users: Sequence[int] = (3_000, 10_000)
    repeats: Sequence[int] = (3, 1)


FULL = Sizes()
QUICK = Sizes(Setting(n_items=30, n_components=4, per_user=100), users=(300,), repeats=(1,))


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """Median seconds with one thread and with two."""
    rows = []
    for M, repeats in zip(sizes.users, sizes.repeats, strict=True):
        comparisons = draw(sizes.setting, M)
        for refine in REFINE:
            rows.append(
                {"users": M, "method": refine}
                | _both(comparisons, sizes.setting.n_components, refine, repeats)
            )
            tell(
                f"M = {M:,}: {refine}: "
                f"{rows[-1]['one'] / rows[-1]['two']:.2f} times as fast with two threads"
            )
    return {"about": about(), "setting": asdict(sizes.setting), "rows": rows}


def _both(comparisons: mm.Comparisons, K: int, refine: str, repeats: int) -> dict[str, Any]:
    """In turn, so that what else the machine does falls on both alike."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    models: dict[int, mm.M4] = {}
    for _ in range(repeats):
        for n_jobs in seconds:
            spent, models[n_jobs] = timed(
                lambda j=n_jobs: mm.fit(
                    comparisons, K, method=SpectralOptions(refine=refine), n_jobs=j, predictor=False
                )
            )
            seconds[n_jobs].append(spent)
    one, two = (sorted(times)[len(times) // 2] for times in seconds.values())
    return {"one": one, "two": two, "same_model": models[1] == models[2]}
