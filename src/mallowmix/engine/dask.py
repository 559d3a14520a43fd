"""The Dask engine: workers of a cluster read blocks and run steps; answers come back in order.

Nothing that a task does depends on where or when it runs, so a worker that is lost costs the time
of its tasks and no more. Where the scheduler is lost, the pass waits for it to be started again,
and goes on after the last answer that came.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from mallowmix.data.optional_packages import optional_package
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
from mallowmix.engine.isolated_python import safe_environment
from mallowmix.engine.threads import ThreadEngine
from mallowmix.errors import EngineError, OptionError

# what an address may have after its "?", and what Dask calls it here
_TLS = {"tls_ca_file": "tls_ca_file", "tls_cert": "tls_client_cert", "tls_key": "tls_client_key"}
_AHEAD = 2  # tasks in flight for every thread of the cluster
_PATIENCE = 60.0  # seconds in which a lost scheduler, and a worker, must be back
_MOST_LOST = 5  # times in one pass


class DaskEngine(ThreadEngine):
    """Run passes over stored blocks on a cluster, and those over blocks in memory on threads.

    Workers read the folder of `store_comparisons` themselves: it must be on a disk that all of
    them see under the same name.

    Parameters
    ----------
    client : distributed.Client or str
        A client; the address of a scheduler, as in "tcp://10.0.0.1:8786", or with certificates
        "tls://10.0.0.1:8786?tls_ca_file=ca.pem&tls_cert=me.pem&tls_key=me.key"; or None for a
        cluster of processes on this machine, which ends with the engine.
    n_jobs : int
        How many threads on this machine.
    workers : int
        How many processes a cluster on this machine has; one for each core unless given.
    dashboard : str
        Where a cluster on this machine shows its work. Its other ports are on 127.0.0.1, too: who
        reaches a scheduler can run any code on its workers.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        n_jobs: int | None = None,
        workers: int | None = None,
        dashboard: str = "127.0.0.1:8787",
    ) -> None:
        super().__init__(n_jobs)
        self.client: Any
        self.client, self._owned = _client(client, workers or self.n_jobs, dashboard)
        self._address = self.client.scheduler.address
        self._passes = 0

    def map(
        self,
        step: MapStep[Answer],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        *,
        progress: BlockProgress | None = None,
    ) -> list[Answer]:
        """As `ThreadEngine.map`, on the cluster where the blocks are stored."""
        if not blocks or not blocks[0].is_stored:
            return super().map(step, blocks, broadcast, progress=progress)
        answers = []
        for answer in self._in_order(run_map, step, [(block,) for block in blocks], broadcast):
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
        """As `ThreadEngine.reduce`, on the cluster where the blocks are stored."""
        if not blocks or not blocks[0].is_stored:
            return super().reduce(step, blocks, broadcast, state, progress=progress)
        total: Any = None
        after: list[State] = []
        work = list(states_of(state, blocks))
        for part, new_state in self._in_order(run_reduce, step, work, broadcast):
            total = add(total, part)
            after.append(new_state)
            if progress:
                progress(len(after), len(blocks))
        return total, after

    def _in_order(
        self, run: Any, step: Any, work: Sequence[tuple[Any, ...]], broadcast: object
    ) -> Iterator[Any]:
        """Answers of ``run(step, block, broadcast, …)`` in the order of the blocks."""
        n_answers = 0
        for _ in range(_MOST_LOST):
            try:
                for answer in self._answers(run, step, work[n_answers:], broadcast):
                    n_answers += 1
                    yield answer
                return
            except Exception as error:
                if not self._is_lost(error):
                    raise
            self._wait_for_scheduler()
        raise self._lost(f"{_MOST_LOST} times")

    def _answers(
        self, run: Any, step: Any, work: Sequence[tuple[Any, ...]], broadcast: object
    ) -> Iterator[Any]:
        """The same, as long as there is a scheduler."""
        sent = self.client.scatter([broadcast], broadcast=True, hash=False)[0]
        self._passes += 1
        # what the dashboard shows; no two passes have the same
        name = f"mallowmix {step.name}-{self._passes}"
        window = max(4, _AHEAD * sum(self.client.nthreads().values()))
        waiting: deque[Any] = deque()
        for number, (block, *rest) in enumerate(work):
            key = (name, number)
            waiting.append(self.client.submit(run, step, block, sent, *rest, key=key, pure=False))
            if len(waiting) > window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _is_lost(self, error: Exception) -> bool:
        """Whether the scheduler is lost; what a step raises on a worker is raised here, too."""
        from distributed.comm.core import CommClosedError

        lost = isinstance(error, CancelledError | CommClosedError | TimeoutError)
        return lost or self.client.status != "running"

    def _wait_for_scheduler(self) -> None:
        """Until there is a scheduler with a worker again."""
        from distributed import Client

        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                if self.client.status == "closed" and not self._owned:  # it looked for too short
                    security = self.client.security
                    self.client = Client(self._address, timeout=_PATIENCE / 10, security=security)
                if self.client.status == "running" and self.client.nthreads():
                    return
            except (OSError, TimeoutError, RuntimeError, CancelledError):
                pass  # not yet
            time.sleep(0.2)
        raise self._lost(f"and was not back with a worker within {_PATIENCE:.0f} seconds")

    def _lost(self, how: str) -> EngineError:
        return EngineError(
            f"The Dask scheduler at {self._address} was lost, {how}: start it and its workers, and "
            "run this again."
        )

    def close(self) -> None:
        """A cluster that the engine started ends with it."""
        if self._owned:
            cluster = self.client.cluster
            self.client.close()
            cluster.close()


