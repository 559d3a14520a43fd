"""How often each pair was asked, in memory: without a model, pairs are spread evenly."""

import threading
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mallowmix.numerics.randomness import Step, generator

_STEP = Step.WEB_PAIRS


class Tally:
    """Counts of pairs of item numbers; the database is read once, at the start."""

    def __init__(self, counts: dict[tuple[int, int], int]) -> None:
        self._lock = threading.Lock()
        self._counts = np.zeros((64, 64), np.int32)
        for (low, high), count in counts.items():
            self.add(low, high, count)

    def add(self, low: int, high: int, count: int = 1) -> None:
        """So many more answers (or questions) about a pair."""
        with self._lock:
            size = len(self._counts)
            if max(low, high) >= size:
                grown = np.zeros((2 * max(low, high), 2 * max(low, high)), np.int32)
                grown[:size, :size] = self._counts
                self._counts = grown
            self._counts[low, high] += count
            self._counts[high, low] += count

    def spread(
        self,
        ids: NDArray[np.int64],
        closed: Iterable[tuple[int, int]],
        person: int,
        n: int,
        among: set[int] | None = None,
    ) -> tuple[int, int] | None:
        """Return an open pair that was asked least, ties broken at random; None if all are closed.

        At least one of the two items must be in `among`, where that is given.
        """
        top = int(ids.max(initial=0))
        with self._lock:
            known = np.zeros((top + 1, top + 1), np.int32)
            size = min(len(self._counts), top + 1)
            known[:size, :size] = self._counts[:size, :size]
        counts = known[np.ix_(ids, ids)].astype(np.float64)
        totals = counts.sum(axis=1)
        cost = (
            counts * 1e6
            + (totals[:, None] + totals[None, :])
            + generator(person, _STEP, n).random(counts.shape)
        )
        cost[np.tril_indices(len(ids))] = np.inf
        index = {int(number): i for i, number in enumerate(ids)}
        for low, high in closed:
            if low in index and high in index:
                i, j = sorted((index[low], index[high]))
                cost[i, j] = np.inf
        if among is not None:
            wanted = np.array([int(number) in among for number in ids])
            cost[~(wanted[:, None] | wanted[None, :])] = np.inf
        i, j = np.unravel_index(np.argmin(cost), cost.shape)
        return (int(ids[i]), int(ids[j])) if np.isfinite(cost[i, j]) else None
