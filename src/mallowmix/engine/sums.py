"""Sums of what steps and calls answer, taken in their order."""

from copy import copy
from typing import Any

import numpy as np


def add(total: Any, part: Any) -> Any:
    """Add a block's sum to the total, in place: numbers, arrays, or tuples of them.

    None adds nothing. The first sum is copied, since it may be a view of the block's state. A sum
    of float32 is taken in float64.
    """
    if part is None:
        return total
    if isinstance(part, tuple):
        before = total or [None] * len(part)
        return tuple(add(a, b) for a, b in zip(before, part, strict=True))
    if total is None:
        narrow = isinstance(part, np.ndarray) and part.dtype == np.float32
        return part.astype(np.float64) if narrow else copy(part)
    total += part
    return total