def _client(client: Any, workers: int, dashboard: str) -> tuple[Any, bool]:
    optional_package("distributed", "The engine dask")
    from distributed import Client

    if isinstance(client, Client):
        return client, False
    if client is None:
        return Client(_local_cluster(workers, dashboard)), True
    address, security = scheduler_address(client)
    try:
        return Client(address, timeout=10, security=security), False
    except (OSError, ValueError) as error:
        raise OptionError(
            f"No Dask scheduler answers at {address} ({error}): start one with `dask scheduler`.",
            option="scheduler",
            value=client,
            expected="the address of a running scheduler",
        ) from None


def _local_cluster(workers: int, dashboard: str) -> Any:
    """Processes on this machine that listen on 127.0.0.1 alone.

    They run nothing of the caller's script: it needs no guard around its main part, and may be a
    notebook. Nor do they run files of the current folder.
    """
    from distributed.deploy.subprocess import SubprocessCluster

    with safe_environment():
        return SubprocessCluster(
            host="127.0.0.1",
            n_workers=workers,
            dashboard_address=dashboard,
            worker_kwargs={"nthreads": 1, "dashboard_address": "127.0.0.1:0"},
        )


def scheduler_address(text: Any) -> tuple[Any, Any]:
    """Split an address from the files that prove who one is: the address, and Dask's Security.

    Examples
    --------
    >>> scheduler_address("tcp://10.0.0.1:8786")
    ('tcp://10.0.0.1:8786', None)
    """
    if not isinstance(text, str) or "?" not in text:
        return text, None
    from distributed import Security

    address, _, query = text.partition("?")
    files = dict(parse_qsl(query, keep_blank_values=True))
    if not address.startswith("tls://") or set(files) != set(_TLS):
        raise _wrong_address(text, "it is not tls:// with " + ", ".join(_TLS))
    for name in files.values():
        if not Path(name).is_file():
            raise _wrong_address(text, f"there is no file {name}")
    options = {ours: files[name] for name, ours in _TLS.items()}
    return address, Security(require_encryption=True, **options)


def _wrong_address(text: str, reason: str) -> OptionError:
    return OptionError(
        f"{text} cannot be used as the address of a scheduler: {reason}.",
        option="scheduler",
        value=text,
        expected="tls://HOST:PORT?tls_ca_file=FILE&tls_cert=FILE&tls_key=FILE",
    )
