"""The engine: where passes over the users run. One Protocol, and what a pass is made of.

Every statistic of the method is a sum over users. So a pass is written once, as a *step*, a
function of one block of users, and an engine runs it on all blocks: threads on this machine, files
larger than memory, a Dask cluster. No algorithm knows which.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from mallowmix.engine.blocks import AnyBlock, Shard
from mallowmix.engine.sums import add as add

Answer = TypeVar("Answer")
State = TypeVar("State")
BlockProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class MapStep(Generic[Answer]):
    """A pass that gives one answer a block: ``function(block, broadcast) -> answer``.

    Declared with `map_step`. A step never writes into its arguments.
    """

    name: str
    function: Callable[[Any, Any], Answer]

    def __call__(self, block: object, broadcast: object = None) -> Answer:
        """The step on one block."""
        return self.function(block, broadcast)

    def __reduce__(self) -> tuple[object, ...]:
        """Sent to other processes by its name: the module declares it there too."""
        return declared, (self.function.__module__, self.function.__qualname__)


@dataclass(frozen=True)
class ReduceStep(Generic[Answer, State]):
    """A pass whose answers are added up: ``function(block, broadcast, state) -> (sum, new state)``.

    Declared with `reduce_step`. A sum is a number, an array, None, or a tuple of these. The state
    (a Gibbs assignment, a user's γ) belongs to the block and stays where the block is. A step
    never writes into its arguments.
    """

    name: str
    function: Callable[[Any, Any, Any], tuple[Answer, State]]
    takes_shards: bool = False

    def __call__(
        self, block: object, broadcast: object = None, state: object = None
    ) -> tuple[Answer, State]:
        """The step on one block."""
        return self.function(block, broadcast, state)

    def __reduce__(self) -> tuple[object, ...]:
        """Sent to other processes by its name: the module declares it there too."""
        return declared, (self.function.__module__, self.function.__qualname__)


STEPS: dict[str, MapStep[Any] | ReduceStep[Any, Any]] = {}
"""Every declared step by its name; a name is taken once."""


def map_step(name: str) -> Callable[[Callable[[Any, Any], Answer]], MapStep[Answer]]:
    """Declare a step for `Engine.map`.

    Parameters
    ----------
    name : str
        Unique among all steps; progress bars and dashboards show it.
    """

    def declare(function: Callable[[Any, Any], Answer]) -> MapStep[Answer]:
        return _enter(MapStep(name, function))

    return declare


def reduce_step(
    name: str, *, takes_shards: bool = False
) -> Callable[[Callable[[Any, Any, Any], tuple[Answer, State]]], ReduceStep[Answer, State]]:
    """Declare a step for `Engine.reduce`.

    Parameters
    ----------
    name : str
        Unique among all steps; finished passes are stored under it.
    takes_shards : bool
        Whether it is called on whole shards, and adds up their blocks itself.
    """

    def declare(
        function: Callable[[Any, Any, Any], tuple[Answer, State]],
    ) -> ReduceStep[Answer, State]:
        return _enter(ReduceStep(name, function, takes_shards))

    return declare


def _enter(step: Any) -> Any:
    before = STEPS.get(step.name)
    if before is not None and before.function.__module__ != step.function.__module__:
        raise ValueError(f"two steps are called {step.name!r}")
    STEPS[step.name] = step
    return step


def declared(module: str, name: str) -> Any:
    """A step, from the module that declares it."""
    return getattr(import_module(module), name)


@runtime_checkable
class Engine(Protocol):
    """Where passes over the users run.

    Blocks are a function of the data alone, and sums are float64 in block order: the answer does
    not depend on the engine or on the number of its workers.

    Examples
    --------
    >>> import mallowmix as mm
    >>> engine = mm.make_engine("threads", n_jobs=2)
    >>> isinstance(engine, mm.Engine)
    True
    """

    @property
    def n_jobs(self) -> int:
        """How many steps run at the same time."""
        ...

    def map(
        self,
        step: MapStep[Answer],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        *,
        progress: BlockProgress | None = None,
    ) -> list[Answer]:
        """One answer a block, in the order of the blocks.

        Parameters
        ----------
        step : MapStep
            What to do with each block.
        blocks : sequence of blocks
            From `make_blocks` or `make_shards`.
        broadcast : object
            What all blocks need.
        progress : callable
            Called as ``progress(done, total)`` after each block.
        """
        ...

    def reduce(
        self,
        step: ReduceStep[Answer, State],
        blocks: Sequence[AnyBlock],
        broadcast: object = None,
        state: Sequence[State] | None = None,
        *,
        progress: BlockProgress | None = None,
    ) -> tuple[Answer, list[State]]:
        """The sum over the blocks, and each block's new state.

        A step over blocks may be given shards: their blocks' sums are added up where they are.

        Parameters
        ----------
        step : ReduceStep
            What to do with each block.
        blocks : sequence of blocks
            From `make_blocks` or `make_shards`.
        broadcast : object
            What all blocks need.
        state : sequence, optional
            Each block's state, from an earlier pass.
        progress : callable
            Called as ``progress(done, total)`` after each block.
        """
        ...

    def session(self, comparisons: object, n_components: object) -> AbstractContextManager[None]:
        """Context of one fit of these comparisons: reserve memory, remove what a restart needed."""
        ...

    def close(self) -> None:
        """Free what the engine holds, such as processes."""
        ...


def run_map(step: MapStep[Answer], block: AnyBlock, broadcast: object) -> Answer:
    """Run a step on one block, which is read first where it is stored, or on a whole shard."""
    return step(block if isinstance(block, Shard) else block.load(), broadcast)


def run_reduce(
    step: ReduceStep[Answer, State], block: AnyBlock, broadcast: object, state: object
) -> tuple[Answer, State]:
    """Run a step on one block; on a shard, sum over its blocks in their order."""
    if not isinstance(block, Shard):
        return step(block.load(), broadcast, state)
    if step.takes_shards:
        return step(block, broadcast, state)
    total: Any = None
    for each in block.blocks:
        total = add(total, step(each.load(), broadcast, None)[0])
    return total, None  # type: ignore[return-value]


def states_of(
    state: Sequence[State] | None, blocks: Sequence[AnyBlock]
) -> Iterator[tuple[AnyBlock, Any]]:
    """Each block with its state, None where there is none yet."""
    return zip(blocks, state if state is not None else [None] * len(blocks), strict=True)
