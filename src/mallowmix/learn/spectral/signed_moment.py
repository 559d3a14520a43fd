"""The signed pair moment: co-occurrence of *unordered* pairs, signed by which item won.

It is an operator of half the size of E, and of rank K − 1. A token of pair p = {i, j} has the value
x = ±√((1−q)/q) / √μ, plus when the lower-numbered item won; q is the win fraction of that direction
and μ the pair's share. Its mean given θ is √μ (b − q) / √(q(1−q)) with b = β_p·θ: centred and of
equal noise for every pair. A = Σ_m c_m Σ_{t≠t'} x_t x_t' over all distinct tokens of a user,
c_m = 1/(n_m − 1), normalised.

A row of weight 2.5 is three tokens, of 1, 1 and ½: a product of two tokens counts the product of
their weights, and c_m makes the products of a user count n_m in all, so that it is 1/(n_m − 1)
where every token is whole. The two halves of a tie (½ for either order) are one answer: they are
never multiplied with each other. Users with no more than one token in all are left out.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparison_arrays import sums_between
from mallowmix.data.tie_halves import tie_halves
from mallowmix.engine import Block, Engine, make_shards, reduce_step
from mallowmix.engine.blocks import StoredBlock
from mallowmix.learn.spectral.subspace import PairStatistics as PairStatistics
from mallowmix.learn.spectral.subspace import Subspace as Subspace
from mallowmix.learn.spectral.subspace import iterate_subspace
from mallowmix.learn.spectral.subspace import pair_statistics as pair_statistics
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.randomness import Step, as_key, generator, uniform_pairs
from mallowmix.typing import Array

_STEP_START, _STEP_NULL = Step.SUBSPACE, int(Step.NULL_SIGNS)
_MANY = 64  # tokens of a row, beyond which their sum is drawn from the normal limit
# a block's c_m, the signed sum of each row's tokens, and ¼ for halves of ties (or nothing)
Rows = tuple[Array, Array, Array]


def count_pairs(blocks: list[Block], engine: Engine) -> Array:
    """(Q²,) how often each ordered pair was seen, users weighted by `user_weight`."""
    counts, _ = engine.reduce(_count_step, blocks)
    return counts


def count_all_pairs(blocks: Sequence[Block | StoredBlock], engine: Engine) -> Array:
    """The same, a shard at a time: for blocks that may be stored."""
    counts, _ = engine.reduce(_count_step, make_shards(blocks))
    return counts


@reduce_step("count pairs")
def _count_step(block: Block, broadcast: None, state: None) -> tuple[Array, None]:
    return count_by_cluster(block, np.zeros(block.n_users, np.int64), 1)[0], None


def count_by_cluster(block: Block, label: NDArray[np.int64], n_clusters: int) -> Array:
    """Count a block's pairs for each cluster of its users.

    Parameters
    ----------
    block : Block
        The users.
    label : (users,) array of int
        The cluster of each; users with a negative one are left out.
    n_clusters : int
        How many clusters there are.

    Returns
    -------
    (n_clusters, Q²) array
        How often each ordered pair was seen, users weighted by `user_weight`.
    """
    n_rows, n_codes = np.diff(block.starts), block.n_items**2
    weight = np.repeat(np.where(label < 0, 0.0, block.user_weight), n_rows)
    weight *= block.weight
    cell = np.repeat(np.maximum(label, 0) * n_codes, n_rows)
    cell += block.pair
    counts = np.bincount(cell, weight, n_clusters * n_codes)
    return np.asarray(counts, np.float64).reshape(n_clusters, n_codes)


class SignedMoment:
    """A as an operator: one pass over the users for a block of vectors.

    Parameters
    ----------
    blocks : list of Block
        The users.
    pairs : PairStatistics
        From their counts.
    engine : Engine
        Where the passes run.
    null_key : int, optional
        A seed: every token's sign is then drawn at random, for the noise edge.
    """

    def __init__(
        self,
        blocks: list[Block],
        pairs: PairStatistics,
        engine: Engine,
        *,
        null_key: int | None = None,
    ) -> None:
        self.blocks, self.pairs, self.engine = blocks, pairs, engine
        mass, self._rows = engine.reduce(
            _rows_step, blocks, None if null_key is None else as_key(null_key)
        )
        self._scale = 1 / mass if mass > 0 else 0.0

    def apply(self, V: Array) -> Array:
        """A V, for V of shape (P, b)."""
        broadcast = (
            self.pairs.index,
            self.pairs.value.astype(np.float32),
            np.ascontiguousarray(V, np.float32),
        )
        total, _ = self.engine.reduce(_apply_step, self.blocks, broadcast, self._rows)
        return total * self._scale


@reduce_step("signed rows")
def _rows_step(block: Block, key: np.uint64 | None, state: None) -> tuple[float, Rows]:
    """Σ c_m n_m (n_m − 1), and what each user and row of the block counts."""
    ties = tie_halves(block.starts, block.pair, block.weight, block.n_items)
    # for the noise edge the halves have signs of their own
    ties = np.empty(0) if ties is None or key is not None else ties
    n, c = _user_scale(block.starts, block.weight, ties)
    sums = block.weight
    if key is not None:  # as wide as weights, so that `_signed_pass` is compiled once
        sums = _random_sums(block.starts, block.weight, key, block.first_user).astype(np.float64)
    rows = c * block.user_weight, unwritable(sums), ties  # as `block.weight` is
    return float(block.user_weight @ np.where(c > 0, n, 0)), rows


def _user_scale(starts: NDArray[np.int64], weight: Array, ties: Array) -> tuple[Array, Array]:
    """Each user's n_m and c_m, which is 0 for those without two distinct tokens, or one in all."""
    n, squares = sums_between(starts, weight), _squares.interpreted(weight)
    squares = sums_between(starts, squares + ties if len(ties) else squares)
    products = n**2 - squares  # n (n − 1) where all tokens are whole
    distinct = (n > 1) & (products > 1e-9 * n**2)
    return n, np.where(distinct, n, 0.0) / np.where(distinct, products, 1.0)


