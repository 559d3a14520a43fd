"""How long something takes, and how much memory it adds at its peak."""

import threading
import time
from pathlib import Path
from types import TracebackType

_EVERY = 0.01  # seconds between looks at the memory
_STATM = Path("/proc/self/statm")


class Meter:
    """A context manager that measures time and memory.

    Attributes
    ----------
    seconds : float
    megabytes : float or None
        The growth of resident memory at its peak, sampled a hundred times a second; None where the
        system does not say.
    """

    seconds: float = 0.0
    megabytes: float | None = None

    def __enter__(self) -> "Meter":
        self._done, self._before, self._begun = threading.Event(), resident(), time.perf_counter()
        self._most = self._before
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._begun
        self._done.set()
        self._watch.join()
        if self._before is not None and self._most is not None:
            self.megabytes = max(self._most, resident() or 0.0) - self._before

    def _look(self) -> None:
        while self._before is not None and not self._done.wait(_EVERY):
            self._most = max(self._most or 0.0, resident() or 0.0)


def resident() -> float | None:
    """Megabytes of this process in memory now; None where /proc does not say."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    import resource

    return pages * resource.getpagesize() / 2**20
