"""The ranking that agrees best with a table of wins (Kemeny's).

Exact for few items (Held and Karp's dynamic programme), insertion search for many.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.numerics.compiled import compiled

EXACT_UP_TO = 12
_FEW_ITEMS = 25  # for which compiling takes longer than searching a hundred times


def best_order(wins: ArrayLike) -> NDArray[np.int32]:
    """The order that maximises Σ wins[i, j] over the pairs that it puts i above j.

    Parameters
    ----------
    wins : (Q, Q) array_like
        How often, or with what weight, i was preferred to j.

    Returns
    -------
    (Q,) array of int32
        Items, best first: exact up to 12 items, a local optimum beyond.
    """
    wins = np.ascontiguousarray(wins, np.float64)
    if len(wins) <= EXACT_UP_TO:
        return _exact(wins)
    return insertion_search(wins, borda_order(wins))


def borda_order(wins: ArrayLike) -> NDArray[np.int32]:
    """Items by their mean fraction of wins, best first; a pair never compared counts one half.

    Parameters
    ----------
    wins : (Q, Q) array_like
        How often i was preferred to j.

    Returns
    -------
    (Q,) array of int32
        Items, best first.
    """
    wins = np.asarray(wins, np.float64)
    total = wins + wins.T
    fraction = np.divide(wins, total, out=np.full_like(wins, 0.5), where=total > 0)
    return np.argsort(-fraction.sum(axis=1), kind="stable").astype(np.int32)


def insertion_search(wins: ArrayLike, order: ArrayLike) -> NDArray[np.int32]:
    """Move single items to their best position until no move helps; the agreement never falls.

    Parameters
    ----------
    wins : (Q, Q) array_like
        How often i was preferred to j.
    order : (Q,) array_like
        Where to begin: items, best first.

    Returns
    -------
    (Q,) array of int32
        Items, best first: a local optimum of the agreement Σ wins[i, j].
    """
    wins = np.asarray(wins, np.float64)
    margin = np.ascontiguousarray(wins - wins.T)
    # above the rounding of a sum of margins, or the search could run in circles
    least_gain = 1e-9 * np.abs(margin).max()
    search = _insertion_search.interpreted if len(wins) <= _FEW_ITEMS else _insertion_search
    return search(margin, np.array(order, np.int32), least_gain)


@compiled
def _insertion_search(margin, order, least_gain):
    """`margin[i, j]` is gained by putting i above j; one walk up and one down finds the best."""
    n_items = len(order)
    moved = True
    while moved:
        moved = False
        for item in range(n_items):
            position = 0
            while order[position] != item:
                position += 1
            best_gain, best_position, gain = least_gain, position, 0.0
            for r in range(position - 1, -1, -1):
                gain += margin[item, order[r]]
                if gain > best_gain:
                    best_gain, best_position = gain, r
            gain = 0.0
            for r in range(position + 1, n_items):
                gain += margin[order[r], item]
                if gain > best_gain:
                    best_gain, best_position = gain, r
            if best_position != position:
                step = 1 if best_position > position else -1
                for r in range(position, best_position, step):
                    order[r] = order[r + step]
                order[best_position] = item
                moved = True
    return order


@compiled
def _exact(wins):
    """Dynamic programme over sets: the best value of ranking a set first, over its last item."""
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
