"""The graph of comparisons: which items are linked by a chain of comparisons."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mallowmix.data.comparisons import Comparisons


def connected_pieces(
    comparisons: Comparisons, compared: NDArray[np.bool_]
) -> list[NDArray[np.intp]]:
    """Find the items of each connected piece, largest first.

    Parameters
    ----------
    comparisons : Comparisons
        An edge each.
    compared : (Q,) array of bool
        Which items were ever compared; the others are in no piece.
    """
    Q, pairs = comparisons.n_items, _distinct(comparisons.pair, comparisons.n_items)
    edges = coo_array((np.ones(len(pairs)), np.divmod(pairs, Q)), shape=(Q, Q))
    _, piece_of = connected_components(edges.tocsr(), directed=False)
    items = np.flatnonzero(compared)
    items = items[np.argsort(piece_of[items], kind="stable")]
    pieces = np.split(items, np.flatnonzero(np.diff(piece_of[items])) + 1)
    return sorted(
        (piece for piece in pieces if len(piece)), key=lambda piece: (-len(piece), piece[0])
    )


def _distinct(pairs: NDArray[np.integer], n_items: int) -> NDArray[np.integer]:
    """The ordered pairs that occur, in order: marked where a mark for each is no more to hold."""
    if n_items**2 > max(len(pairs), 1):
        return np.unique(pairs)
    seen = np.zeros(n_items**2, bool)
    seen[pairs] = True
    return np.flatnonzero(seen)
