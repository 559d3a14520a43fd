"""How time and memory grow: with the number of comparisons, and with the number of items.

Each point is a process of its own.

The parent draws the people and leaves their arrays in a temporary folder. The child, `python -m
benchmarks.growth FOLDER REFINE REPEATS`, compiles everything on a small population first, notes its
resident memory, loads the arrays and fits. Peak memory is what it has taken at most since then: the
data and the fit together.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.planted import Setting, draw
from benchmarks.record import Tell, about, timed
from mallowmix.data.labels import as_labels
from mallowmix.model.fit_options import SpectralOptions

REFINE = ("none", "full")
BYTES_A_COMPARISON, BYTES_A_PAIR = 40, 100  # the goal: 40 bytes a comparison and 100 · W · K
_ARRAYS = ("user", "winner", "loser", "weight")
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Sizes:
    """The points: comparisons at the setting's Q, and items at a fixed number of comparisons."""

    setting: Setting = field(default_factory=Setting)
    comparisons: Sequence[float] = (1e5, 3e5, 1e6, 3e6, 1e7, 3e7)
    items: Sequence[int] = (30, 60, 100, 200, 300)
    comparisons_for_items: float = 1e6
    repeated_up_to: float = 1e6  # larger points are fitted once
    repeats: int = 2


FULL = Sizes()
QUICK = Sizes(
    Setting(n_items=30, n_components=4, per_user=100),
    comparisons=(1e4, 3e4),
    items=(15, 30),
    comparisons_for_items=1e4,
    repeats=1,
)


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """A row a point and method; the slopes of log time over log comparisons."""
    by_comparisons = [
        row for n in sizes.comparisons for row in _points(sizes, sizes.setting, n, tell)
    ]
    by_items = [
        row
        for Q in sizes.items
        for row in _points(
            sizes, replace(sizes.setting, n_items=Q), sizes.comparisons_for_items, tell
        )
    ]
    return {
        "about": about(),
        "setting": asdict(sizes.setting),
        "by_comparisons": by_comparisons,
        "by_items": by_items,
        "slope": {refine: slope_of(by_comparisons, refine) for refine in REFINE},
    }


def slope_of(rows: list[dict[str, Any]], refine: str) -> float:
    """Least squares of log seconds on log comparisons: 1 is proportional growth."""
    chosen = [row for row in rows if row["method"] == refine]
    x, y = (np.log([row[name] for row in chosen]) for name in ("comparisons", "seconds"))
    return float(np.polyfit(x, y, 1)[0])


def allowed_bytes(row: dict[str, Any], n_components: int) -> float:
    """The goal for a point's memory: 40 bytes a comparison and 100 · W · K, W = Q(Q − 1)."""
    W = row["items"] * (row["items"] - 1)
    return BYTES_A_COMPARISON * row["comparisons"] + BYTES_A_PAIR * W * n_components


def _points(
    sizes: Sizes, setting: Setting, n_comparisons: float, tell: Tell
) -> list[dict[str, Any]]:
    """The same people fitted by each method, each in its own process."""
    repeats = sizes.repeats if n_comparisons <= sizes.repeated_up_to else 1
    with tempfile.TemporaryDirectory() as name:
        store(draw(setting, max(1, round(n_comparisons / setting.per_user))), setting, Path(name))
        rows = [_in_a_process(Path(name), refine, repeats) for refine in REFINE]
    for row in rows:
        share = row["peak_bytes"] / allowed_bytes(row, setting.n_components)
        point = f"{row['comparisons']:.0g} comparisons, Q = {row['items']}, {row['method']}"
        tell(f"{point}: {row['seconds']:.2f} s, memory {share:.2f} of the goal")
    return rows


def _in_a_process(folder: Path, refine: str, repeats: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.growth", str(folder), refine, str(repeats)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"The fit {refine!r} in its own process ended with {done.returncode}:\n{done.stderr}"
        )
    return json.loads(done.stdout.splitlines()[-1])


# ----------------------------------------------------------------------------------- people on disk


def store(comparisons: mm.Comparisons, setting: Setting, folder: Path) -> None:
    """The arrays, each in its file, and the setting."""
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(comparisons, name))
    sizes = {
        "n_users": comparisons.n_users,
        "n_items": comparisons.n_items,
        "n_components": setting.n_components,
    }
    (folder / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")


def restore(folder: Path) -> tuple[mm.Comparisons, int]:
    """The comparisons, in no more memory than they need, and K. Rows are in normal form already."""
    sizes = json.loads((folder / "sizes.json").read_text(encoding="utf-8"))
    arrays = [np.load(folder / f"{name}.npy") for name in _ARRAYS]
    labels = [as_labels(np.arange(sizes[name])) for name in ("n_items", "n_users")]
    return mm.Comparisons(*arrays, *labels, np.ones(sizes["n_users"])), sizes["n_components"]


# -------------------------------------------------------------------------------- the child process


def fit_once_warm(folder: Path, refine: str, repeats: int) -> dict[str, Any]:
    """Warm up, load, fit.

    Seconds (the best of the repeats) and peak memory over the warmed-up process.
    """
    from mallowmix.fitting.warm_up import warm

    warm()
    reset_peak()
    before = resident_bytes()
    comparisons, K = restore(folder)
    loaded = resident_bytes()
    seconds = [
        timed(
            lambda: mm.fit(comparisons, K, method=SpectralOptions(refine=refine), predictor=False)
        )[0]
        for _ in range(repeats)
    ]
    return {
        "method": refine,
        "comparisons": comparisons.n_comparisons,
        "items": comparisons.n_items,
        "users": comparisons.n_users,
        "seconds": min(seconds),
        "peak_bytes": peak_bytes() - before,
        "data_bytes": loaded - before,
    }


def resident_bytes() -> int:
    """The memory that the process holds now."""
    import psutil

    return psutil.Process().memory_info().rss


def reset_peak() -> None:
    """Forget the peak of the warm-up, where the system can (Linux).

    Elsewhere small points read too high.
    """
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")


def peak_bytes() -> int:
    """The most that the process has held.

    VmHWM on Linux, for ru_maxrss there begins with the parent's; ru_maxrss elsewhere.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


if __name__ == "__main__":
    print(json.dumps(fit_once_warm(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
