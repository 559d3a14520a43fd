"""The ranking that agrees best with a table of wins: exact for few items (Held–Karp), insertion search for many."""

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

EXACT_UP_TO = 12


def best_order(wins: ArrayLike) -> NDArray[np.int32]:
    """The order that maximises Σ wins[i, j] over the pairs it puts i above j: exact up to 12 items, a local optimum beyond."""
    wins = np.ascontiguousarray(wins, np.float64)
    if len(wins) <= EXACT_UP_TO:
        return _exact(wins)
    return insertion_search(wins, borda_order(wins))


def borda_order(wins: ArrayLike) -> NDArray[np.int32]:
    """Items by their mean fraction of wins, best first; a pair never compared counts one half."""
    wins = np.asarray(wins, np.float64)
    total = wins + wins.T
    fraction = np.divide(wins, total, out=np.full_like(wins, 0.5), where=total > 0)
    return np.argsort(-fraction.sum(axis=1), kind="stable").astype(np.int32)


def insertion_search(wins: ArrayLike, order: ArrayLike) -> NDArray[np.int32]:
    """Move single items to their best place until no move helps; the agreement never falls."""
    wins = np.asarray(wins, np.float64)
    margin = np.ascontiguousarray(wins - wins.T)
    # above the rounding of a sum of margins, or the search could run in circles
    least_gain = 1e-9 * np.abs(margin).max()
    return _insertion_search(margin, np.array(order, np.int32), least_gain)


@nb.njit(cache=True, nogil=True)
def _insertion_search(margin, order, least_gain):
    """`margin[i, j]` is gained by putting i above j. An item's best place is found by one walk up and one walk down."""
    n_items = len(order)
    moved = True
    while moved:
        moved = False
        for item in range(n_items):
            place = 0
            while order[place] != item:
                place += 1
            best_gain, best_place, gain = least_gain, place, 0.0
            for r in range(place - 1, -1, -1):
                gain += margin[item, order[r]]
                if gain > best_gain:
                    best_gain, best_place = gain, r
            gain = 0.0
            for r in range(place + 1, n_items):
                gain += margin[order[r], item]
                if gain > best_gain:
                    best_gain, best_place = gain, r
            if best_place != place:
                step = 1 if best_place > place else -1
                for r in range(place, best_place, step):
                    order[r] = order[r + step]
                order[best_place] = item
                moved = True
    return order


@nb.njit(cache=True, nogil=True)
def _exact(wins):
    """Dynamic programme over sets: the best value of ranking a set first is over which of its items comes last."""
    n_items = len(wins)
    best = np.full(1 << n_items, -np.inf)
    last = np.zeros(1 << n_items, np.int32)
    best[0] = 0.0
    for chosen in range(1, 1 << n_items):
        for item in range(n_items):
            if chosen >> item & 1:
                rest = chosen & ~(1 << item)
                gain = 0.0
                for other in range(n_items):
                    if rest >> other & 1:
                        gain += wins[other, item]
                if best[rest] + gain > best[chosen]:
                    best[chosen], last[chosen] = best[rest] + gain, item
    order = np.empty(n_items, np.int32)
    chosen = (1 << n_items) - 1
    for r in range(n_items - 1, -1, -1):
        order[r] = last[chosen]
        chosen &= ~(1 << last[chosen])
    return order
