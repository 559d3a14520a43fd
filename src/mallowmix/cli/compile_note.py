"""Say so when kernels are compiled: the first run on a machine waits for it, later ones do not."""

import contextlib
import time
from collections.abc import Callable, Iterator

# of processor time for all kernels of a first `fit`, on one thread (a faster machine needs less);
# measured by `python -m tools.compile_times`
FIRST_FIT_SECONDS = 30
NOTE = (
    f"Compiling, once: about {FIRST_FIT_SECONDS} s of processor time for a first fit, less for "
    "other commands"
)
Heard = Callable[[float], None]


@contextlib.contextmanager
def watch_compiling(heard: Heard) -> Iterator[None]:
    """Call `heard(processor seconds so far)` when a kernel begins to be compiled, and at its end.

    Kernels that are read from the cache are not compiled.
    """
    from numba.core.event import Event, Listener, install_listener

    class Watch(Listener):
        depth, begun, spent = 0, 0.0, 0.0

        def on_start(self, event: Event) -> None:
            """One kernel may call others, which are compiled inside its own time."""
            if self.depth == 0:
                self.begun = time.thread_time()
                heard(self.spent)
            self.depth += 1

        def on_end(self, event: Event) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.spent += time.thread_time() - self.begun
                heard(self.spent)

    with install_listener("numba:compile", Watch()):
        yield
