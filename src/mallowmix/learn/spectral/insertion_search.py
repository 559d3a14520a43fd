"""Insertion search: single items go to their best places until no move helps, where a pair's worth depends on its gap alone.

(Or until every item was tried a hundred times.) An item is taken out and put back at every place q. Its own pairs change, and the
pairs that it comes to stand between end one place further apart. So a place is worth, places counted without the item,

    own(q) + Σ_{s < q ≤ t} step(s, t),    step(s, t): what the pair in places s < t gains from one more place between them.

`own` adds up rows of the table, read as they lie in memory. From one place to the next the second sum changes by the pairs of a
single item, Σ_{t > q} step(q, t) − Σ_{s < q} step(s, q), which is read off running sums over all pairs.
"""

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

_LEAST = 1e-7  # what a move must gain
_PASSES = 100  # every item is tried so often at most


def insert_by_gap(values: NDArray[Any], order: NDArray[np.int32]) -> NDArray[np.int32]:
    """The order after all moves; `values[i, j, D + g]` is what the pair is worth when item i is placed g below item j.

    Gaps beyond D count as D.
    """
    return _insert(np.ascontiguousarray(values), np.array(order, np.int32))


@nb.njit(cache=True, nogil=True)
def _insert(values, order):
    Q = len(order)
    steps, sums, worth = np.zeros((2, Q, Q)), np.zeros((2, Q + 1, Q)), np.empty(Q)
    _find_steps(values, order, 0, Q, steps, sums)
    turn = idle = 0
    while idle < Q and turn < _PASSES * Q:
        place = 0
        while order[place] != turn % Q:
            place += 1
        _own(values, order, place, worth)
        _add_others(sums, place, worth)
        best = np.argmax(worth)
        turn, idle = turn + 1, idle + 1
        if worth[best] > worth[place] + _LEAST:
            _move(order, place, best)
            _find_steps(values, order, min(place, best), max(place, best) + 1, steps, sums)
            idle = 0
    return order


@nb.njit(cache=True, nogil=True, fastmath=True)
def _own(values, order, place, worth):
    """What the item's own pairs are worth with it at each place q: of the others, those in places t < q are above it."""
    Q, D = len(order), values.shape[2] // 2
    far = np.zeros(Q + 1)  # what gaps beyond D add from this place on
    worth[:] = 0.0
    for t in range(Q - 1):
        row = values[order[place], order[t + (t >= place)]]
        first, last = max(0, t + 1 - D), min(Q, t + 1 + D)
        above, below = worth[first : t + 1], worth[t + 1 : last]
        worth_above, worth_below = row[D - len(above) : D], row[D + 1 : D + 1 + len(below)]
        for q in range(len(above)):  # q ≤ t: t + 1 − q above
            above[q] += worth_above[q]
        for q in range(len(below)):  # q > t: q − t below
            below[q] += worth_below[q]
        far[0] += row[0]
        far[first] -= row[0]
        far[last] += row[2 * D]
    total = 0.0
    for q in range(Q):
        total += far[q]
        worth[q] += total


@nb.njit(cache=True, nogil=True)
def _add_others(sums, place, worth):
    """Add what the pairs of the others gain; where they stand on both sides of the item now, the place between is there."""
    Q, total = len(worth), 0.0
    for q in range(Q):
        worth[q] += total
        f = q + (q >= place)
        if f < place:
            total += sums[0, place, f] + sums[1, Q, f] - sums[1, place + 1, f]
        elif f < Q:
            total += sums[0, Q, f] - sums[0, place + 1, f] + sums[1, place, f]


@nb.njit(cache=True, nogil=True)
def _move(order, place, target):
    item, step = order[place], 1 if target > place else -1
    for r in range(place, target, step):
        order[r] = order[r + step]
    order[target] = item


@nb.njit(cache=True, nogil=True)
def _find_steps(values, order, first, last, steps, sums):
    """Steps of the pairs of places `first` up to `last`; then sums[·, n, f] = Σ_{t < n} steps[·, f, t] for all.

    steps[0, f, t] : what the pair gains from one more place between; steps[1, f, t] : what it gained from the last one. Both
        with a minus where f is the lower place, so that a row adds up to what the search asks for
    """
    Q, D = len(order), values.shape[2] // 2
    for f in range(first, last):
        for t in range(Q):
            gap, away = f - t, 1 if f > t else -1
            row = values[order[f], order[t]]
            more = row[D + gap + away] - row[D + gap] if 0 < abs(gap) < D else 0.0
            last_one = row[D + gap] - row[D + gap - away] if 1 < abs(gap) <= D else 0.0
            steps[0, f, t], steps[1, f, t] = -away * more, -away * last_one
            steps[0, t, f], steps[1, t, f] = away * more, away * last_one
    for kind in range(2):
        for t in range(Q):
            changed = slice(first, last) if t < first else slice(0, Q)
            before, after, step = (
                sums[kind, t, changed],
                sums[kind, t + 1, changed],
                steps[kind, t, changed],
            )
            for f in range(len(step)):
                after[f] = before[f] - step[f]  # steps[t, f] = −steps[f, t]
