"""Where a fit's seconds go.

Every pass over the people by the name of its step, everything else by module.
"""

import cProfile
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mallowmix
from benchmarks.record import timed
from mallowmix.engine import ThreadEngine
from mallowmix.engine.parallel import begun

_SOURCE = Path(mallowmix.__file__).parent
_ENGINE = "engine.threads"
_STANDING_FOR_IT = "timed_pass", "_made_at_once"


def seconds_by_step(
    call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Seconds of one call, largest first.

    "pass: variational E-step" for a pass, "learn.spectral.mallows_mstep" for a module's own work.

    A module's own work is the time of its functions less that of the mallowmix functions they call:
    numpy, scipy and compiled kernels count for who called them. What else runs beside other work is
    called where it begins: a second counts once.
    """
    passes: Counter[str] = Counter()
    profile = cProfile.Profile(clock)
    clocked: Any = {
        name: _clocked(getattr(ThreadEngine, name), passes, clock) for name in ("map", "reduce")
    }
    with patch.multiple(ThreadEngine, **clocked), _nothing_beside():
        total, _ = timed(lambda: profile.runcall(call), clock)
    found = Counter(_own_seconds(pstats.Stats(profile)))
    del found[_ENGINE]
    found += passes
    found["everything else"] = max(0.0, total - sum(found.values()))
    return dict(found.most_common())


@contextmanager
def _nothing_beside() -> Iterator[None]:
    """Calls that `begun` would make beside what follows are made at once."""
    with ExitStack() as patches:
        for module in list(sys.modules.values()):
            if vars(module).get("begun") is begun:
                patches.enter_context(patch.object(module, "begun", _made_at_once))
        yield


def _made_at_once(function: Callable[[], Any], n_jobs: int) -> Callable[[], Any]:
    answer = function()
    return lambda: answer


def _clocked(
    method: Callable[..., Any], passes: Counter[str], clock: Callable[[], float]
) -> Callable[..., Any]:
    """A method of `ThreadEngine`, with a note of how long each step took.

    It runs in a thread of its own, which the profile does not see: the work of a step is in its
    pass, and must not count for the step's module too.
    """

    def timed_pass(self: ThreadEngine, step: Any, *args: Any, **options: Any) -> Any:
        with ThreadPoolExecutor(1) as apart:
            seconds, answer = timed(
                lambda: apart.submit(method, self, step, *args, **options).result(), clock
            )
        passes[f"pass: {step.name}"] += seconds
        return answer

    return timed_pass


def _own_seconds(stats: pstats.Stats) -> dict[str, float]:
    """Each module's seconds.

    Those of its functions, less what goes to other frames of mallowmix and to the passes.
    """
    own: Counter[str] = Counter()
    profiled: Any = stats
    for function, (_, _, _, cumulative, callers) in profiled.stats.items():
        module = _module_of(function)
        if module is None:
            continue
        own[module] += cumulative
        for caller, (_, _, _, through, *_) in callers.items():
            # a function's seconds are those of its outermost call: one that calls itself keeps them
            if (parent := _module_of(caller)) and caller != function:
                own[parent] -= through
    return own


def _module_of(function: tuple[str, int, str]) -> str | None:
    """learn.spectral.mallows_mstep for a frame of that file.

    What stands above in the place of the engine's is the engine; None for what is not ours.
    """
    file, _, name = function
    if name in _STANDING_FOR_IT:
        return _ENGINE
    path = Path(file)
    return (
        ".".join(path.relative_to(_SOURCE).with_suffix("").parts)
        if path.is_relative_to(_SOURCE)
        else None
    )
