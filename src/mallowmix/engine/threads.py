"""The engine of threads. Kernels release the GIL; sums are taken in block order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mallowmix.engine.blocks import AnyBlock
from mallowmix.engine.engine import (
    Answer,
    BlockProgress,
    MapStep,
    ReduceStep,
    State,
    add,
    run_map,
    run_reduce,
    states_of,
)
from mallowmix.engine.parallel import in_order, usable_jobs


class ThreadEngine:
    """Threads over the blocks; the other engines are built on it.

    Parameters
    ----------
    n_jobs : int
        How many threads; all cores unless given. The answer does not depend on it.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = usable_jobs(n_jobs)

    def map(
        self,
        step: MapStep[Answer],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        *,
        progress: BlockProgress | None = None,
    ) -> list[Answer]:
        """One answer a block (`Engine.map`)."""
        answers = []
        work = [(step, block, broadcast) for block in blocks]
        for answer in in_order(run_map, work, self.n_jobs):
            answers.append(answer)
            if progress:
                progress(len(answers), len(blocks))
        return answers

    def reduce(
        self,
        step: ReduceStep[Answer, State],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        state: Sequence[State] | None = None,
        *,
        progress: BlockProgress | None = None,
    ) -> tuple[Answer, list[State]]:
        """The sum over the blocks, and each block's new state (`Engine.reduce`)."""
        total: Any = None
        after: list[State] = []
        work = [(step, block, broadcast, old) for block, old in states_of(state, blocks)]
        for part, new_state in in_order(run_reduce, work, self.n_jobs):
            total = add(total, part)
            after.append(new_state)
            if progress:
                progress(len(after), len(blocks))
        return total, after

    @contextmanager
    def session(self, comparisons: object, n_components: object) -> Iterator[None]:
        """Context of one fit; threads need nothing (`Engine.session`)."""
        yield

    def close(self) -> None:
        """Threads hold nothing."""
