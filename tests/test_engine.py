"""Blocks of users and `reduce`: everybody once, sums in block order, the same bytes on any number
of threads.
"""

import importlib
import inspect
import pickle
import pkgutil
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix
import mallowmix as mm
from mallowmix.data.comparison_arrays import sums_between
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, ThreadEngine, make_blocks, make_shards, reduce_step
from mallowmix.engine.blocks import MAX_ITEMS, InMemory, block_edges
from mallowmix.engine.engine import STEPS, MapStep, ReduceStep, add
from mallowmix.engine.parallel import begun, in_order, parallel_map, parallel_sum
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
    """A block's answer has Q² numbers for each of K or P columns: a block has more rows than that,
    but for small data.
    """
    edges = block_edges(10**6, 10**8, 100)
    assert 10**8 / (len(edges) - 1) == pytest.approx(max(1 << 16, 8 * 100**2), rel=0.01)
    # small data: still enough blocks for some threads
    assert len(block_edges(10**6, 10**5, 100)) - 1 == 16
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


def test_blocks_cannot_be_written_even_after_a_journey_to_another_process():
    """Else each kernel would be compiled once more for arrays that can."""
    comparisons = Comparisons.from_arrays([0, 0, 1], [0, 1, 2], [1, 2, 0])
    (block,) = make_blocks(comparisons)[:1]
    for each in (block, pickle.loads(pickle.dumps(block))):
        assert not any(a.flags.writeable for a in (each.starts, each.pair, each.weight))
        np.testing.assert_array_equal(each.pair, block.pair)


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
    # no overflow
    assert make_blocks(most)[0].pair[0] == (MAX_ITEMS - 1) * MAX_ITEMS + MAX_ITEMS - 2


class Number(InMemory):
    """The smallest block there can be."""

    def __init__(self, value):
        self.value = value


def numbers(n):
    return [Number(value) for value in range(n)]


def summing(function):
    """A step of a test: function(number, broadcast, state)."""
    return ReduceStep("of a test", lambda block, sent, state: function(block.value, sent, state))


def _values(n_blocks):
    """Numbers whose float sum depends on the order in which they are added."""
    random = np.random.default_rng(0)
    return list(
        random.standard_normal((n_blocks, 5)) * 10.0 ** random.integers(-12, 12, (n_blocks, 5))
    )


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_sums_are_taken_in_block_order(n_jobs):
    values = _values(200)
    in_order, reversed_order = values[0].copy(), values[-1].copy()
    for value in values[1:]:
        in_order = in_order + value
    for value in values[-2::-1]:
        reversed_order = reversed_order + value
    assert in_order.tobytes() != reversed_order.tobytes()  # the order matters for these

    def step(number, broadcast, state):
        if number % 7 == 0:
            threading.Event().wait(0.001)  # answers arrive out of order
        return (values[number].copy(), float(values[number][0])), None

    (total, number), _ = ThreadEngine(n_jobs).reduce(summing(step), numbers(200))
    assert total.tobytes() == in_order.tobytes()
    assert np.float64(number).tobytes() == in_order[0].tobytes()
    assert (
        parallel_sum(lambda n: step(n, None, None)[0][0], range(200), n_jobs).tobytes()
        == in_order.tobytes()
    )


def test_broadcast_reaches_every_block_and_state_stays_with_its_block():
    step = summing(lambda number, broadcast, state: (number * broadcast, (state or 0) + number))
    engine = ThreadEngine(2)
    total, state = engine.reduce(step, numbers(10), 3)
    assert (total, state) == (3 * 45, list(range(10)))
    total, state = engine.reduce(step, numbers(10), 2, state)
    assert (total, state) == (2 * 45, [2 * b for b in range(10)])
    with pytest.raises(ValueError, match="shorter"):
        engine.reduce(step, numbers(10), 2, state[:-1])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_map_gives_one_answer_a_block_in_their_order(n_jobs):
    seen = []
    step = MapStep("of a test", lambda block, broadcast: block.value * broadcast)
    engine = ThreadEngine(n_jobs)
    assert engine.map(step, numbers(9), 2, progress=lambda *at: seen.append(at)) == list(
        range(0, 18, 2)
    )
    assert seen == [(i + 1, 9) for i in range(9)]
    assert engine.map(step, []) == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_loops_over_other_things_keep_their_order(n_jobs):
    seen = []
    assert parallel_map(str, range(7), n_jobs, progress=seen.append) == list("0123456")
    assert seen == list(range(1, 8))
    assert parallel_sum(lambda n: (n, np.full(2, n)), range(4), n_jobs)[0] == 6
    assert parallel_sum(float, [], n_jobs) is None


