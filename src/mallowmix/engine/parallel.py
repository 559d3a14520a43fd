"""Parallel loops over other things than blocks of users: components, pairs, replicates.

The answers come in the order of the items and do not depend on how many run at the same time.
"""

import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from mallowmix.engine.sums import add
from mallowmix.errors import OptionError, check_count

Item = TypeVar("Item")
Answer = TypeVar("Answer")
N_JOBS = "MALLOWMIX_N_JOBS"  # the environment variable
_WAITING: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)
"""Pools without work, by their sizes: to start threads takes as long as many a loop."""
_KEPT = 2  # of a size
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WAITING.clear)  # threads do not follow


def usable_jobs(n_jobs: int | None) -> int:
    """The number of threads; where none is given that of MALLOWMIX_N_JOBS, or else all cores.

    Where several processes share a machine already, threads of each would wait for each other: a
    line in the environment holds all of them to one.
    """
    count = n_jobs if n_jobs is not None else _named_jobs() or os.cpu_count() or 1
    check_count("n_jobs", count, 1)
    return count


def _named_jobs() -> int | None:
    """What the environment variable says; None where it is not set."""
    named = os.environ.get(N_JOBS)
    if not named:
        return None
    if not named.isascii() or not named.isdigit() or not 1 <= int(named) < 2**31:
        raise OptionError(
            option=N_JOBS, value=named, expected="a whole number of at least 1, or not set"
        )
    return int(named)


def parallel_map(
    function: Callable[[Item], Answer],
    items: Iterable[Item],
    n_jobs: int | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Answer]:
    """``function(item)`` of every item, in their order.

    Parameters
    ----------
    function : callable
        Must not write into what other calls read.
    items : iterable
        The arguments.
    n_jobs : int
        How many run at the same time; all cores unless given.
    progress : callable
        Called with the number of answers so far, after each.
    """
    answers = []
    for answer in in_order(function, [(item,) for item in items], usable_jobs(n_jobs)):
        answers.append(answer)
        if progress:
            progress(len(answers))
    return answers


def parallel_sum(
    function: Callable[[Item], Any], items: Iterable[Item], n_jobs: int | None = None
) -> Any:
    """The sum of ``function(item)`` over the items, in their order; None where there are none.

    Parameters
    ----------
    function : callable
        Returns a number, an array, or a tuple of these.
    items : iterable
        The arguments.
    n_jobs : int
        How many run at the same time; all cores unless given.
    """
    total = None
    for part in in_order(function, [(item,) for item in items], usable_jobs(n_jobs)):
        total = add(total, part)
    return total


def in_order(
    function: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]], n_jobs: int
) -> Iterator[Answer]:
    """The answers in the order of the arguments; never more than a few wait in memory.

    Parameters
    ----------
    function : callable
        Called as ``function(*arguments[i])``.
    arguments : sequence of tuple
        Of each call.
    n_jobs : int
        How many run at the same time.
    """
    if n_jobs == 1:
        yield from (function(*each) for each in arguments)
        return
    waiting: deque[Future[Answer]] = deque()
    with _pool(n_jobs) as pool:
        try:
            for each in arguments:
                waiting.append(pool.submit(function, *each))
                if len(waiting) > n_jobs + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error, or where no more answers are wanted
            for future in waiting:
                future.cancel()
            wait(waiting)


def begun(function: Callable[[], Answer], n_jobs: int) -> Callable[[], Answer]:
    """Begin a call beside what follows; what is returned waits for its answer.

    Parameters
    ----------
    function : callable
        The call.
    n_jobs : int
        With one it is made when its answer is first wanted.
    """
    if n_jobs == 1:
        return cache(function)
    pool = ThreadPoolExecutor(1)
    future = pool.submit(function)
    pool.shutdown(wait=False)
    return future.result


@contextmanager
def _pool(n_jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for one loop; a loop inside another, or beside it, has threads of its own."""
    waiting = _WAITING[n_jobs]
    try:
        pool = waiting.pop()
    except IndexError:
        pool = ThreadPoolExecutor(n_jobs)
    try:
        yield pool
    finally:
        if len(waiting) < _KEPT:
            waiting.append(pool)
        else:
            pool.shutdown()
