"""A sample of people, for the passes that need not see everybody."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.randomness import as_key, uniforms

_STEP = 35
ENOUGH = 4_000_000  # comparisons from which the subspace and the rankings are learnt; all others join at the end


def sampled_share(n_comparisons: float) -> float:
    """The share of people to learn from: a function of the number of comparisons alone."""
    return min(1.0, ENOUGH / n_comparisons) if n_comparisons > 1.5 * ENOUGH else 1.0


def sample_people(block: Block, share: float, seed: int) -> Block:
    """Each person of the block with probability `share`; who is in depends on the seed and their number alone."""
    if share >= 1:
        return block
    drawn = np.flatnonzero(_draws(block.first_user, block.n_users, as_key(seed)) < share)
    lengths = np.diff(block.starts)[drawn]
    starts = np.r_[0, np.cumsum(lengths)]
    rows = np.repeat(block.starts[drawn] - starts[:-1], lengths) + np.arange(starts[-1])
    return Block(block.first_user, block.n_items, starts, block.pair[rows], block.weight[rows], block.user_weight[drawn])


@nb.njit(cache=True, nogil=True)
def _draws(first_user, n_users, key):
    out = np.empty(n_users)
    for m in range(n_users):
        out[m], _ = uniforms(key, _STEP, first_user + m, 0, 0)
    return out


def people(block: Block) -> NDArray[np.int32]:
    """The person of each row, numbered within the block."""
    return np.repeat(np.arange(block.n_users, dtype=np.int32), np.diff(block.starts))
