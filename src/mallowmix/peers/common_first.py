"""Items that two Mallows components have first in common, the degenerate case of the top three.

Where both references begin with the same items, in the same order, and φ is alike, their tables of
first three items are nearly proportional and the tensor has one term only. But a Mallows model of
which the first item of the reference is left out is again a Mallows model, with the same φ and the
reference of the others. So the common first item, the one that is most often first, is left out
until the rest separates; afterwards it goes back on top of both (Awasthi et al., their degenerate
case). Whether it is the first of both is checked: with reference position 0 of n its own position
is r with probability φ^r / S_n.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array

# total variation between an item's positions and those of a common first one, beyond √(n / N): so
# much comes from the error of φ
_MOST_VARIATION = 0.06


class WithoutFirst(NamedTuple):
    """Rankings after items were left out.

    Attributes
    ----------
    order : ndarray of int, shape (N, n)
        The rankings of the others, best first, as numbers in `items`.
    items : ndarray of int, shape (n,)
        Their numbers before that.
    left_out : tuple of int
        Numbers of the items that are left out, the best first.
    positions : tuple of ndarray
        The distribution of the position of each of them, among those that were there with it.
    """

    order: NDArray[np.int32]
    items: NDArray[np.int64]
    left_out: tuple[int, ...] = ()
    positions: tuple[Array, ...] = ()


def leave_out(found: WithoutFirst, item: int, weight: Array) -> WithoutFirst:
    """Leave one more item out.

    Parameters
    ----------
    found : WithoutFirst
        The rankings.
    item : int
        Its number in `found.items`.
    weight : ndarray, shape (N,)
        How often each ranking was given.

    Returns
    -------
    WithoutFirst
        The rankings of the others.
    """
    N, n = found.order.shape
    there = found.order == item
    positions = np.bincount(there.argmax(axis=1), weight / weight.sum(), n).astype(float)
    others = found.order[~there].reshape(N, n - 1)
    return WithoutFirst(
        (others - (others > item)).astype(np.int32),
        np.delete(found.items, item),
        (*found.left_out, int(found.items[item])),
        (*found.positions, positions),
    )


def variations(found: WithoutFirst, phi: Array, share: Array) -> Array:
    """How far each left-out item's positions are from those of an item that is first in all.

    Parameters
    ----------
    found : WithoutFirst
        The left-out items.
    phi, share : ndarray, shape (2,)
        Of the components.

    Returns
    -------
    ndarray, shape (left out,)
        Total variation, from 0 to 1.
    """
    away = []
    for positions in found.positions:
        powers = phi[:, None] ** np.arange(len(positions))  # (2, n)
        expected = share @ (powers / powers.sum(axis=1, keepdims=True))
        away.append(float(np.abs(positions - expected).sum()) / 2)
    return np.array(away)


def are_common(found: WithoutFirst, phi: Array, share: Array, n_rankings: float) -> bool:
    """Whether all left-out items can be first in both components.

    Parameters
    ----------
    found, phi, share
        As in `variations`.
    n_rankings : float
        N, from which comes the noise.
    """
    noise = np.sqrt(len(found.items) / n_rankings)
    return bool(np.all(variations(found, phi, share) <= _MOST_VARIATION + noise))


def on_top(found: WithoutFirst, orders: NDArray[np.int32]) -> NDArray[np.int32]:
    """Put the left-out items on top of both orders.

    Parameters
    ----------
    found : WithoutFirst
        The left-out items.
    orders : ndarray of int, shape (2, n)
        Orders of the others, as numbers in `found.items`.

    Returns
    -------
    ndarray of int, shape (2, Q)
        Orders of all items.
    """
    first = np.tile(np.array(found.left_out, np.int64), (len(orders), 1))
    return np.concatenate([first, found.items[orders]], axis=1).astype(np.int32)
