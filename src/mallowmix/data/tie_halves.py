"""The two halves of a tie: one answer as two rows of weight ½, one for either order of the pair."""

from typing import Any

import numpy as np


def tie_halves(starts: Any, pair: Any, weight: Any, n_items: int, xp: Any = np) -> Any:
    """(rows,) ¼ for rows that hold half a tie, else 0.

    Half a tie is a fractional part of ½ in a user's weights for both orders of a pair. A pair may
    have several rows, from several rankings of the user.

    Parameters
    ----------
    starts, pair, weight : arrays
        Rows of users, as in `engine.blocks.Block`; within a user sorted by pair.
    n_items : int
        Q.
    xp : module
        numpy, or CuPy where the arrays live on a GPU.

    Returns
    -------
    array or None
        None where there are no ties.
    """
    half = weight - xp.floor(weight) == 0.5
    if not half.any():
        return None
    codes = pair.astype(np.int64)
    user = rows_users(starts, len(pair), xp) * n_items**2
    key, opposite = (
        user + codes,
        user + codes % n_items * n_items + codes // n_items,
    )  # rows are sorted by key
    rows = xp.flatnonzero(half)
    key, opposite = key[rows], opposite[rows]
    # a pair that is tied in several rankings has as many rows of either order, in their order
    nth = xp.arange(len(key)) - xp.searchsorted(key, key)
    at = xp.minimum(xp.searchsorted(key, opposite) + nth, len(key) - 1)
    quarters = xp.zeros(len(weight))
    quarters[rows] = xp.where(key[at] == opposite, 0.25, 0.0)
    return quarters


def rows_users(starts: Any, n_rows: int, xp: Any = np) -> Any:
    """(rows,) the user of each row."""
    return xp.searchsorted(starts, xp.arange(n_rows), side="right") - 1
