"""Blocks of users and `reduce`: everybody once, sums in block order, the same bytes on any number of threads."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import LocalEngine, make_blocks, make_shards
from mallowmix.engine.blocks import MAX_ITEMS, block_edges
from mallowmix.engine.threads import OnShard, add
from mallowmix.errors import DataError, OptionError
from mallowmix.model.m4 import M4

TWO = M4([[0, 1, 2, 3], [3, 1, 0, 2]], [0.2, 0.4], [0.5, 0.5], list("abcd"))


@given(st.integers(1, 5000), st.integers(0, 10**9), st.integers(2, 300))
def test_blocks_cover_every_user_once_in_order(n_users, n_rows, n_items):
    edges = block_edges(n_users, n_rows, n_items)
    assert edges[0] == 0
    assert edges[-1] == n_users
    sizes = np.diff(edges)
    assert (sizes > 0).all()
    assert (sizes[:-1] == sizes[0]).all()  # equally many users a block, the last perhaps fewer
    assert sizes[-1] <= sizes[0]


def test_no_user_no_block():
    assert block_edges(0, 0, 5) == [0]
    assert make_blocks(TWO.sample(3, 2).comparisons.take_users([])) == []


def test_blocks_are_large_enough_for_their_sums():
    """A block's answer has Q² numbers for each of K or P columns: a block has more rows than that, but for small data."""
    edges = block_edges(10**6, 10**8, 100)
    assert 10**8 / (len(edges) - 1) == pytest.approx(max(1 << 16, 8 * 100**2), rel=0.01)
    assert (
        len(block_edges(10**6, 10**5, 100)) - 1 == 16
    )  # small data: still enough blocks for some threads
    assert len(block_edges(3, 10**5, 100)) - 1 == 3


def test_blocks_hold_the_rows_of_their_users():
    comparisons = TWO.sample(50, np.arange(50) % 7, seed=3).comparisons
    blocks = make_blocks(comparisons)
    assert [block.first_user for block in blocks] == block_edges(50, len(comparisons), 4)[:-1]
    rows = [
        (block.first_user + m, *divmod(int(block.pair[row]), 4), block.weight[row])
        for block in blocks
        for m in range(block.n_users)
        for row in range(block.starts[m], block.starts[m + 1])
    ]
    expected = zip(
        comparisons.user, comparisons.winner, comparisons.loser, comparisons.weight, strict=True
    )
    assert rows == [tuple(map(float, row)) for row in expected]


def test_blocks_depend_on_sizes_alone():
    one = TWO.sample(40, 6, seed=1).comparisons
    by_label = Comparisons.from_codes(
        one.user, one.loser, one.winner, one.weight, list("wxyz"), [f"p{m:02}" for m in range(40)]
    )
    assert [b.starts.tolist() for b in make_blocks(one)] == [
        b.starts.tolist() for b in make_blocks(by_label)
    ]


def test_too_many_items_says_so():
    comparisons = Comparisons.from_codes([0], [0], [1], None, np.arange(MAX_ITEMS + 1), ["u"])
    with pytest.raises(
        DataError,
        match=r"There are 46,341 items; at most 46,340 can be numbered as pairs\. Keep those",
    ):
        make_blocks(comparisons)
    most = Comparisons.from_codes(
        [0], [MAX_ITEMS - 1], [MAX_ITEMS - 2], None, np.arange(MAX_ITEMS), ["u"]
    )
    assert (
        make_blocks(most)[0].pair[0] == (MAX_ITEMS - 1) * MAX_ITEMS + MAX_ITEMS - 2
    )  # no overflow


