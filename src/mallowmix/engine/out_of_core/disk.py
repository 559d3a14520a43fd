"""The engine for data larger than memory: blocks are read as they are needed, and finished passes are written down."""

from collections.abc import Sequence
from typing import Any

from mallowmix.engine.memory_size import check_memory
from mallowmix.engine.out_of_core.finished_passes import Passes, of_stored
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.threads import LocalEngine, Step, Told
from mallowmix.errors import OptionError

_NODES = 15  # numbers a pair and component that a pass over everybody adds up
_SAMPLE = 200 * 10**6  # bytes of the sample that is learnt from in memory, with its work arrays


class DiskEngine(LocalEngine):
    """Threads over blocks, as many as the memory has room for. A run that was killed goes on from its last finished pass."""

    def __init__(self, jobs: int | None = None, *, memory: str | float = "2GB") -> None:
        super().__init__(jobs)
        self.memory, self.passes = check_memory(memory), None

    def begin(self, comparisons: Any, n_components: Any) -> None:
        """Make room for the work of a fit with so many components, and find what an earlier run has finished."""
        if not isinstance(comparisons, StoredComparisons):
            return
        self.passes = Passes(comparisons.folder / "passes", comparisons.fingerprint())
        if isinstance(n_components, int):
            self.jobs = min(self.jobs, self._room(comparisons.n_items, n_components))

    def _room(self, n_items: int, n_components: int) -> int:
        """How many threads have room: each has two answers in hand, one more waits for each, and there is their sum."""
        answer = 4 * n_components * n_items * (n_items - 1) * _NODES
        room = (self.memory - _SAMPLE - 4 * answer) // (3 * answer)
        if room < 1:
            needed = _SAMPLE + 7 * answer
            raise OptionError(
                f"memory is {self.memory / 1e6:,.0f}MB; {n_components} components of {n_items} items need about "
                f"{needed / 1e6:,.0f}MB of work arrays. Give more memory, or learn fewer components."
            )
        return int(room)

    def reduce(
        self,
        step: Step,
        blocks: Sequence[Any],
        broadcast: Any = None,
        state: Sequence[Any] | None = None,
        *,
        told: Told | None = None,
    ) -> tuple[Any, list[Any]]:
        """As `LocalEngine.reduce`; a pass over stored blocks that was finished before is looked up."""
        if self.passes is None or state is not None or not of_stored(blocks):
            return super().reduce(step, blocks, broadcast, state, told=told)
        total, found = self.passes.find(step, broadcast)
        if found:
            return total, [None] * len(blocks)
        total, after = super().reduce(step, blocks, broadcast, told=told)
        if all(
            each is None for each in after
        ):  # a state that stays with its block is not written down
            self.passes.keep(step, broadcast, total)
        return total, after

    def end(self) -> None:
        """The fit is done: what was kept for another start is removed."""
        if self.passes is not None:
            self.passes.forget()
            self.passes = None
