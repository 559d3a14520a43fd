"""Each person's comparisons split at random into two halves, as Lemma 2 asks."""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.engine.tie_halves import tie_halves
from mallowmix.numerics.randomness import uniforms

_STEP = 20


class Halves(NamedTuple):
    """A block's two halves: rows `starts[m]:starts[m+1]` of user m, how much of each row's weight lies in either half."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]


def split(block: Block, key: np.uint64) -> Halves:
    """Split every user's comparisons in two; the sizes differ by one at most, and chance decides which half gets the odd one.

    A row of weight w stands for w comparisons, each of which falls in either half by itself; a fractional rest goes as one piece,
    and the two halves of a tie go together (then sizes may differ by more).
    """
    first = _split(block.starts, block.weight, block.first_user, key)
    _keep_ties_whole(block, first)
    return Halves(first, block.weight - first)


def _keep_ties_whole(block: Block, first: NDArray[np.float64]) -> None:
    """The halves of a tie go where its later row's half went: they are one answer, and must not be found in both halves."""
    ties = tie_halves(block.starts, block.pair, block.weight, block.n_items)
    if ties is not None:
        _join(block.starts, block.pair, block.n_items, ties, first)


@nb.njit(cache=True, nogil=True)
def _join(starts, pair, n_items, ties, first):
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            winner, loser = pair[row] // n_items, pair[row] % n_items
            if ties[row] > 0 and winner < loser:
                other = starts[m] + np.searchsorted(
                    pair[starts[m] : starts[m + 1]], loser * n_items + winner
                )
                whole = np.floor(first[row])
                first[row] = whole + (first[other] - np.floor(first[other]))


@nb.njit(cache=True, nogil=True)
def _split(starts, weight, first_user, key):
    first = np.zeros(len(weight))
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        n = tokens(weight[rows])
        coin, _ = uniforms(key, _STEP, first_user + m, 0, 1)
        take(
            weight[rows],
            n,
            n // 2 + (1 if n % 2 == 1 and coin < 0.5 else 0),
            first[rows],
            key,
            _STEP,
            first_user + m,
        )
    return first


@nb.njit(cache=True, nogil=True)
def tokens(weight):
    """How many pieces rows of these weights stand for: whole comparisons, and a fractional rest as one piece."""
    n = 0
    for row in range(len(weight)):
        n += int(np.ceil(weight[row]))
    return n


@nb.njit(cache=True, nogil=True)
def take(weight, left, wanted, taken, key, step, user):
    """Selection sampling: walk through a person's pieces, taking each with probability (still wanted) / (still to come)."""
    token = 0
    for row in range(len(weight)):
        rest = weight[row]
        while rest > 0:
            u, _ = uniforms(key, step, user, token, 0)
            piece = min(1.0, rest)
            if u * left < wanted:
                taken[row] += piece
                wanted -= 1
            rest -= piece
            left -= 1
            token += 1
