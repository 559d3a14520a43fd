"""The GPU engine: passes that have a form for a card run there, all others on threads.

Blocks go to the card in batches and stay as long as there is room; what is beyond that is copied for each pass. Sums on a card
are taken in any order, so its answers agree with the processor's to rounding and not to the byte.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mallowmix.engine.blocks import Shard, loaded
from mallowmix.engine.gpu import device_arrays as device
from mallowmix.engine.gpu.device_arrays import Arrays, Batch
from mallowmix.engine.threads import LocalEngine, Step, Told, add, step_of_block
from mallowmix.errors import OptionError

Form = Callable[[Arrays, Batch, Any, Any], Any]
ROWS = 1 << 25  # of one batch
_SHARE = 0.6  # of the card's free memory that batches may stay in


def on_device(form: Form) -> Callable[[Step], Step]:
    """Give a step its form for a card: form(arrays, batch, broadcast, state) -> (sum, new state), or NotImplemented."""

    def mark(step: Step) -> Step:
        step.on_device = form  # type: ignore[attr-defined]
        return step

    return mark


class Part:
    """A block's share of what a batch keeps on the card; numpy sees the block's own rows."""

    def __init__(self, on: Arrays, whole: Any, first: int, last: int) -> None:
        self.on, self.whole, self.first, self.last = on, whole, first, last

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The rows, brought from the card."""
        return self.on.give(self.whole[self.first : self.last]).astype(dtype or np.float64)


class GpuEngine(LocalEngine):
    """One card. `arrays` may be those of the processor, for tests."""

    def __init__(
        self, jobs: int | None = None, *, arrays: Arrays | None = None, room: int | None = None
    ) -> None:
        super().__init__(jobs)
        self.on = arrays or _card()
        self.room = room if room is not None else _free_memory(self.on)
        self._kept: dict[tuple[int, ...], tuple[list[Any], Batch]] = {}
        self._held = 0

    def reduce(
        self,
        step: Step,
        blocks: Sequence[Any],
        broadcast: Any = None,
        state: Sequence[Any] | None = None,
        *,
        told: Told | None = None,
    ) -> tuple[Any, list[Any]]:
        """As `LocalEngine.reduce`, on the card where the step has a form for it."""
        form = getattr(step_of_block(step), "on_device", None)
        if form is not None and blocks:
            answer = self._on_card(form, blocks, broadcast, state, told)
            if answer is not NotImplemented:
                return answer
        return super().reduce(step, blocks, broadcast, state, told=told)

    def close(self) -> None:
        """Free the card's memory."""
        self._kept.clear()
        self._held = 0

    def _on_card(
        self, form: Form, blocks: Sequence[Any], broadcast: Any, state: Any, told: Told | None
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
            if told:
                told(last, len(blocks))
        return total, after

    def _batch(self, group: list[Any]) -> Batch:
        key = tuple(map(id, group))
        if key in self._kept:
            return self._kept[key][1]
        batch = to_batch(
            self.on, [loaded(block) for item in group for block in getattr(item, "blocks", (item,))]
        )
        nbytes = sum(array.nbytes for array in batch[1:] if array is not None)
        if (
            not isinstance(group[0], Shard) and self._held + nbytes <= self.room
        ):  # shards are made anew for each pass
            self._kept[key] = (group, batch)  # the group too: its id stays taken
            self._held += nbytes
        return batch

    def _whole(self, parts: list[Any]) -> Any:
        """A batch's state, from those of its blocks."""
        if parts[0] is None:
            return None
        if isinstance(parts[0], Part):
            return parts[0].whole
        if not isinstance(parts[0], np.ndarray):
            return parts[0]  # of a step that ran elsewhere: its form will not know it
        return self.on.take(np.concatenate(parts), np.float32)

    def _parts(self, group: list[Any], whole: Any) -> list[Any]:
        if whole is None:
            return [None] * len(group)
        edges = np.cumsum([0, *(getattr(block, "n_users", 0) for block in group)])
        return [Part(self.on, whole, int(a), int(b)) for a, b in pairwise(edges)]


def to_batch(on: Arrays, blocks: list[Any]) -> Batch:
    """Blocks in memory as one batch where `on` says. Weights that are all 1 take no room."""
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


def _groups(blocks: Sequence[Any]) -> list[tuple[int, int]]:
    """Consecutive blocks of up to `ROWS` rows; a shard is a batch of its own."""
    edges, rows = [0], 0
    for i, block in enumerate(blocks):
        size = ROWS if isinstance(block, Shard) or not hasattr(block, "pair") else len(block.pair)
        if rows and rows + size > ROWS:
            edges.append(i)
            rows = 0
        rows += size
    edges.append(len(blocks))
    return list(pairwise(edges))


def _card() -> Arrays:
    try:
        return device.on_card()
    except ImportError:
        raise OptionError(
            "The engine gpu needs CuPy: pip install 'mallowmix[gpu]', or choose another engine."
        ) from None
    except Exception as error:  # CuPy's own errors, of several kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OptionError(
            f"The engine gpu found no card that CuPy can use ({reason}): choose another engine."
        ) from None


def _free_memory(on: Arrays) -> int:
    if on.kernels is None:
        return 1 << 30
    return int(_SHARE * on.xp.cuda.runtime.memGetInfo()[0])
