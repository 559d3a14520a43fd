"""The local engine: threads over blocks in memory. Kernels release the GIL; sums are taken in block order."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np

from mallowmix.engine.blocks import Shard, loaded
from mallowmix.errors import check_at_least

Step = Callable[[Any, Any, Any], tuple[Any, Any]]
Told = Callable[[int, int], None]


class LocalEngine:
    """Runs `step(block, broadcast, state) -> (sum, new_state)` on every block and adds the sums up.

    The answer does not depend on `jobs`: blocks are the same, and their sums are added in the order of the blocks.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs if jobs is not None else (os.cpu_count() or 1)
        check_at_least("jobs", self.jobs, 1)

    def begin(self, comparisons: Any, n_components: Any) -> None:
        """Before a fit of these comparisons."""

    def end(self) -> None:
        """After a fit that went well."""

    def close(self) -> None:
        """Let go of what the engine holds: processes, a card's memory."""

    def reduce(
        self,
        step: Step,
        blocks: Sequence[Any],
        broadcast: Any = None,
        state: Sequence[Any] | None = None,
        *,
        told: Told | None = None,
    ) -> tuple[Any, list[Any]]:
        """The sum over blocks, and each block's new state (a Gibbs assignment, a person's γ), which stays with its block.

        told : called as told(done, total) after each block
        """
        before = state if state is not None else [None] * len(blocks)
        total, after = None, []
        with ThreadPoolExecutor(self.jobs) as pool:
            waiting: deque[Future[tuple[Any, Any]]] = deque()
            for block, old in zip(blocks, before, strict=True):
                waiting.append(pool.submit(run_step, step, block, broadcast, old))
                if (
                    len(waiting) > self.jobs + 1
                ):  # a window: never more than a few answers in memory
                    total = _collect(waiting.popleft(), total, after)
                    tell(told, after, blocks)
            while waiting:
                total = _collect(waiting.popleft(), total, after)
                tell(told, after, blocks)
        return total, after


class OnShard:
    """A step over a block as one over a shard: the sum over its blocks, in their order."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self, shard: Shard, broadcast: Any, state: Any) -> tuple[Any, None]:
        total = None
        for block in shard.blocks:
            total = add(total, run_step(self.step, block, broadcast, None)[0])
        return total, None


def step_of_block(step: Step) -> Any:
    """What is done to a block: the step itself, or the one that `OnShard` carries through a shard."""
    return step.step if isinstance(step, OnShard) else step


def run_step(step: Step, block: Any, broadcast: Any, state: Any) -> tuple[Any, Any]:
    """One step on one block, which is read first where it is stored."""
    return step(loaded(block), broadcast, state)


def tell(told: Told | None, after: list[Any], blocks: Sequence[Any]) -> None:
    """How far a pass is."""
    if told:
        told(len(after), len(blocks))


def _collect(future: Future[tuple[Any, Any]], total: Any, after: list[Any]) -> Any:
    part, new_state = future.result()
    after.append(new_state)
    return add(total, part)


def add(total: Any, part: Any) -> Any:
    """Add a block's answer to the total, in place: numbers, arrays, or tuples of them; None adds nothing.

    The first answer is copied: it may be a view of what its block keeps. A sum of float32 is taken in float64.
    """
    if part is None:
        return total
    if isinstance(part, tuple):
        return tuple(add(a, b) for a, b in zip(total or [None] * len(part), part, strict=True))
    if total is None:
        return (
            part.astype(np.float64)
            if isinstance(part, np.ndarray) and part.dtype == np.float32
            else copy(part)
        )
    total += part
    return total
