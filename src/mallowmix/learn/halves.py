"""Each person's comparisons split at random into two halves, as Lemma 2 asks."""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.randomness import uniforms

_STEP = 20


class Halves(NamedTuple):
    """A block's two halves: rows `starts[m]:starts[m+1]` of user m, how much of each row's weight lies in either half."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]


def split(block: Block, key: np.uint64) -> Halves:
    """Split every user's comparisons in two; the sizes differ by one at most, and chance decides which half gets the odd one.

    A row of weight w stands for w comparisons, each of which falls in either half by itself; a fractional rest goes as one piece.
    """
    first = _split(block.starts, block.weight, block.first_user, key)
    return Halves(first, block.weight - first)


@nb.njit(cache=True, nogil=True)
def _split(starts, weight, first_user, key):
    """Selection sampling: walk through the n comparisons, taking each with probability (still wanted) / (still to come)."""
    first = np.zeros(len(weight))
    for m in range(len(starts) - 1):
        left = 0
        for row in range(starts[m], starts[m + 1]):
            left += int(np.ceil(weight[row]))
        coin, _ = uniforms(key, _STEP, first_user + m, 0, 1)
        wanted = left // 2 + (1 if left % 2 == 1 and coin < 0.5 else 0)
        token = 0
        for row in range(starts[m], starts[m + 1]):
            rest = weight[row]
            while rest > 0:
                u, _ = uniforms(key, _STEP, first_user + m, token, 0)
                piece = min(1.0, rest)
                if u * left < wanted:
                    first[row] += piece
                    wanted -= 1
                rest -= piece
                left -= 1
                token += 1
    return first
