"""Insertion search where the value of a pair depends on its gap alone.

Single items move to their best positions until no move helps, or those of a pass over all items
help little, or every item was tried a hundred times. An item is taken out and put back at every
position q. Its own pairs change, and the pairs with one item on either side of it end one position
further apart. So with positions counted without the item, position q has the value

    own(q) + Σ_{s < q ≤ t} step(s, t),

where step(s, t) is what the pair in positions s < t gains from one more position between them.

`own` adds up rows of the table. From one position to the next the second sum changes by the pairs
of a single item, Σ_{t > q} step(q, t) − Σ_{s < q} step(s, q). Both are sums over all pairs of an
item less those up to the position of the item that is tried (`_Sums`). From one item that is tried
to the next, and after a move, they change by the pairs of the positions in between.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import zero_rows
from mallowmix.typing import Array

_LEAST = 1e-7  # what a move must gain
_PASSES = 100  # every item is tried so often at most


class _Sums(NamedTuple):
    """Steps of all pairs, and their sums.

    Attributes
    ----------
    steps : (2, Q, Q) array
        steps[0, f, t] is what the pair of positions f and t gains from one more position between,
        steps[1, f, t] what it gained from the last one. Both have a minus where f is the lower
        position: steps[·, f, t] = −steps[·, t, f].
    whole : (2, Q) array
        Σ_t steps[·, f, t].
    before : (2, Q) array
        Σ_{t < r} steps[·, f, t] for a position r.
    """

    steps: NDArray[np.floating]
    whole: Array
    before: Array


def insert_by_gap(
    values: NDArray[np.floating],
    order: NDArray[np.int32],
    enough: float = 0.0,
) -> NDArray[np.int32]:
    """Move items until no move raises the value of the order.

    Items take turns by their numbers. It is soonest where they are numbered about as they are
    ordered: then it reads the table as it lies in memory, and next to an item is the one before.

    Parameters
    ----------
    values : (P, 2D + 1) array
        Of the pairs (0, 1), (0, 2), …, (1, 2), …: values[p, D + g] is the value of pair p when its
        lower-numbered item is g positions below the other; gaps beyond D count as D.
    order : (Q,) array of int32
        Where to begin: items, best first.
    enough : float
        The search also ends after a pass over all items that gained less than this part of what the
        first pass gained. With 0 no move is left that helps.

    Returns
    -------
    (Q,) array of int32
        Items, best first.
    """
    Q = len(order)
    if Q < 2:  # no pair
        return np.array(order, np.int32)
    sums = new_sums(Q, values.dtype)
    return _insert(values, np.array(order, np.int32), float(enough), sums, np.empty(Q))


def new_sums(n_items: int, dtype: np.dtype) -> _Sums:
    """Room for the steps and sums of Q items; steps have the precision of the table."""
    sums = np.zeros((2, 2, n_items))
    return _Sums(np.zeros((2, n_items, n_items), dtype), sums[0], sums[1])


@compiled
def _insert(values, order, enough, sums, worth):
    Q, at = len(order), np.int64(0)  # the position that `sums.before` is of
    _find_steps(values, order, np.int64(0), Q, sums)
    turn = idle = 0
    gained, first_gained = 0.0, 0.0
    while idle < Q and turn < _PASSES * Q:
        if turn % Q == 0:
            if turn > Q and gained < enough * first_gained:
                break
            first_gained = gained if turn == Q else first_gained
            gained = 0.0
        position = 0
        while order[position] != turn % Q:
            position += 1
        _go_to(sums, at, position)
        at = position
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
            at = min(position, best)
            _go_to(sums, position, at)
            _find_steps(values, order, at, max(position, best) + 1, sums)
            idle = 0
    return order


@compiled(fastmath=True)
def _own(values, order, position, worth):
    """The value of the item's own pairs at each position q: others in positions t < q are above."""
    # A row is of the lower-numbered item. Where that is the other one, gaps have the other sign:
    # the same sums, with positions counted from below. far[s, q] is what gaps beyond D add from
    # position q on.
    Q, D, item = len(order), values.shape[1] // 2, order[position]
    sums, far = zero_rows(2, Q), zero_rows(2, Q + 1)
    for other in range(Q - 1):
        j = order[other + (other >= position)]
        low, high, below = min(item, j), max(item, j), 0 if item < j else 1
        row = values[low * (2 * Q - low - 1) // 2 + high - low - 1]
        t = Q - 2 - other if below else other
        first, last = max(0, t + 1 - D), min(Q, t + 1 + D)
        upper, lower = sums[below, first : t + 1], sums[below, t + 1 : last]
        own_upper, own_lower = row[D - len(upper) : D], row[D + 1 : D + 1 + len(lower)]
        for q in range(len(upper)):  # q ≤ t: t + 1 − q above
            upper[q] += own_upper[q]
        for q in range(len(lower)):  # q > t: q − t below
            lower[q] += own_lower[q]
        far[below, 0] += row[0]
        far[below, first] -= row[0]
        far[below, last] += row[2 * D]
    for below in range(2):
        for q in range(Q):
            far[below, q + 1] += far[below, q]
    for q in range(Q):
        r = Q - 1 - q
        worth[q] = sums[0, q] + far[0, q] + sums[1, r] + far[1, r]


@compiled(inline="always")
def _add_others(sums, position, worth):
    """Add what the pairs of the others gain; those around the item now have their gap already."""
    steps, whole, before = sums
    Q, total = len(worth), 0.0
    for q in range(Q):
        worth[q] += total
        f = q + (q >= position)
        if f < position:
            total += before[0, f] + whole[1, f] - before[1, f] - steps[1, f, position]
        elif f < Q:
            total += whole[0, f] - before[0, f] - steps[0, f, position] + before[1, f]


@compiled(inline="always")
def _move(order, position, target):
    item, step = order[position], 1 if target > position else -1
    for r in range(position, target, step):
        order[r] = order[r + step]
    order[target] = item


@compiled(fastmath=True)
def _go_to(sums, at, position):
    """Make the sums before position `at` those before another one."""
    steps, before, sign = sums[0], sums[2], 1.0 if at < position else -1.0
    for t in range(min(at, position), max(at, position)):
        for kind in range(2):
            for f in range(before.shape[1]):
                before[kind, f] -= sign * steps[kind, t, f]  # steps[f, t] = −steps[t, f]


@compiled(fastmath=True)
def _find_steps(values, order, first, last, sums):
    """Steps of pairs of positions `first` to `last` and all sums, `before` being before `first`."""
    steps, whole, before = sums
    Q, D = len(order), values.shape[1] // 2
    near, here, far = (
        np.empty(Q, values.dtype),
        np.empty(Q, values.dtype),
        np.empty(Q, values.dtype),
    )
    for kind in range(2):
        for f in range(first, last):
            for t in range(Q):
                whole[kind, t] += steps[kind, f, t]
    for f in range(first, last):
        # first read, then compute: reads of a large table wait for memory, and so wait together
        for t in range(Q):
            low, high = min(order[f], order[t]), max(order[f], order[t])
            row = values[max(low * (2 * Q - low - 1) // 2 + high - low - 1, 0)]
            # a row is of the lower-numbered item, whose gap is that of f or the opposite of it
            gap, away = f - t, 1 if f > t else -1
            if order[f] > order[t]:
                gap, away = -gap, -away
            near[t] = row[min(max(D + gap - away, 0), 2 * D)]
            here[t] = row[min(max(D + gap, 0), 2 * D)]
            far[t] = row[min(max(D + gap + away, 0), 2 * D)]
        for t in range(Q):
            away = 1 if f > t else -1
            steps[0, f, t] = away * (here[t] - far[t]) if f != t else 0.0
            steps[1, f, t] = away * (near[t] - here[t]) if abs(f - t) > 1 else 0.0
    for kind in range(2):
        for t in range(Q):
            for f in range(first, last):
                steps[kind, t, f] = -steps[kind, f, t]
        for f in range(first, last):
            for t in range(Q):
                whole[kind, t] -= steps[kind, f, t]
        for f in range(first, last):
            whole[kind, f] = before[kind, f] = 0.0
            for t in range(Q):
                whole[kind, f] += steps[kind, f, t]
                before[kind, f] += steps[kind, f, t] if t < first else 0.0