def test_the_sum_leaves_answers_and_state_alone():
    """A step may keep the very array it answers with: the sum must not be written into it."""
    kept = [np.ones(3) for _ in range(5)]
    total, state = ThreadEngine(2).reduce(
        summing(lambda number, _, __: (kept[number], kept[number])), numbers(5)
    )
    assert total.tolist() == [5, 5, 5]
    assert all(array.tolist() == [1, 1, 1] for array in state)


def test_answers_may_be_none_and_nested():
    step = summing(lambda number, _, __: (None, number))
    assert ThreadEngine(1).reduce(step, numbers(3)) == (None, [0, 1, 2])
    assert ThreadEngine(1).reduce(step, []) == (None, [])
    parts = [(None, (1, 2.0)), (4, (1, 2.0)), (None, (1, 2.0))]
    step = summing(lambda number, _, __: (parts[number], None))
    assert ThreadEngine(1).reduce(step, numbers(3))[0] == (4, (3, 6.0))
    assert add(None, (1, 2)) == (1, 2)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_exception_in_a_step_comes_out(n_jobs):
    def step(number, broadcast, state):
        if number == 11:
            raise KeyError("block 11")
        return 1, None

    with pytest.raises(KeyError, match="block 11"):
        ThreadEngine(n_jobs).reduce(summing(step), numbers(40))


def test_few_answers_are_held_at_a_time():
    """A window: with any number of blocks, only a few answers more than threads exist at once."""
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

    ThreadEngine(2).reduce(summing(lambda number, _, __: (Answer(), None)), numbers(300))
    assert most[0] <= 10


def test_float32_answers_are_added_up_in_float64():
    parts = [np.float32([1e8]), np.float32([1.0]), np.float32([1.0])]
    total, _ = ThreadEngine(1).reduce(summing(lambda n, _, __: (parts[n], None)), numbers(3))
    assert total.dtype == np.float64 and total[0] == 100_000_002  # in float32 the ones are lost


def test_a_shard_answers_with_the_sum_over_its_blocks_and_tells_how_far_it_is():
    comparisons = TWO.sample(50, 6, seed=1).comparisons
    blocks, seen = make_blocks(comparisons), []
    shards = make_shards(blocks)
    step = ReduceStep("of a test", lambda block, factor, _: (factor * block.weight.sum(), block))
    total, state = ThreadEngine(2).reduce(step, shards, 3, progress=lambda *at: seen.append(at))
    assert total == 3 * 300 and state == [None] * len(shards)
    assert seen == [(i + 1, len(shards)) for i in range(len(shards))]
    whole = ReduceStep(
        "of a test", lambda shard, _, __: (len(shard.blocks), None), takes_shards=True
    )
    assert ThreadEngine(1).reduce(whole, shards)[0] == len(blocks)


def test_every_engine_is_an_engine_by_the_protocol():
    """The Protocol is on one page; a signature that differs would only be noticed by a type
    checker.
    """
    from mallowmix.engine.dask import DaskEngine
    from mallowmix.engine.out_of_core.disk import DiskEngine

    for engine in (ThreadEngine, DiskEngine, DaskEngine):
        for name in ("map", "reduce", "session", "close"):
            wanted = inspect.signature(getattr(Engine, name)).parameters
            assert list(inspect.signature(getattr(engine, name)).parameters) == list(wanted)


def import_all():
    """Every module of the package, so that all steps are declared."""
    for module in pkgutil.walk_packages(mallowmix.__path__, "mallowmix."):
        if not module.name.endswith(("__main__", "warm_up", "web.worker")):
            importlib.import_module(module.name)


def test_steps_are_declared_once_and_travel_by_name():
    import_all()
    assert len(STEPS) > 40
    for name, step in STEPS.items():
        if not step.function.__module__.startswith("mallowmix."):
            continue  # declared by a test or by a page of the documentation
        assert step.name == name and pickle.loads(pickle.dumps(step)) is step
    with pytest.raises(ValueError, match="two steps are called 'count pairs'"):
        reduce_step("count pairs")(test_steps_are_declared_once_and_travel_by_name)


class Watching(ThreadEngine):
    """Threads that note when a step has written into what it was given."""

    def map(self, step, blocks, broadcast=None, **rest):
        return self._watched(
            step,
            broadcast,
            None,
            lambda: super(Watching, self).map(step, blocks, broadcast, **rest),
        )

    def reduce(self, step, blocks, broadcast=None, state=None, **rest):
        return self._watched(
            step,
            broadcast,
            state,
            lambda: super(Watching, self).reduce(step, blocks, broadcast, state, **rest),
        )

    def _watched(self, step, broadcast, state, run):
        before = pickle.dumps((broadcast, state))
        answer = run()
        assert pickle.dumps((broadcast, state)) == before, f"{step.name} wrote into its arguments"
        seen_steps.add(step.name)
        return answer


