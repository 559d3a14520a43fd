"""Threads that compute answers: few of them, a queue with an end, a deadline for whoever waits.

A thread cannot be stopped from outside. So what is computed here has a bounded cost, what waited
too long is never begun, and the threads do not keep the process from ending.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple


class Busy(Exception):
    """There is no room for one more call, or its answer was not there in time."""

    retry_after = 2  # seconds


class _Call(NamedTuple):
    """What to run, and who waits for it."""

    run: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


class WorkPool:
    """A few threads behind one queue.

    Parameters
    ----------
    name : str
        What the threads are called.
    threads : int
        How many calls run at once.
    waiting : int
        The most calls that wait; one more is refused with `Busy`.
    seconds : float
        How long a caller waits, in the queue and for the answer; then `Busy`.
    """

    def __init__(self, name: str, *, threads: int, waiting: int, seconds: float) -> None:
        self.seconds = seconds
        self._calls: queue.Queue[_Call | None] = queue.Queue(waiting)
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, call: Callable[..., Any], *arguments: Any, seconds: float = 0.0) -> Any:
        """Await ``call(*arguments)``, for `seconds` where another deadline than usual is wanted."""
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        try:
            self._calls.put_nowait(_Call(lambda: call(*arguments), answer, loop))
        except queue.Full:
            raise Busy from None
        try:
            done, _ = await asyncio.wait([answer], timeout=seconds or self.seconds)
            if not done:
                raise Busy
            return answer.result()
        finally:
            answer.cancel()  # where it has not begun, it never will

    def stop(self) -> None:
        """Begin nothing more; a call that runs is left to itself."""
        with contextlib.suppress(queue.Empty):
            while True:
                waiting = self._calls.get_nowait()
                if waiting is not None:
                    _deliver(waiting, None, Busy())
        with contextlib.suppress(queue.Full):
            for _ in self._threads:
                self._calls.put_nowait(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            if call.answer.done():  # nobody waits any more
                continue
            try:
                _deliver(call, call.run(), None)
            except Exception as error:
                _deliver(call, None, error)


def _deliver(call: _Call, outcome: Any, error: Exception | None) -> None:
    def resolve() -> None:
        if call.answer.done():
            return
        if error is None:
            call.answer.set_result(outcome)
        else:
            call.answer.set_exception(error)

    with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
        call.loop.call_soon_threadsafe(resolve)
