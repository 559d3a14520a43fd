"""How often: a bucket of requests for each session or address, which fills at a steady rate."""

import threading
import time
from collections import OrderedDict

_MOST = 50_000


class Rates:
    """Buckets by name. A request takes one from its bucket; an empty one says how long to wait."""

    def __init__(self, rate: float, burst: float, most: int = _MOST) -> None:
        self.rate, self.burst = rate, burst
        self._most, self._lock = most, threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> float:
        """Take one: 0.0, or the seconds after which there will be one."""
        if self.rate <= 0:
            return 0.0
        now = time.monotonic()
        with self._lock:
            left, then = self._buckets.pop(name, (self.burst, now))
            left = min(self.burst, left + (now - then) * self.rate)
            taken = left >= 1.0
            self._buckets[name] = (left - 1.0 if taken else left, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return 0.0 if taken else (1.0 - left) / self.rate