seen_steps = set()


@pytest.mark.slow
def test_a_step_never_writes_into_its_arguments():
    """A fit by either method, weights, intervals, held-out likelihoods: blocks are read-only
    anyway.
    """
    data = TWO.sample(60, 12, seed=1).comparisons
    engine = Watching(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mm.fit(data, 2, engine=engine, predictor=False)
        mm.fit(data, 2, method="projections", engine=engine, predictor=False)
    mm.weights(model, data, engine=engine)
    mm.weight_intervals(model, data, engine=engine, n_draws=10)
    for method in ("left-to-right", "importance", "completion"):
        mm.heldout(model, data, method, engine=engine)
    assert seen_steps >= {
        "count pairs",
        "signed rows",
        "signed moment",
        "variational E-step",
        "Gibbs sweep",
        "halves",
        "pair moment",
        "weights",
    }


def test_as_many_threads_as_cores_unless_the_call_or_the_environment_says_otherwise(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    monkeypatch.delenv("MALLOWMIX_N_JOBS", raising=False)
    assert ThreadEngine().n_jobs == 5
    monkeypatch.setenv("MALLOWMIX_N_JOBS", "")
    assert ThreadEngine().n_jobs == 5
    monkeypatch.setenv("MALLOWMIX_N_JOBS", "3")
    assert ThreadEngine().n_jobs == 3 and ThreadEngine(2).n_jobs == 2


@pytest.mark.parametrize("named", ["0", "-1", "two", "1.5", "²", str(2**31)])
def test_the_environment_must_name_a_number_of_threads(monkeypatch, named):
    monkeypatch.setenv("MALLOWMIX_N_JOBS", named)
    with pytest.raises(OptionError, match=r"MALLOWMIX_N_JOBS is .*a whole number of at least 1"):
        ThreadEngine()
    assert ThreadEngine(2).n_jobs == 2


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_jobs_must_be_at_least_one(n_jobs):
    with pytest.raises(OptionError, match=f"n_jobs is {n_jobs}; it must be at least 1"):
        ThreadEngine(n_jobs)


# ---- threads ----


def test_threads_wait_for_the_next_loop_and_a_loop_in_a_loop_has_its_own():
    together = threading.Barrier(3, timeout=60)  # otherwise one thread might take all items

    def name(_):
        together.wait()
        return threading.current_thread().name

    first = set(parallel_map(name, range(3), 3))
    assert len(first) == 3 and first == set(parallel_map(name, range(3), 3))
    inner = parallel_map(lambda n: sum(parallel_map(lambda m: m * n, range(5), 3)), range(7), 3)
    assert inner == [10 * n for n in range(7)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_loop_that_fails_leaves_nothing_running(n_jobs):
    running = []

    def call(n):
        if n == 4:
            raise KeyError(n)
        running.append(n)
        time.sleep(0.01)
        running.remove(n)

    with pytest.raises(KeyError):
        parallel_map(call, range(50), n_jobs)
    assert running == []
    answers = in_order(call, [(n,) for n in range(4)], n_jobs)
    next(answers)
    answers.close()  # no more are wanted
    assert running == [] and parallel_map(abs, [-1, 2], n_jobs) == [1, 2]


def test_a_call_begun_beside_others_is_made_once_and_alone_when_it_is_wanted():
    calls = []
    for n_jobs in (1, 2):
        answer = begun(lambda: calls.append(threading.current_thread()) or 7, n_jobs)
        if n_jobs == 1:
            assert calls == []
        assert (answer(), answer()) == (7, 7)
    alone, beside = calls
    assert alone is threading.main_thread() is not beside


@given(st.integers(1, 10**6), st.integers(0, 10**9))
def test_sixteen_workers_have_equally_many_blocks(n_users, n_rows):
    n = len(block_edges(n_users, n_rows, 100)) - 1
    users_a_block = -(-n_users // n)
    assert n < 32 or users_a_block < 100 or -(-n // 16) * 16 - n <= 1


def test_sums_between_are_those_of_each_run_of_rows():
    values, starts = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 2, 2, 3, 4, 4])
    assert sums_between(starts, values).tolist() == [0, 3, 0, 4, 8, 0]
    assert sums_between(np.zeros(3, np.int64), values[:0]).tolist() == [0, 0]