def _values(n_blocks):
    """Numbers whose float sum depends on the order in which they are added."""
    random = np.random.default_rng(0)
    return list(
        random.standard_normal((n_blocks, 5)) * 10.0 ** random.integers(-12, 12, (n_blocks, 5))
    )


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_sums_are_taken_in_block_order(jobs):
    values = _values(200)
    in_order, reversed_order = values[0].copy(), values[-1].copy()
    for value in values[1:]:
        in_order = in_order + value
    for value in values[-2::-1]:
        reversed_order = reversed_order + value
    assert in_order.tobytes() != reversed_order.tobytes()  # the order matters for these

    def step(block, broadcast, state):
        if block % 7 == 0:
            threading.Event().wait(0.001)  # answers arrive out of order
        return (values[block].copy(), float(values[block][0])), None

    (total, number), _ = LocalEngine(jobs).reduce(step, range(200))
    assert total.tobytes() == in_order.tobytes()
    assert np.float64(number).tobytes() == in_order[0].tobytes()


def test_broadcast_reaches_every_block_and_state_stays_with_its_block():
    def step(block, broadcast, state):
        return block * broadcast, (state or 0) + block

    engine = LocalEngine(2)
    total, state = engine.reduce(step, range(10), 3)
    assert (total, state) == (3 * 45, list(range(10)))
    total, state = engine.reduce(step, range(10), 2, state)
    assert (total, state) == (2 * 45, [2 * b for b in range(10)])
    with pytest.raises(ValueError, match="shorter"):
        engine.reduce(step, range(10), 2, state[:-1])


def test_the_sum_leaves_answers_and_state_alone():
    """A step may keep the very array it answers with: the sum must not be written into it."""
    kept = [np.ones(3) for _ in range(5)]
    total, state = LocalEngine(2).reduce(lambda block, _, __: (kept[block], kept[block]), range(5))
    assert total.tolist() == [5, 5, 5]
    assert all(array.tolist() == [1, 1, 1] for array in state)


def test_answers_may_be_none_and_nested():
    assert LocalEngine(1).reduce(lambda block, _, __: (None, block), range(3)) == (None, [0, 1, 2])
    assert LocalEngine(1).reduce(lambda block, _, __: (None, block), []) == (None, [])
    parts = [(None, (1, 2.0)), (4, (1, 2.0)), (None, (1, 2.0))]
    assert LocalEngine(1).reduce(lambda block, _, __: (parts[block], None), range(3))[0] == (
        4,
        (3, 6.0),
    )
    assert add(None, (1, 2)) == (1, 2)


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_exception_in_a_step_comes_out(jobs):
    def step(block, broadcast, state):
        if block == 11:
            raise KeyError("block 11")
        return 1, None

    with pytest.raises(KeyError, match="block 11"):
        LocalEngine(jobs).reduce(step, range(40))


def test_few_answers_are_held_at_a_time():
    """A window: however many blocks there are, only a few answers more than threads exist at once."""
    made, most, lock = [0], [0], threading.Lock()

    class Answer:
        def __init__(self):
            with lock:
                made[0] += 1
                most[0] = max(most[0], made[0])

        def __copy__(self):
            return Answer()

        def __iadd__(self, other):
            return self

        def __del__(self):
            with lock:
                made[0] -= 1

    LocalEngine(2).reduce(lambda block, _, __: (Answer(), None), range(300))
    assert most[0] <= 10


def test_float32_answers_are_added_up_in_float64():
    parts = [np.float32([1e8]), np.float32([1.0]), np.float32([1.0])]
    total, _ = LocalEngine(1).reduce(lambda block, _, __: (parts[block], None), range(3))
    assert total.dtype == np.float64 and total[0] == 100_000_002  # in float32 the ones are lost


def test_a_shard_answers_with_the_sum_over_its_blocks_and_tells_how_far_it_is():
    comparisons = TWO.sample(50, 6, seed=1).comparisons
    blocks, told = make_blocks(comparisons), []
    shards = make_shards(blocks)
    total, state = LocalEngine(2).reduce(
        OnShard(lambda block, factor, _: (factor * block.weight.sum(), block)),
        shards,
        3,
        told=lambda *done: told.append(done),
    )
    assert total == 3 * 300 and state == [None] * len(shards)
    assert told == [(i + 1, len(shards)) for i in range(len(shards))]


@pytest.mark.parametrize("jobs", [0, -2])
def test_jobs_must_be_at_least_one(jobs):
    with pytest.raises(OptionError, match=f"jobs is {jobs}; it must be at least 1"):
        LocalEngine(jobs)
