"""Each user's comparisons split at random into two halves, for Lemma 2."""

from typing import NamedTuple

import numpy as np

from mallowmix.data.splits import first_half
from mallowmix.engine import Block
from mallowmix.typing import Array


class Halves(NamedTuple):
    """A block's two halves: how much of each row's weight lies in either."""

    first: Array
    second: Array


def split_block(block: Block, key: np.uint64) -> Halves:
    """Split every user's comparisons in two (`data.splits.first_half`).

    Parameters
    ----------
    block : Block
        Some users.
    key : uint64
        Of the random numbers (`as_key`).
    """
    rows = (block.starts, block.pair, block.weight, block.n_items)
    first = first_half(*rows, block.first_user, key)
    return Halves(first, block.weight - first)
