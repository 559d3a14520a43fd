"""An engine by its name: local, disk, dask or gpu."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from mallowmix.engine.threads import LocalEngine
from mallowmix.errors import OptionError, check_choice

EngineName = Literal["local", "disk", "dask", "gpu"]
ENGINES = ("local", "disk", "dask", "gpu")


@contextmanager
def using(
    engine: EngineName | LocalEngine | None = None, jobs: int | None = None
) -> Iterator[LocalEngine]:
    """An engine for one piece of work; one that is made here is closed afterwards."""
    chosen = make_engine(engine, jobs=jobs)
    try:
        yield chosen
    finally:
        if chosen is not engine:
            chosen.close()


def make_engine(
    engine: EngineName | LocalEngine | None = None,
    *,
    jobs: int | None = None,
    memory: str | float | None = None,
    scheduler: Any = None,
) -> LocalEngine:
    """The engine of that name, or the engine itself.

    memory : for "disk", a bound for data and work arrays; scheduler : for "dask", an address or a `Client`
    """
    if isinstance(engine, LocalEngine):
        return engine
    name = engine or (
        "dask" if scheduler is not None else "disk" if memory is not None else "local"
    )
    check_choice("engine", name, ENGINES)
    if scheduler is not None and name != "dask":
        raise OptionError(f"scheduler goes with the engine dask, not with {name}.")
    if name == "disk":
        from mallowmix.engine.out_of_core.disk import DiskEngine

        return DiskEngine(jobs, memory=memory if memory is not None else "2GB")
    if name == "dask":
        from mallowmix.engine.dask import DaskEngine

        return DaskEngine(scheduler, jobs=jobs)
    if name == "gpu":
        from mallowmix.engine.gpu.gpu_engine import GpuEngine

        return GpuEngine(jobs)
    return LocalEngine(jobs)
