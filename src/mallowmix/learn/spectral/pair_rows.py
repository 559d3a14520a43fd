"""Rows sorted by pair: blocks of pairs, where `engine.Block` is a block of users."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, parallel_map
from mallowmix.numerics.compiled import compiled

_PAIR_BLOCKS = 32


@dataclass(frozen=True)
class PairRows:
    """The rows of some consecutive unordered pairs: a block of pairs as `Block` is one of users.

    Rows of the i-th pair are starts[2i]:starts[2i+1] where its lower-numbered item won, up to
    starts[2i+2] where the other did.
    """

    first: int  # the number of the first pair
    codes: NDArray[np.int32]  # (2n,) the ordered pairs, as in `Block.pair`
    starts: NDArray[np.int64]  # (2n + 1,)
    user: NDArray[np.int32]  # numbered through all blocks
    weight: NDArray[np.float32]  # of the row, times that of its user


def by_pair(blocks: list[Block], *, halves: bool = False, n_jobs: int = 1) -> list[PairRows]:
    """Sort the rows of all users by pair, and cut them into blocks of about equally many rows.

    Parameters
    ----------
    blocks : list of Block
        All users.
    halves : bool
        Whether every pair is there twice: first with the rows of users of even number, then, P
        further on, of odd number.
    n_jobs : int
        How many threads.
    """
    Q = blocks[0].n_items
    low, high = np.triu_indices(Q, 1)
    codes = np.column_stack([low * Q + high, high * Q + low]).astype(np.int32).ravel()
    slot = np.zeros(Q * Q, np.int32)
    slot[codes] = np.arange(len(codes), dtype=np.int32)
    odd = len(codes) if halves else 0  # how much further on the rows of users of odd number go
    codes = np.tile(codes, 1 + halves)
    # each thread puts rows of its blocks where those of the blocks before it end
    parts = _parts(blocks, n_jobs, len(codes))
    seen = np.zeros((len(parts), len(codes)), np.int64)

    def count(part: int) -> None:
        for block in parts[part]:
            rows = slot[block.pair]
            if halves:
                rows = rows + odd * ((block.first_user + block.users_of_rows()) % 2)
            seen[part] += np.bincount(rows, minlength=len(codes))

    parallel_map(count, range(len(parts)), n_jobs)
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=0))])
    next_row = starts[:-1] + np.cumsum(seen, axis=0) - seen
    user, weight = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    user_number = np.cumsum([0, *(sum(block.n_users for block in part) for part in parts)])

    def scatter(part: int) -> None:
        number = int(user_number[part])
        for block in parts[part]:
            rows = (block.starts, block.pair, block.weight, block.user_weight, block.first_user)
            _scatter(*rows, slot, odd, number, next_row[part], user, weight)
            number += block.n_users

    parallel_map(scatter, range(len(parts)), n_jobs)
    wanted = np.linspace(0, starts[-1], _PAIR_BLOCKS + 1)[1:-1]
    edges = np.unique(
        np.concatenate([[0], np.searchsorted(starts[::2], wanted), [len(codes) // 2]])
    )
    return [_cut(int(i), int(j), codes, starts, user, weight) for i, j in pairwise(edges)]


def _parts(blocks: list[Block], n_jobs: int, n_codes: int) -> list[list[Block]]:
    """Consecutive blocks for each thread; fewer where their counts would be longer than rows."""
    n_rows = sum(len(block.pair) for block in blocks)
    n_parts = max(1, min(n_jobs, len(blocks), n_rows // (8 * n_codes)))
    edges = [len(blocks) * part // n_parts for part in range(n_parts + 1)]
    return [blocks[a:b] for a, b in pairwise(edges)]


def _cut(i: int, j: int, codes, starts, user, weight) -> PairRows:
    """Pairs i up to j."""
    rows = slice(int(starts[2 * i]), int(starts[2 * j]))
    return PairRows(
        i, codes[2 * i : 2 * j], starts[2 * i : 2 * j + 1] - starts[2 * i], user[rows], weight[rows]
    )


@compiled
def _scatter(
    starts,
    pair,
    row_weight,
    user_weight,
    first_user,
    slot,
    odd,
    user_number,
    next_row,
    user,
    weight,
):
    """Put each row where the next one of its ordered pair goes."""
    for m in range(len(starts) - 1):
        further = odd * ((first_user + m) % 2)
        for row in range(starts[m], starts[m + 1]):
            s = slot[pair[row]] + further
            user[next_row[s]], weight[next_row[s]] = (
                user_number + m,
                row_weight[row] * user_weight[m],
            )
            next_row[s] += 1
