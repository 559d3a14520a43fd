"""Masks: which comparisons of a user are hidden while a predictor is learnt.

A user's other comparisons are given, and the hidden ones are predicted from them.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, uniforms
from mallowmix.numerics.work_arrays import minus_ones

_MASKS = int(Step.MASKS)
_LEAST_HIDDEN, _MOST_HIDDEN = 0.2, 0.6  # the share of a user's items that are hidden lies between
_HIDDEN_ROWS = 0.2  # of the comparisons of two items that are not


def mask_rows(
    starts: NDArray[np.int64],
    pair: NDArray[np.integer],
    n_items: int,
    first_user: int,
    key: np.uint64,
) -> NDArray[np.int8]:
    """Hide part of each user's comparisons, and count the given items of each hidden pair.

    Of each user a share of the items is hidden, between a fifth and three fifths, drawn for each
    user; all comparisons of a hidden item are hidden. Of the other comparisons a fifth is hidden.

    Parameters
    ----------
    starts : (M + 1,) array of int
        The rows of the m-th user are ``starts[m]`` to ``starts[m + 1]``.
    pair : (rows,) array of int
        The ordered pairs, winner · Q + loser.
    n_items : int
        Q.
    first_user : int
        The number of the first of these users among all users.
    key : uint64
        The key of the random numbers (`numerics.randomness.as_key`).

    Returns
    -------
    (rows,) array of int8
        −1 for a given row; for a hidden row, how many of its two items are in given rows: 0, 1, 2.
    """
    category = np.full(len(pair), -1, np.int8)
    _mask(starts, pair, n_items, first_user, key, category)
    return category


@compiled
def _mask(starts, pair, Q, first_user, key, category):
    known, hidden = minus_ones(Q), minus_ones(Q)
    for m in range(len(starts) - 1):
        user = first_user + m
        u, _ = uniforms(key, _MASKS, user, Q, 0)
        share = _LEAST_HIDDEN + (_MOST_HIDDEN - _LEAST_HIDDEN) * u
        for row in range(starts[m], starts[m + 1]):
            for item in (pair[row] // Q, pair[row] % Q):
                if uniforms(key, _MASKS, user, item, 1)[0] < share:
                    hidden[item] = m
        for row in range(starts[m], starts[m + 1]):
            i, j = pair[row] // Q, pair[row] % Q
            code = min(i, j) * Q + max(i, j)  # both orders of a pair go the same way
            out = hidden[i] == m or hidden[j] == m
            if out or uniforms(key, _MASKS, user, code, 2)[0] < _HIDDEN_ROWS:
                category[row] = 0
            else:
                known[i], known[j] = m, m
        for row in range(starts[m], starts[m + 1]):
            if category[row] >= 0:
                i, j = pair[row] // Q, pair[row] % Q
                category[row] = (known[i] == m) + (known[j] == m)
