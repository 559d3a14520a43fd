"""Blocks of consecutive users: the unit of work. How users are cut depends on the data alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparison_arrays import sums_between
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine.parallel import parallel_map
from mallowmix.errors import DataError

MAX_ITEMS = 46_340  # Q² pair codes must fit in 31 bits
_ROWS = 1 << 16
_TURNS = 16  # a multiple of so many blocks, if not few: so many workers are done at the same time
_SHARDS = 64  # at least, where they can have `TOGETHER` blocks each
TOGETHER = 6  # blocks of a shard that a step may take at once


class InMemory:
    """A block that a step can take as it is."""

    @property
    def is_stored(self) -> bool:
        """Whether it must be read before a step can take it."""
        return False

    def load(self) -> Self:
        """The block itself."""
        return self


@dataclass(frozen=True)
class Block(InMemory):
    """The comparisons of some consecutive users.

    Attributes
    ----------
    first_user : int
        The number of the block's first user, which its random numbers depend on.
    n_items : int
        Q.
    starts : (M + 1,) array of int64
        Rows of the m-th user are starts[m]:starts[m+1].
    pair : (rows,) array of int32
        Codes winner · Q + loser.
    weight : (rows,) array
        How often each was said.
    user_weight : (M,) array
        How often each user counts.
    ranking_id : (rows,) array of int32, optional
        Which of the user's rankings each row comes from, as in `Comparisons`.
    """

    first_user: int
    n_items: int
    starts: NDArray[np.int64]
    pair: NDArray[np.int32]
    weight: NDArray[np.float64]
    user_weight: NDArray[np.float64]
    ranking_id: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        for array in (self.starts, self.pair, self.weight, self.user_weight, self.ranking_id):
            # a kernel is compiled separately for arrays that can be written
            if array is not None:
                array.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Come from another process: what was pickled could be written again."""
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_users(self) -> int:
        """How many users the block has."""
        return len(self.starts) - 1

    def per_user(self) -> NDArray[np.float64]:
        """(M,) the number of comparisons of each user: the sum of their weights."""
        return sums_between(self.starts, self.weight)

    def users_of_rows(self) -> NDArray[np.int32]:
        """(rows,) the user of each row, numbered within the block."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.starts))


def some_users(blocks: Sequence[Block], n: int) -> list[Block]:
    """Blocks with about n of the users, the first of each block; all, where there are no more.

    Parameters
    ----------
    blocks : sequence of Block
        The users.
    n : int
        About how many are wanted.

    Returns
    -------
    list of Block
    """
    total = sum(block.n_users for block in blocks)
    return [_first_users(block, -(-n * block.n_users // max(total, 1))) for block in blocks]


def _first_users(block: Block, n: int) -> Block:
    starts = block.starts[: n + 1]
    rows = slice(0, int(starts[-1] - starts[0]))
    return Block(
        block.first_user,
        block.n_items,
        starts,
        block.pair[rows],
        block.weight[rows],
        block.user_weight[: len(starts) - 1],
    )


@dataclass(frozen=True)
class Shard:
    """Consecutive blocks whose sums are added up where the blocks are, into one answer."""

    blocks: tuple["Block | StoredBlock", ...]

    @property
    def is_stored(self) -> bool:
        """Whether its blocks must be read before a step can take them."""
        return self.blocks[0].is_stored


class StoredBlock(Protocol):
    """A block that is not in memory; `load` reads it."""

    @property
    def first_user(self) -> int:
        """The number of its first user."""
        ...

    @property
    def n_users(self) -> int:
        """How many users it has."""
        ...

    @property
    def n_items(self) -> int:
        """Q."""
        ...

    @property
    def user_weight(self) -> NDArray[np.float64]:
        """(M,) how often each user counts."""
        ...

    @property
    def is_stored(self) -> bool:
        """True."""
        ...

    def load(self) -> Block:
        """The block in memory."""
        ...


class StoredData(Protocol):
    """Comparisons that are not in memory, cut into blocks of their own."""

    def blocks(self) -> Sequence[StoredBlock]:
        """The same blocks as of the same comparisons in memory."""
        ...


AnyBlock: TypeAlias = InMemory | StoredBlock | Shard


def make_blocks(comparisons: Comparisons | StoredData, *, n_jobs: int = 1) -> list[Any]:
    """Cut the users into blocks.

    Blocks are large enough that a pass spends its time on rows and not on summing blocks.

    Parameters
    ----------
    comparisons : Comparisons or StoredData
        What users preferred.
    n_jobs : int
        How many threads.

    Returns
    -------
    list of blocks
        In memory; those of stored comparisons are read when a step needs them.

    Raises
    ------
    DataError
        For more than 46,340 items, whose pairs have no codes of 31 bits.
    """
    if not isinstance(comparisons, Comparisons):
        return list(comparisons.blocks())
    Q = comparisons.n_items
    if Q > MAX_ITEMS:
        raise DataError(
            f"There are {Q:,} items; at most {MAX_ITEMS:,} can be numbered as pairs. "
            "Keep those compared most."
        )
    starts = comparisons.starts()
    edges = block_edges(comparisons.n_users, len(comparisons), Q)
    return parallel_map(lambda users: _block(comparisons, starts, *users), pairwise(edges), n_jobs)


def block_edges(n_users: int, n_rows: int, n_items: int) -> list[int]:
    """User numbers at which blocks begin and end: a function of the three sizes alone.

    Parameters
    ----------
    n_users, n_rows, n_items : int
        Sizes of the data.

    Returns
    -------
    list of int
        From 0 to `n_users`; block b has the users edges[b]:edges[b+1].
    """
    if n_users == 0:
        return [0]
    # a block's answer has Q²K numbers: adding it up must not cost more than its rows
    rows_a_block = max(_ROWS, 8 * n_items**2)
    n_blocks = max(_TURNS, -(-n_rows // rows_a_block))
    n_blocks = min(n_users, n_blocks if n_blocks < 2 * _TURNS else n_blocks // _TURNS * _TURNS)
    users_a_block = -(-n_users // n_blocks)
    return [*range(0, n_users, users_a_block), n_users]


def _block(comparisons: Comparisons, starts: NDArray[np.int64], first: int, last: int) -> Block:
    rows = slice(int(starts[first]), int(starts[last]))
    pair = comparisons.winner[rows] * np.int32(comparisons.n_items) + comparisons.loser[rows]
    return Block(
        first,
        comparisons.n_items,
        starts[first : last + 1] - starts[first],
        pair,
        comparisons.weight[rows],
        comparisons.user_weight[first:last],
        rows_of(comparisons.ranking_id, rows),
    )


def rows_of(ranking_id: NDArray[np.int32] | None, rows: Any) -> NDArray[np.int32] | None:
    """The ranking ids of some rows, where there are any."""
    return None if ranking_id is None else ranking_id[rows]


def make_shards(blocks: Sequence[Block | StoredBlock]) -> list[Shard]:
    """√n shards of as many blocks, or more and smaller ones: a function of n alone.

    A multiple of 16 shards, the first of which may have one block more, keeps so many workers at
    work to the end; few blocks make fewer, since the answer of a shard is as large as six of them.
    """
    n = len(blocks)
    size = TOGETHER * max(1, min(-(-math.isqrt(n) // TOGETHER), n // (TOGETHER * _SHARDS)))
    n_shards = -(-n // size) if n < 3 * _TURNS else _TURNS * -(-n // (_TURNS * size))
    least, larger = divmod(n, max(n_shards, 1))
    edges = [least * i + min(i, larger) for i in range(n_shards + 1)]
    return [Shard(tuple(blocks[a:b])) for a, b in pairwise(edges)]
