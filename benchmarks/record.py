"""Result files: what was measured, with which versions, on how many cores; and the clock."""

import contextlib
import json
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from mallowmix.errors import MallowmixWarning
from mallowmix.paper.provenance import run_record

# where result files go unless a command is told otherwise
RESULTS = Path(os.environ.get("MALLOWMIX_RESULTS") or Path(__file__).parent / "results")
PACKAGES = ("mallowmix", "numpy", "scipy", "numba", "scikit-learn", "tomotopy", "gensim")
Result = TypeVar("Result")
Tell = Callable[[str], None]


def about() -> dict[str, Any]:
    """The circumstances that numbers depend on, and nothing that says whose machine it was."""
    return {
        "python": platform.python_version(),
        "packages": _versions(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }


def _versions() -> dict[str, str]:
    """Of the packages that are installed: peers need not be."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def timed(
    call: Callable[[], Result], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Result]:
    """Seconds by the clock, and the answer.

    Warnings about the data are for users, not for a benchmark.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        start = clock()
        answer = call()
        return clock() - start, answer


def repeated(call: Callable[[], Result], times: int) -> tuple[float, Result]:
    """The median seconds of a few calls, and the last answer."""
    runs = [timed(call) for _ in range(times)]
    return statistics.median(seconds for seconds, _ in runs), runs[-1][1]


def save(name: str, result: dict[str, Any], folder: Path, seeds: Iterable[int] = (0,)) -> Path:
    """Write `name`.json: the result, and where it comes from, as ``record``."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    result = result | {"record": run_record(sys.argv[1:], seeds)}
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def load(name: str, folder: Path) -> dict[str, Any] | None:
    """Read `name`.json; None where the benchmark has not been run."""
    file = folder / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
