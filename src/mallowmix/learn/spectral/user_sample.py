"""A sample of users, for the passes that need not visit all of them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import counted_users
from mallowmix.engine import (
    Block,
    Engine,
    Shard,
    make_blocks,
    make_shards,
    map_step,
    parallel_map,
)
from mallowmix.engine.blocks import StoredBlock, block_edges, rows_of
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, uniforms

_STEP = int(Step.USER_SAMPLE)
# comparisons from which the subspace and the rankings are learnt; all others are used at the end
ENOUGH = 4_000_000


def sampled_share(n_comparisons: float) -> float:
    """The fraction of users to learn from: a function of the number of comparisons alone."""
    return min(1.0, ENOUGH / n_comparisons) if n_comparisons > 1.5 * ENOUGH else 1.0


def sample_users(block: Block, share: float, seed: int) -> Block:
    """Draw each user of the block with probability `share`.

    Whether a user is drawn depends on the seed and their number alone.

    Parameters
    ----------
    block : Block
        Some users.
    share : float
        The probability; 1 returns the block.
    seed : int
        Of the draws.
    """
    if share >= 1:
        return block
    drawn = np.flatnonzero(_draws(block.first_user, block.n_users, as_key(seed)) < share)
    lengths = np.diff(block.starts)[drawn]
    starts = np.r_[0, np.cumsum(lengths)]
    rows = np.repeat(block.starts[drawn] - starts[:-1], lengths) + np.arange(starts[-1])
    return Block(
        block.first_user,
        block.n_items,
        starts,
        block.pair[rows],
        block.weight[rows],
        block.user_weight[drawn],
        rows_of(block.ranking_id, rows),
    )


def sampled_comparisons(
    comparisons: Any, share: float, seed: int, engine: Engine, *, ranked: bool
) -> Comparisons:
    """Take a sample of the users with comparisons, in memory, numbered anew.

    Each user is drawn by their number, so data in memory and on disk give the same users.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        All users.
    share : float
        The probability of each.
    seed : int
        Of the draws.
    engine : Engine
        Where the pass over all users runs.
    ranked : bool
        Whether to say which comparisons come from one ranking.
    """
    blocks = sample_blocks(make_blocks(comparisons), share, seed, engine)
    lengths = np.concatenate([np.diff(block.starts) for block in blocks])
    pair = np.concatenate([block.pair for block in blocks]).astype(np.int64)
    Q = len(comparisons.items)
    users = Comparisons.from_codes(
        np.repeat(np.arange(len(lengths)), lengths),
        pair // Q,
        pair % Q,
        np.concatenate([block.weight for block in blocks]),
        comparisons.items,
        np.arange(len(lengths)),
        np.concatenate([block.user_weight for block in blocks]),
        ranking_id=joined_ids(blocks) if ranked else None,
    )
    return counted_users(users)


def sample_blocks(
    all_blocks: Sequence[Block | StoredBlock], share: float, seed: int, engine: Engine
) -> list[Block]:
    """Draw a sample of users, numbered anew, as blocks in memory.

    Parameters
    ----------
    all_blocks : list of blocks
        All users, in memory or stored.
    share : float
        The probability of each; 1 loads all users.
    seed : int
        Of the draws.
    engine : Engine
        Where the pass runs.
    """
    if share >= 1:
        return [block.load() for block in all_blocks]
    parts = engine.map(_sample_step, make_shards(all_blocks), (share, seed))
    return _joined([block for part in parts for block in part], engine.n_jobs)


@map_step("sample users")
def _sample_step(shard: Shard, broadcast: tuple[float, int]) -> list[Block]:
    return [sample_users(block.load(), *broadcast) for block in shard.blocks]


def _joined(parts: list[Block], n_jobs: int) -> list[Block]:
    """The users of consecutive blocks cut into blocks again, by `block_edges`."""
    Q, ends = parts[0].n_items, np.cumsum([part.n_users for part in parts])
    n_rows = sum(len(part.pair) for part in parts)

    def cut(users: tuple[int, int]) -> Block:
        first, last = users
        own = [
            _users_between(part, max(first - begin, 0), last - begin)
            for part, end in zip(parts, ends.tolist(), strict=True)
            if first < end and (begin := end - part.n_users) < last
        ]
        starts = np.cumsum(np.concatenate([[0], *(np.diff(part.starts) for part in own)]))
        pair, weight, user_weight = (
            np.concatenate([getattr(part, name) for part in own])
            for name in ("pair", "weight", "user_weight")
        )
        return Block(first, Q, starts, pair, weight, user_weight, joined_ids(own))

    return parallel_map(cut, pairwise(block_edges(int(ends[-1]), n_rows, Q)), n_jobs)


def _users_between(block: Block, first: int, last: int) -> Block:
    starts = block.starts[first : last + 1]
    rows = slice(int(starts[0]), int(starts[-1]))
    return Block(
        block.first_user + first,
        block.n_items,
        starts - starts[0],
        block.pair[rows],
        block.weight[rows],
        block.user_weight[first:last],
        rows_of(block.ranking_id, rows),
    )


def joined_ids(parts: list[Block]) -> NDArray[np.int32] | None:
    """The ranking ids of all rows of these blocks; None where they have none."""
    ids = [part.ranking_id for part in parts if part.ranking_id is not None]
    return np.concatenate(ids) if len(ids) == len(parts) else None


@compiled
def _draws(first_user, n_users, key):
    out = np.empty(n_users)
    for m in range(n_users):
        out[m], _ = uniforms(key, _STEP, first_user + m, 0, 0)
    return out


def people(block: Block) -> NDArray[np.int32]:
    """The user of each row, numbered within the block."""
    return block.users_of_rows()
