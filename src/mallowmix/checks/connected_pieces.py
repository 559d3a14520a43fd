"""The graph of comparisons: which items are linked by a chain of comparisons."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mallowmix.data.comparisons import Comparisons

_ROWS = 1 << 18  # marked at a time
Map = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]


def connected_pieces(
    pairs: NDArray[np.integer], compared: NDArray[np.bool_]
) -> list[NDArray[np.intp]]:
    """Find the items of each connected piece, largest first.

    Parameters
    ----------
    pairs : (n,) array of int
        An edge each, from `distinct_pairs`.
    compared : (Q,) array of bool
        Which items were ever compared; the others are in no piece.
    """
    Q = len(compared)
    edges = coo_array((np.ones(len(pairs)), np.divmod(pairs, Q)), shape=(Q, Q))
    _, piece_of = connected_components(edges.tocsr(), directed=False)
    items = np.flatnonzero(compared)
    items = items[np.argsort(piece_of[items], kind="stable")]
    pieces = np.split(items, np.flatnonzero(np.diff(piece_of[items])) + 1)
    return sorted(
        (piece for piece in pieces if len(piece)), key=lambda piece: (-len(piece), piece[0])
    )


def distinct_pairs(comparisons: Comparisons, each: Map = map) -> NDArray[np.integer]:
    """The ordered pairs that occur, in order: marked where a mark for each is no more to hold.

    Parameters
    ----------
    comparisons : Comparisons
        Whose pairs, winner · Q + loser.
    each : callable
        As `map`; it may make several calls at the same time.
    """
    Q, n_rows = np.int64(comparisons.n_items), len(comparisons)
    if max(n_rows, 1) < Q**2:
        return np.unique(comparisons.pair)
    seen = np.zeros(Q**2, bool)

    def mark(first: int) -> None:
        rows = slice(first, first + _ROWS)
        seen[comparisons.winner[rows] * Q + comparisons.loser[rows]] = True

    list(each(mark, range(0, n_rows, _ROWS)))
    return np.flatnonzero(seen)
