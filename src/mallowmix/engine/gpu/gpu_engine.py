"""The GPU engine: steps that have a form for a GPU run there, all others on threads.

Blocks go to the GPU in batches and stay as long as there is room; what is beyond that is copied for
each pass. Sums on a GPU are taken in any order, so its answers agree with the processor's to
rounding and not to the byte.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mallowmix.data.optional_packages import missing
from mallowmix.engine.blocks import AnyBlock, Block, Shard
from mallowmix.engine.engine import Answer, BlockProgress, ReduceStep, State, add
from mallowmix.engine.gpu import device_arrays
from mallowmix.engine.gpu.device_arrays import Arrays, Batch
from mallowmix.engine.gpu.device_forms import FORMS, DeviceForm
from mallowmix.engine.threads import ThreadEngine
from mallowmix.errors import OptionError

ROWS = 1 << 25  # of one batch
_SHARE = 0.6  # of the free memory of the GPU that batches may stay in


class DeviceState:
    """A block's part of the state of a batch on the GPU; as a numpy array, the block's rows."""

    def __init__(self, on: Arrays, whole: Any, first: int, last: int) -> None:
        self.on, self.whole, self.first, self.last = on, whole, first, last

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The rows, brought from the GPU."""
        return self.on.give(self.whole[self.first : self.last]).astype(dtype or np.float64)


class GpuEngine(ThreadEngine):
    """One GPU.

    Parameters
    ----------
    n_jobs : int
        How many threads for the steps that have no form for a GPU.
    arrays : Arrays
        The device; tests use the arrays of the processor.
    room : int
        Bytes that batches may stay in; most of the free memory of the GPU unless given.
    """

    def __init__(
        self, n_jobs: int | None = None, *, arrays: Arrays | None = None, room: int | None = None
    ) -> None:
        super().__init__(n_jobs)
        self.on = arrays or _gpu_arrays()
        self.room = room if room is not None else _free_memory(self.on)
        self._kept: dict[tuple[int, ...], tuple[list[AnyBlock], Batch]] = {}
        self._held = 0

    def reduce(
        self,
        step: ReduceStep[Answer, State],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        state: Sequence[State] | None = None,
        *,
        progress: BlockProgress | None = None,
    ) -> tuple[Answer, list[State]]:
        """As `ThreadEngine.reduce`, on the GPU where the step has a form for it."""
        form = FORMS.get(step.name)
        if form is not None and blocks:
            answer = self._on_gpu(form, blocks, broadcast, state, progress)
            if answer is not NotImplemented:
                return answer
        return super().reduce(step, blocks, broadcast, state, progress=progress)

    def close(self) -> None:
        """Free the memory of the GPU."""
        self._kept.clear()
        self._held = 0

    def _on_gpu(
        self,
        form: DeviceForm,
        blocks: Sequence[AnyBlock],
        broadcast: object,
        state: Any,
        progress: BlockProgress | None,
    ) -> Any:
        total, after = None, []
        for first, last in _groups(blocks):
            group = list(blocks[first:last])
            before = None if state is None else self._whole(list(state[first:last]))
            answer = form(self.on, self._batch(group), broadcast, before)
            if answer is NotImplemented:
                return NotImplemented
            total = add(total, answer[0])
            after += self._parts(group, answer[1])
            if progress:
                progress(last, len(blocks))
        return total, after

    def _batch(self, group: list[AnyBlock]) -> Batch:
        key = tuple(map(id, group))
        if key in self._kept:
            return self._kept[key][1]
        batch = to_batch(self.on, [block.load() for item in group for block in _members(item)])
        nbytes = sum(array.nbytes for array in batch[1:] if array is not None)
        stays = not isinstance(group[0], Shard)  # shards are made anew for each pass
        if stays and self._held + nbytes <= self.room:
            self._kept[key] = (group, batch)  # the group too: its id stays taken
            self._held += nbytes
        return batch

    def _whole(self, parts: list[Any]) -> Any:
        """A batch's state, from those of its blocks."""
        if parts[0] is None:
            return None
        if isinstance(parts[0], DeviceState):
            return parts[0].whole
        if not isinstance(parts[0], np.ndarray):
            return parts[0]  # of a step that ran elsewhere: its form will not know it
        return self.on.take(np.concatenate(parts), np.float32)

    def _parts(self, group: list[AnyBlock], whole: Any) -> list[Any]:
        if whole is None:
            return [None] * len(group)
        edges = np.cumsum([0, *map(_n_users, group)])
        return [DeviceState(self.on, whole, int(a), int(b)) for a, b in pairwise(edges)]


def to_batch(on: Arrays, blocks: list[Block]) -> Batch:
    """Blocks in memory as one batch on the device `on`; weights that are all 1 take no room."""
    weight = np.concatenate([block.weight for block in blocks])
    user_weight = np.concatenate([block.user_weight for block in blocks])
    lengths = np.concatenate([np.diff(block.starts) for block in blocks])
    return Batch(
        blocks[0].n_items,
        on.take(np.concatenate([[0], np.cumsum(lengths)]), np.int64),
        on.take(np.concatenate([block.pair for block in blocks]), np.int32),
        None if (weight == 1).all() else on.take(weight, np.float32),
        None if (user_weight == 1).all() else on.take(user_weight, np.float32),
    )


def _members(item: AnyBlock) -> tuple[Any, ...]:
    """The blocks of a shard, or the one block."""
    return item.blocks if isinstance(item, Shard) else (item,)


def _n_users(item: AnyBlock) -> int:
    return sum(block.n_users for block in _members(item))


def _groups(blocks: Sequence[AnyBlock]) -> list[tuple[int, int]]:
    """Consecutive blocks of up to `ROWS` rows; a shard, or a stored block, is a batch by itself."""
    edges, rows = [0], 0
    for i, block in enumerate(blocks):
        size = len(block.pair) if isinstance(block, Block) else ROWS
        if rows and rows + size > ROWS:
            edges.append(i)
            rows = 0
        rows += size
    edges.append(len(blocks))
    return list(pairwise(edges))


def _gpu_arrays() -> Arrays:
    try:
        return device_arrays.on_gpu()
    except ImportError:
        raise missing("cupy", "The engine gpu") from None
    except Exception as error:  # CuPy's own errors, of several kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OptionError(
            f"The engine gpu found no GPU that CuPy can use ({reason}): choose another engine.",
            option="engine",
            value="gpu",
            expected="an engine that this machine has",
        ) from None


def _free_memory(on: Arrays) -> int:
    if on.kernels is None:
        return 1 << 30
    return int(_SHARE * on.xp.cuda.runtime.memGetInfo()[0])
