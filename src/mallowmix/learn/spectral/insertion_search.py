"""Insertion search where the value of a pair depends on its gap alone.

Single items move to their best positions until no move helps, or those of a pass over all items
help little, or every item was tried a hundred times. An item is taken out and put back at every
position q. Its own pairs change, and the pairs with one item on either side of it end one position
further apart. So with positions counted without the item, position q has the value

    own(q) + Σ_{s < q ≤ t} step(s, t),

where step(s, t) is what the pair in positions s < t gains from one more position between them.

`own` adds up rows of the table, in the order of memory. From one position to the next the second
sum changes by the pairs of a single item, Σ_{t > q} step(q, t) − Σ_{s < q} step(s, q), a
difference of running sums over all pairs.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import zeros

_LEAST = 1e-7  # what a move must gain
_PASSES = 100  # every item is tried so often at most


def insert_by_gap(
    values: NDArray[np.floating],
    order: NDArray[np.int32],
    turns: NDArray[np.int32] | None = None,
    enough: float = 0.0,
) -> NDArray[np.int32]:
    """Move items until no move raises the value of the order.

    It is soonest where items are numbered about as they are ordered: then it reads the table as it
    lies in memory.

    Parameters
    ----------
    values : (Q, Q, 2D + 1) array
        values[i, j, D + g] is the value of the pair when item i is g positions below item j; gaps
        beyond D count as D.
    order : (Q,) array of int32
        Where to begin: items, best first.
    turns : (Q,) array of int32, optional
        The items in the order in which they are tried; 0 … Q − 1 unless given.
    enough : float
        The search also ends after a pass over all items that gained less than this part of what the
        first pass gained. With 0 no move is left that helps.

    Returns
    -------
    (Q,) array of int32
        Items, best first.
    """
    turns = np.arange(len(order), dtype=np.int32) if turns is None else turns
    values, Q = np.ascontiguousarray(values), len(order)
    # differences of two numbers of the table, of its precision; their sums are of float64
    room = np.zeros((2, Q, Q), values.dtype), np.zeros((2, Q + 1, Q)), np.empty(Q)
    return _insert(values, np.array(order, np.int32), turns, float(enough), *room)


@compiled
def _insert(values, order, turns, enough, steps, sums, worth):
    Q = len(order)
    _find_steps(values, order, np.int64(0), Q, steps, sums)
    turn = idle = 0
    gained, first_gained = 0.0, 0.0
    while idle < Q and turn < _PASSES * Q:
        if turn % Q == 0:
            if turn > Q and gained < enough * first_gained:
                break
            first_gained = gained if turn == Q else first_gained
            gained = 0.0
        position = 0
        while order[position] != turns[turn % Q]:
            position += 1
        _own(values, order, position, worth)
        _add_others(sums, position, worth)
        best = 0
        for q in range(Q):
            if worth[q] > worth[best]:
                best = q
        turn, idle = turn + 1, idle + 1
        if worth[best] > worth[position] + _LEAST:
            gained += worth[best] - worth[position]
            _move(order, position, best)
            _find_steps(values, order, min(position, best), max(position, best) + 1, steps, sums)
            idle = 0
    return order


@compiled(fastmath=True)
def _own(values, order, position, worth):
    """The value of the item's own pairs at each position q: others in positions t < q are above."""
    Q, D = len(order), values.shape[2] // 2
    far = zeros(Q + 1)  # what gaps beyond D add from this position on
    worth[:] = 0.0
    for t in range(Q - 1):
        row = values[order[position], order[t + (t >= position)]]
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


@compiled(inline="always")
def _add_others(sums, position, worth):
    """Add what the pairs of the others gain; those around the item now have their gap already."""
    Q, total = len(worth), 0.0
    for q in range(Q):
        worth[q] += total
        f = q + (q >= position)
        if f < position:
            total += sums[0, position, f] + sums[1, Q, f] - sums[1, position + 1, f]
        elif f < Q:
            total += sums[0, Q, f] - sums[0, position + 1, f] + sums[1, position, f]


@compiled(inline="always")
def _move(order, position, target):
    item, step = order[position], 1 if target > position else -1
    for r in range(position, target, step):
        order[r] = order[r + step]
    order[target] = item


@compiled
def _find_steps(values, order, first, last, steps, sums):
    """Steps of pairs of positions `first` to `last`; sums[·, n, f] = Σ_{t < n} steps[·, f, t]."""
    # steps[0, f, t] is what the pair gains from one more position between, steps[1, f, t] what it
    # gained from the last one. Both have a minus where f is the lower position, so that a row adds
    # up to what `_add_others` needs.
    Q, D = len(order), values.shape[2] // 2
    near, here, far = (
        np.empty(Q, values.dtype),
        np.empty(Q, values.dtype),
        np.empty(Q, values.dtype),
    )
    for f in range(first, last):
        own = values[order[f]]
        # first read, then compute: reads of a large table wait for memory, and so wait together
        for t in range(Q):
            row, gap, away = own[order[t]], f - t, 1 if f > t else -1
            near[t] = row[min(max(D + gap - away, 0), 2 * D)]
            here[t] = row[min(max(D + gap, 0), 2 * D)]
            far[t] = row[min(max(D + gap + away, 0), 2 * D)]
        for t in range(Q):
            away = 1 if f > t else -1
            more = far[t] - here[t] if f != t else 0.0
            last_one = here[t] - near[t] if abs(f - t) > 1 else 0.0
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
