"""The engine for data larger than memory: blocks are read when needed, finished passes stored."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mallowmix.data.memory_size import check_memory
from mallowmix.engine.blocks import AnyBlock
from mallowmix.engine.engine import Answer, BlockProgress, ReduceStep, State
from mallowmix.engine.out_of_core.finished_passes import FinishedPasses, of_stored
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.threads import ThreadEngine
from mallowmix.errors import Option, OptionError

_NODES = 15  # numbers a pair and component that a pass over all users adds up
_SAMPLE = 200 * 10**6  # bytes of the sample that is learnt from in memory, with its work arrays


class DiskEngine(ThreadEngine):
    """Threads over blocks, as many as the memory has room for.

    A run that was killed continues from its last finished pass.

    Parameters
    ----------
    n_jobs : int
        How many threads at most; all cores unless given.
    memory : str or float
        A bound for data and work arrays, as in "2GB".
    """

    def __init__(self, n_jobs: int | None = None, *, memory: str | float = "2GB") -> None:
        super().__init__(n_jobs)
        self.memory = check_memory(memory)
        self.passes: FinishedPasses | None = None

    @contextmanager
    def session(self, comparisons: object, n_components: object) -> Iterator[None]:
        """Fit the number of threads to the memory, and find the passes of an earlier run.

        When the fit ends well, its stored passes are removed.
        """
        if not isinstance(comparisons, StoredComparisons):
            yield
            return
        self.passes = FinishedPasses(comparisons.folder / "passes", comparisons.fingerprint())
        if isinstance(n_components, int):
            self.n_jobs = min(self.n_jobs, self._room(comparisons.n_items, n_components))
        try:
            yield
            self.passes.forget()
        finally:
            self.passes = None

    def _room(self, n_items: int, n_components: int) -> int:
        """How many threads have room: three answers for each, of which one waits, and their sum."""
        answer = 4 * n_components * n_items * (n_items - 1) * _NODES
        room = (self.memory - _SAMPLE - 4 * answer) // (3 * answer)
        if room < 1:
            needed = _SAMPLE + 7 * answer
            raise OptionError(
                option="memory",
                value=f"{self.memory / 1e6:.0f}MB",
                expected=f"at least {needed / 1e6:.0f}MB for the work arrays of {n_components} "
                f"components and {n_items} items",
                hint=("Raise it, or lower ", Option("n_components"), "."),
            )
        return int(room)

    def reduce(
        self,
        step: ReduceStep[Answer, State],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        state: Sequence[State] | None = None,
        *,
        progress: BlockProgress | None = None,
    ) -> tuple[Answer, list[State]]:
        """As `ThreadEngine.reduce`; the sum of a stored pass is read instead."""
        if self.passes is None or state is not None or not of_stored(blocks):
            return super().reduce(step, blocks, broadcast, state, progress=progress)
        total, found = self.passes.find(step, broadcast)
        if found:
            return total, [None] * len(blocks)  # type: ignore[list-item]
        total, after = super().reduce(step, blocks, broadcast, progress=progress)
        # a pass with states is not stored
        if all(each is None for each in after):
            self.passes.keep(step, broadcast, total)
        return total, after
