"""Small pieces of the paper's experiments in many processes at a time, each on one thread."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tools.gathered_rows import begin, done_keys, finish, finish_all, gather
from tools.paper_pieces import SmallPiece
from tools.timed_command import run_for

_GATHER_SECONDS = 2.0
_BEGINNING = 0.9  # of the whole time is left: what is dearer than all of it begins now or never
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOWMIX_N_JOBS": "1"}

Run = Callable[[list[str], float], int | None]


def run_side_by_side(
    pieces: Sequence[SmallPiece],
    folder: Path,
    *,
    n_jobs: int,
    seconds: float,
    run: Run | None = None,
) -> list[SmallPiece]:
    """Run pieces, so many at a time, until all are done or the time is over.

    Parameters
    ----------
    pieces : sequence of SmallPiece
        What is to be run, dearest first; what has all its rows already is not.
    folder : Path
        Where the results are.
    n_jobs : int
        How many processes run at a time.
    seconds : float
        The time for all; what runs at its end is interrupted, and its rows are kept.
    run : callable, optional
        Runs a command for at most so many seconds: its exit code, or None where it was interrupted.

    Returns
    -------
    list of SmallPiece
        Those that are not done.
    """
    stop = threading.Event()
    run = run or partial(run_for, stop=stop, environment={**os.environ, **_ONE_THREAD})
    folder.mkdir(parents=True, exist_ok=True)
    finish_all(folder)  # what a run that was cut off has left
    done = {name: done_keys(folder, name) for name in {small.piece.experiment for small in pieces}}
    waiting = [small for small in pieces if not small.keys <= done[small.piece.experiment]]
    turns = _Turns(folder, waiting, time.monotonic() + seconds, seconds, run)
    try:
        with ThreadPoolExecutor(n_jobs) as pool:
            try:
                while turns.go_on(pool, n_jobs):
                    pass
            finally:
                stop.set()  # before the pool waits for its threads
    finally:
        finish_all(folder)
    return [*turns.unfinished, *turns.waiting]


@dataclass
class _Turns:
    """What waits, what runs, and what ended without all of its rows."""

    folder: Path
    waiting: list[SmallPiece]
    end: float
    seconds: float
    run: Run
    running: dict[Future[int | None], tuple[SmallPiece, Path]] = field(default_factory=dict)
    unfinished: list[SmallPiece] = field(default_factory=list)

    def go_on(self, pool: ThreadPoolExecutor, n_jobs: int) -> bool:
        """Begin what can begin, wait a little, gather; False when nothing is left to do."""
        while self.waiting and len(self.running) < n_jobs and self._left() > 0:
            self._begin(pool)
        ended, _ = wait(self.running, _GATHER_SECONDS, return_when=FIRST_COMPLETED)
        for _, own in self.running.values():
            gather(self.folder, own)
        for future in ended:
            self._end(future)
        return bool(self.running) or (bool(self.waiting) and self._left() > 0)

    def _left(self) -> float:
        return self.end - time.monotonic()

    def _begin(self, pool: ThreadPoolExecutor) -> None:
        left = self._left()
        small = self.waiting.pop(next_piece(self.waiting, left, self.seconds))
        own = begin(self.folder, small.piece.experiment, small.piece.slug)
        self.running[pool.submit(self.run, small.piece.command(own), left)] = small, own

    def _end(self, future: Future[int | None]) -> None:
        small, own = self.running.pop(future)
        n_new = finish(self.folder, own)
        if future.result() == 0 and _is_done(small, self.folder):
            print(f"done: {small.piece.words}: {n_new} rows; {len(self.waiting)} wait", flush=True)
        else:
            self.unfinished.append(small)


def next_piece(waiting: Sequence[SmallPiece], left: float, seconds: float) -> int:
    """The number of the first piece that is expected to end in time; the last where none is.

    One that takes longer than the whole time begins with it: it may be quicker than expected.

    Parameters
    ----------
    waiting : sequence of SmallPiece
        Dearest first.
    left, seconds : float
        The time that is left, and that of the whole run.

    Examples
    --------
    >>> from tools.paper_pieces import Piece
    >>> pieces = [SmallPiece(Piece("a"), frozenset(), seconds) for seconds in (900, 60, 30)]
    >>> [next_piece(pieces, left, 600) for left in (599, 500, 50, 10)]
    [0, 1, 2, 2]
    """
    most = _BEGINNING * seconds
    fits = (number for number, small in enumerate(waiting) if min(small.seconds, most) <= left)
    return next(fits, len(waiting) - 1)


def _is_done(small: SmallPiece, folder: Path) -> bool:
    return small.keys <= done_keys(folder, small.piece.experiment)
