"""The one writer: a thread that writes all waiting jobs in one transaction (group commit).

While one transaction reaches the disk, the next votes gather. The outcome of a vote (stored,
repeated, conflict or gone) is returned after its commit, never before.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import DBAPIError, IntegrityError

from mallowmix.web.file_guard import FileGuard, VotesGone
from mallowmix.web.schema import votes

_MOST = 512  # votes in one transaction
_STOP_SECONDS = 1.5  # for what waits when the server stops: nobody has an answer to it yet
STORED, REPEATED, CONFLICT, GONE = "stored", "repeated", "conflict", "gone"


class Vote(NamedTuple):
    """One answer: items low < high, choice 1, -1 or 0; `key` is the client's own name for it."""

    person: int
    key: str
    low: int
    high: int
    choice: int
    model: int


class Job(NamedTuple):
    """Something to write, and who waits for it: a thread, or a coroutine on a loop."""

    what: Vote | Callable[[sa.Connection], Any]
    answer: "Future[Any] | asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop | None = None


class Writer:
    """Runs all writes of a server, one transaction at a time."""

    def __init__(
        self,
        engine: sa.Engine,
        on_commit: Callable[[int], None] = lambda n: None,
        guard: FileGuard | None = None,
    ) -> None:
        """Start the thread; `on_commit` gets the number of decided votes after each commit."""
        self.engine, self.on_commit = engine, on_commit
        self.guard = guard or FileGuard(None)
        self.healthy, self.commits = True, 0
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._connection: sa.Connection | None = None
        self._thread = threading.Thread(target=self._run, name="votes", daemon=True)
        self._thread.start()

    def submit(self, what: Vote | Callable[[sa.Connection], Any]) -> "Future[Any]":
        """Hand over a vote, or a function of a connection; its answer comes after the commit."""
        answer: Future[Any] = Future()
        self._queue.put(Job(what, answer))
        return answer

    async def write(self, what: Vote | Callable[[sa.Connection], Any]) -> Any:
        """The same, awaited."""
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._queue.put(Job(what, answer, loop))
        return await answer

    def stop(self) -> None:
        """Write what waits, then end; votes that a locked database keeps waiting are given up."""
        self._queue.put(None)
        self._thread.join(timeout=_STOP_SECONDS)
        if not self._thread.is_alive() and self.guard.intact:
            self._drop()

    def _run(self) -> None:
        open_for_more = True
        while open_for_more:
            jobs, open_for_more = self._gather()
            if jobs:
                self._commit(jobs)

    def _gather(self) -> tuple[list[Job], bool]:
        """Wait for one job, then take all that wait with it."""
        jobs: list[Job] = []
        first = self._queue.get()
        while first is not None:
            jobs.append(first)
            if len(jobs) >= _MOST or self._queue.empty():
                return jobs, True
            first = self._queue.get_nowait()
        return jobs, False

    def _commit(self, jobs: list[Job]) -> None:
        """Write jobs and resolve them; jobs that break the transaction are tried one by one."""
        try:
            answers = self._transaction(jobs)
        except IntegrityError as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._commit([job])
            else:
                _answer(jobs, [GONE if isinstance(jobs[0].what, Vote) else error])
        except VotesGone as error:
            # The connection stays: closing it could remove a file that has taken its name.
            _answer(jobs, [error] * len(jobs))
        except Exception as error:
            self.healthy = not isinstance(error, DBAPIError)
            self._drop()
            _answer(jobs, [error] * len(jobs))
        else:
            done = zip(jobs, answers, strict=True)
            self.healthy, self.commits = True, self.commits + 1
            self.on_commit(
                sum(
                    answer == STORED and isinstance(job.what, Vote) and job.what.choice != 0
                    for job, answer in done
                )
            )
            _answer(jobs, answers)

    def _transaction(self, jobs: list[Job]) -> list[Any]:
        """Return the answers; none is given unless the file that holds them is still in place."""
        with self.guard.own_write():
            return self._written(jobs)

    def _written(self, jobs: list[Job]) -> list[Any]:
        """Write in one transaction; return the answers."""
        if self._connection is None:
            self._connection = self.engine.connect()
        with self._connection.begin():
            answers: list[Any] = [
                None if isinstance(job.what, Vote) else job.what(self._connection) for job in jobs
            ]
            votes = {n: job.what for n, job in enumerate(jobs) if isinstance(job.what, Vote)}
            stored = insert_votes(self._connection, list(votes.values()))
            for n, answer in zip(votes, stored, strict=True):
                answers[n] = answer
        return answers

    def _drop(self) -> None:
        """Forget a connection that may be broken; the next transaction makes a new one."""
        connection, self._connection = self._connection, None
        self.guard.forget_log()
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.invalidate()
                connection.close()


def _answer(jobs: list[Job], answers: list[Any]) -> None:
    """Resolve the futures of all jobs; each event loop is woken once."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[tuple[Any, Any]]] = {}
    for job, answer in zip(jobs, answers, strict=True):
        by_loop.setdefault(job.loop, []).append((job.answer, answer))
    for loop, pairs in by_loop.items():
        if loop is None:
            _resolve(pairs)
        else:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
                loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: list[tuple[Any, Any]]) -> None:
    for future, answer in pairs:
        if future.done():  # whoever waited has gone
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)


def insert_votes(connection: sa.Connection, new: list[Vote]) -> list[str]:
    """Insert votes whose key and pair are new; return the outcome of each."""
    if not new:
        return []
    insert = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
    statement = insert(votes).on_conflict_do_nothing().returning(votes.c.person, votes.c.key)
    now = time.time()
    done = {
        tuple(row)
        for row in connection.execute(
            statement, [vote._asdict() | {"created": now} for vote in new]
        )
    }
    answers = []
    for vote in new:
        name = (vote.person, vote.key)
        answers.append(STORED if name in done else _why_not(connection, vote))
        done.discard(name)  # the same key a second time in one transaction was not stored twice
    return answers


def _why_not(connection: sa.Connection, vote: Vote) -> str:
    """Return why a vote was not stored: the same again, or another answer to the pair."""
    columns = (votes.c.low, votes.c.high, votes.c.choice)
    found = connection.execute(
        sa.select(*columns).where(votes.c.person == vote.person, votes.c.key == vote.key)
    ).first()
    return (
        REPEATED
        if found is not None and tuple(found) == (vote.low, vote.high, vote.choice)
        else CONFLICT
    )
