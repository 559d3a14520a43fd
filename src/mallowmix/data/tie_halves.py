"""The two halves of a tie: one answer as two rows of weight ½, one for either order of the pair."""

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array


def tie_halves(
    starts: NDArray[np.integer], pair: NDArray[np.integer], weight: Array, n_items: int
) -> Array | None:
    """(rows,) ¼ for rows that hold half a tie, else 0.

    Half a tie is a fractional part of ½ in a user's weights for both orders of a pair. A pair may
    have several rows, from several rankings of the user.

    Parameters
    ----------
    starts, pair, weight : arrays
        Rows of users, as in `engine.blocks.Block`; within a user sorted by pair.
    n_items : int
        Q.

    Returns
    -------
    array or None
        None where there are no ties.
    """
    half = weight - np.floor(weight) == 0.5
    if not half.any():
        return None
    codes = pair.astype(np.int64)
    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * n_items**2
    key, opposite = (
        user + codes,
        user + codes % n_items * n_items + codes // n_items,
    )  # rows are sorted by key
    rows = np.flatnonzero(half)
    key, opposite = key[rows], opposite[rows]
    # a pair that is tied in several rankings has as many rows of either order, in their order
    nth = np.arange(len(key)) - np.searchsorted(key, key)
    at = np.minimum(np.searchsorted(key, opposite) + nth, len(key) - 1)
    quarters = np.zeros(len(weight))
    quarters[rows] = np.where(key[at] == opposite, 0.25, 0.0)
    return quarters
