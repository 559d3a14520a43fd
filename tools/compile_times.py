"""What the kernels of a first fit take to compile: `python -m tools.compile_times [--kernels]`.

Compiles into an empty cache for a `fit` of the dishes without a predictor, then what the predictor
adds, then for `weights` and for `rank`, and prints the processor time of each, on one thread.
`FIRST_FIT_SECONDS` in `mallowmix.cli.compile_note` is the first two of them together.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from typing import Any

PHASES = ("model", "predictor", "weights", "rank")


class Times:
    """Processor time and number of what was compiled, by phase and by kernel."""

    def __init__(self) -> None:
        self.phase = ""
        self.seconds: Counter[tuple[str, str]] = Counter()
        self.count: Counter[tuple[str, str]] = Counter()
        self._open: list[list[float]] = []  # begun, and the time of kernels compiled within

    def start(self) -> None:
        self._open.append([time.process_time(), 0.0])

    def end(self, name: str) -> None:
        """Count a kernel's own time, without that of the kernels that it calls."""
        begun, within = self._open.pop()
        spent = time.process_time() - begun
        if self._open:
            self._open[-1][1] += spent
        self.seconds[self.phase, name] += spent - within
        self.count[self.phase, name] += 1

    def of(self, phase: str) -> tuple[float, int]:
        """Seconds and kernels of a phase."""
        seconds = sum(spent for (of, _), spent in self.seconds.items() if of == phase)
        return seconds, sum(n for (of, _), n in self.count.items() if of == phase)


def measure() -> Times:
    """Run the phases with an empty cache."""
    import mallowmix as mm

    times = Times()
    with watch(times):
        votes = mm.load_dishes().comparisons
        # on one thread: it would count what another compiles meanwhile
        times.phase = "model"
        mm.fit(votes, 3, n_jobs=1, predictor=False)
        times.phase = "predictor"
        model = mm.fit(votes, 3, n_jobs=1)
        times.phase = "weights"
        mm.weights(model, votes, n_jobs=1)
        times.phase = "rank"
        mm.rank(model, votes, n_jobs=1)
    return times


def watch(times: Times) -> Any:
    """Listen to Numba, as a context."""
    from numba.core.event import Event, Listener, install_listener

    class Watch(Listener):
        def on_start(self, event: Event) -> None:
            times.start()

        def on_end(self, event: Event) -> None:
            function = event.data["dispatcher"].py_func
            times.end(f"{function.__module__.removeprefix('mallowmix.')}.{function.__name__}")

    return install_listener("numba:compile", Watch())


def main() -> None:
    """Print seconds and kernels of each phase; with `--kernels` also of each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        times = measure()
    for phase in PHASES:
        seconds, kernels = times.of(phase)
        print(f"{phase:9} {seconds:5.1f} s in {kernels} kernels")
    if "--kernels" in sys.argv:
        for (phase, name), seconds in times.seconds.most_common():
            print(f"{phase:9} {seconds:5.2f} s {times.count[phase, name]:3} {name}")


if __name__ == "__main__":
    main()
