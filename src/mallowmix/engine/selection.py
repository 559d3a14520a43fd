"""An engine by its name: threads, disk or dask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, get_args

from mallowmix.engine.engine import Engine
from mallowmix.engine.threads import ThreadEngine
from mallowmix.errors import Option, OptionError, check_choice

EngineName: TypeAlias = Literal["threads", "disk", "dask"]
ENGINES: tuple[str, ...] = get_args(EngineName)


@contextmanager
def using(engine: EngineName | Engine | None = None, n_jobs: int | None = None) -> Iterator[Engine]:
    """Context with an engine; one that is made here is closed afterwards.

    Parameters
    ----------
    engine : str, Engine or None
        As in `make_engine`.
    n_jobs : int, optional
        How many threads.
    """
    chosen = make_engine(engine, n_jobs=n_jobs)
    try:
        yield chosen
    finally:
        if chosen is not engine:
            chosen.close()


def make_engine(
    engine: EngineName | Engine | None = None,
    *,
    n_jobs: int | None = None,
    memory: str | float | None = None,
    scheduler: Any = None,
) -> Engine:
    """The engine of that name, or the engine itself.

    Parameters
    ----------
    engine : {"threads", "disk", "dask"} or Engine
        "threads" unless `memory` or `scheduler` says otherwise.
    n_jobs : int
        How many threads on this machine; all cores unless given.
    memory : str or float
        For "disk": a bound for data and work arrays, as in "2GB".
    scheduler : str or distributed.Client
        For "dask": the address of a scheduler, or a client.

    Returns
    -------
    Engine
        To be given as ``engine=`` to any function that has it; close it with ``.close()``.

    Examples
    --------
    >>> from mallowmix import make_engine
    >>> make_engine("threads", n_jobs=2).n_jobs
    2
    """
    if isinstance(engine, Engine):
        return engine
    given = "dask" if scheduler is not None else "disk" if memory is not None else "threads"
    name = given if engine is None else engine
    check_choice("engine", name, ENGINES)
    if scheduler is not None and name != "dask":
        raise OptionError(
            Option("scheduler"),
            " goes with ",
            Option("engine", "dask"),
            f", not with {name}.",
            option="scheduler",
            value=scheduler,
            expected="left out, or given with the engine dask",
        )
    if name == "disk":
        from mallowmix.engine.out_of_core.disk import DiskEngine

        return DiskEngine(n_jobs, memory=memory if memory is not None else "2GB")
    if name == "dask":
        from mallowmix.engine.dask import DaskEngine

        return DaskEngine(scheduler, n_jobs=n_jobs)
    return ThreadEngine(n_jobs)
