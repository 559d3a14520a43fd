"""Masks: which comparisons of a user are hidden while a predictor is learnt.

A user's other comparisons are given, and the hidden ones are predicted from them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.numerics.randomness import Step, uniforms
from mallowmix.typing import Array

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
    Q, n = n_items, np.diff(starts)
    users = np.arange(first_user, first_user + len(n))
    share = _LEAST_HIDDEN + (_MOST_HIDDEN - _LEAST_HIDDEN) * _uniforms(key, users, Q, 0)
    user, share = np.repeat(users, n), np.repeat(share, n)
    items = np.divmod(np.asarray(pair, np.int64), Q)
    out = np.logical_or(*(_uniforms(key, user, item, 1) < share for item in items))
    # both orders of a pair go the same way
    code = np.minimum(*items) * Q + np.maximum(*items)
    out |= _uniforms(key, user, code, 2) < _HIDDEN_ROWS
    own = [(user - first_user) * Q + item for item in items]  # numbers of users' items
    given = np.concatenate([each[~out] for each in own])
    known = np.sum([np.isin(each, given) for each in own], axis=0, dtype=np.int8)
    return np.where(out, known, np.int8(-1))


def _uniforms(key: np.uint64, user: Any, token: Any, draw: int) -> Array:
    """Uniforms of users and tokens, for all at once."""
    return uniforms.interpreted(key, _MASKS, user, token, draw)[0]