@compiled(inline="always")
def _squares(weight):
    """Σ u² over the tokens of a row: what its products with themselves would add."""
    whole = np.floor(weight)
    return whole + (weight - whole) ** 2


@reduce_step("signed moment")
def _apply_step(
    block: Block,
    broadcast: tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]],
    rows: Rows,
) -> tuple[Array, Rows]:
    total: Any = np.zeros_like(broadcast[-1])
    room = np.empty(total.shape[1], np.float32)
    data = (block.starts, block.pair, block.weight)
    _signed_pass(*data, *rows, *broadcast, block.n_items, room, total)
    return total, rows  # float32: a sum over blocks is taken in float64


def _random_sums(
    starts: NDArray[np.int64], weight: Array, key: np.uint64, first_user: int
) -> NDArray[np.float32]:
    """The sum of each row's tokens with random signs; the normal limit for more than 64 of them."""
    n_rows, whole = np.diff(starts), np.floor(weight)
    user = np.repeat(np.arange(first_user, first_user + len(n_rows)), n_rows)
    row = np.arange(len(weight)) - np.repeat(starts[:-1], n_rows)
    sums, many = np.zeros(len(weight), np.float32), whole > _MANY
    for token in range(int(np.ceil(weight[~many].max(initial=0)))):
        at = np.flatnonzero((weight > token) & ~many)
        u, _ = uniform_pairs(key, _STEP_NULL, user[at], row[at], token)
        size = np.where(token < whole[at], 1.0, weight[at] - whole[at])
        sums[at] += np.where(u < 0.5, size, -size)
    u, v = uniform_pairs(key, _STEP_NULL, user[many], row[many], 0)
    sums[many] = np.sqrt(-2.0 * whole[many] * np.log(1.0 - u)) * np.cos(2.0 * np.pi * v)
    return sums


@compiled(fastmath=True)
def _signed_pass(starts, pair, weight, scale, sums, ties, index, value, V, Q, s, out):
    """A row of user m adds c_m x (w s − d x V_p) to row p of A V, where s = Σ w x V_p."""
    # w is the row's signed sum of tokens, which is its weight but for the noise edge; d leaves out
    # each token's square. A tie's halves also leave out their product: ¼ x x', x' the value of the
    # opposite order.
    b = V.shape[1]
    for m in range(len(starts) - 1):
        if scale[m] == 0:
            continue
        for c in range(b):
            s[c] = 0.0
        for row in range(starts[m], starts[m + 1]):
            code = np.uint64(pair[row])  # unsigned: no check for a negative index
            v, wx = V[np.uint64(index[code])], np.float32(sums[row]) * value[code]
            for c in range(b):
                s[c] += wx * v[c]
        for row in range(starts[m], starts[m + 1]):
            code = np.uint64(pair[row])
            p, x = np.uint64(index[code]), value[code]
            v, av, cx = V[p], out[p], np.float32(scale[m]) * x
            cross, own = cx * np.float32(sums[row]), cx * x * np.float32(_squares(weight[row]))
            if len(ties):
                own += cx * value[pair[row] % Q * Q + pair[row] // Q] * np.float32(ties[row])
            for c in range(b):
                av[c] += cross * s[c] - own * v[c]


def leading_subspace(
    A: SignedMoment,
    rank: int,
    *,
    extra: int = 8,
    max_passes: int = 15,
    tol: float = 1e-3,
    seed: int = 0,
    start: Array | None = None,
) -> Subspace:
    """Leading eigenpairs of A by a block Krylov method (`iterate_subspace`).

    Parameters
    ----------
    A : SignedMoment
        The operator.
    rank : int
        How many eigenpairs must converge.
    extra : int
        Vectors beyond the rank, which speed the iteration up.
    max_passes, tol
        When it ends.
    seed : int
        Of random vectors to begin with.
    start : (P, b) array, optional
        Vectors to begin with instead.
    """
    P = len(A.pairs.share)
    V = (
        generator(seed, _STEP_START).standard_normal((P, min(rank + extra, P)))
        if start is None
        else start
    )
    return iterate_subspace(A.apply, V, rank, max_passes=max_passes, tol=tol)
