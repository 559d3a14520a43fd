"""The Dask engine: shards are read and summed on the workers of a cluster; one answer a shard comes back, added in their order.

Nothing that a task does depends on where or when it runs, so a worker that is lost costs the time of its tasks and no more.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from mallowmix.engine.blocks import is_stored
from mallowmix.engine.threads import LocalEngine, Step, Told, add, run_step, step_of_block, tell
from mallowmix.errors import OptionError

_AHEAD = 2  # tasks in flight for every thread of the cluster


class DaskEngine(LocalEngine):
    """Passes over stored blocks run on the cluster; what is in memory, such as the sample, stays with the threads here.

    client : a `dask.distributed.Client`, the address of a scheduler as in "tcp://10.0.0.1:8786", or None for a cluster of
        processes on this machine, which ends with the engine
    workers : how many processes such a cluster has; one for each core unless given

    Workers read the folder of `store_comparisons` themselves: it must be on a disk that all of them see under the same name.
    """

    def __init__(
        self, client: Any = None, *, jobs: int | None = None, workers: int | None = None
    ) -> None:
        super().__init__(jobs)
        self.client, self._owned = _client(client, workers or self.jobs)
        self._passes = 0

    def reduce(
        self,
        step: Step,
        blocks: Sequence[Any],
        broadcast: Any = None,
        state: Sequence[Any] | None = None,
        *,
        told: Told | None = None,
    ) -> tuple[Any, list[Any]]:
        """As `LocalEngine.reduce`, on the cluster where the blocks are stored."""
        if not blocks or not is_stored(blocks[0]):
            return super().reduce(step, blocks, broadcast, state, told=told)
        sent = self.client.scatter([broadcast], broadcast=True, hash=False)[0]
        before = state if state is not None else [None] * len(blocks)
        self._passes += 1
        name = f"{_name_of(step)}-{self._passes}"  # what the dashboard shows; no two passes have the same
        waiting, total, after = deque(), None, []
        window = max(4, _AHEAD * sum(self.client.nthreads().values()))
        for number, (block, old) in enumerate(zip(blocks, before, strict=True)):
            waiting.append(
                self.client.submit(run_step, step, block, sent, old, key=(name, number), pure=False)
            )
            if len(waiting) > window:
                total = self._collect(waiting.popleft(), total, after)
                tell(told, after, blocks)
        while waiting:
            total = self._collect(waiting.popleft(), total, after)
            tell(told, after, blocks)
        return total, after

    def _collect(self, future: Any, total: Any, after: list[Any]) -> Any:
        part, new_state = future.result()
        after.append(new_state)
        return add(total, part)

    def close(self) -> None:
        """A cluster that the engine started ends with it."""
        if self._owned:
            cluster = self.client.cluster
            self.client.close()
            cluster.close()


def _client(client: Any, workers: int) -> tuple[Any, bool]:
    try:
        from distributed import Client
        from distributed.deploy.subprocess import SubprocessCluster
    except ImportError:
        raise OptionError("The engine dask needs Dask: pip install 'mallowmix[dask]'.") from None
    if isinstance(client, Client):
        return client, False
    if client is None:
        # Processes that run nothing of the caller's script: it needs no guard around its main part, and may be a notebook.
        return Client(SubprocessCluster(n_workers=workers, worker_kwargs={"nthreads": 1})), True
    try:
        return Client(client, timeout=10), False
    except (OSError, ValueError) as error:
        raise OptionError(
            f"No Dask scheduler answers at {client} ({error}): start one with `dask scheduler`."
        ) from None


def _name_of(step: Step) -> str:
    """The pass by its name."""
    inner = step_of_block(step)
    return f"mallowmix {inner.__module__.rsplit('.')[-1]}{inner.__qualname__}"
