"""Natural order, in which labels are shown: p1, p2, p10. Inside, text numbers them."""

import re
from collections.abc import Sequence
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, text_of

_DIGITS = re.compile("([0-9]+)")


def natural_key(label: object) -> tuple[tuple[object, ...], str]:
    """Return what a label is sorted by: its text, with numbers in it by their value."""
    parts = _DIGITS.split(str(label))  # text, digits, text, …
    key = (_by_value(part) if n % 2 else part for n, part in enumerate(parts))
    return tuple(key), str(label)


def _by_value(digits: str) -> tuple[int, str]:
    """Return a number of any length so that a smaller one comes first."""
    plain = digits.lstrip("0")
    return len(plain), plain


def natural_order(labels: Sequence[object] | Labels, first: int | None = None) -> NDArray[np.int64]:
    """Return the numbers of labels in the order in which they are shown.

    Parameters
    ----------
    labels : sequence of labels
        In any order.
    first : int
        How many to return; all unless given.

    Returns
    -------
    (n,) array of int
        ``labels[natural_order(labels)]`` is sorted.

    Examples
    --------
    >>> from mallowmix.data.natural_order import natural_order
    >>> [["p1", "p10", "p2"][i] for i in natural_order(["p1", "p10", "p2"])]
    ['p1', 'p2', 'p10']
    """
    text = text_of(labels)
    n = len(text) if first is None else first
    return np.array(nsmallest(n, range(len(text)), key=lambda i: natural_key(text[i])), np.int64)
