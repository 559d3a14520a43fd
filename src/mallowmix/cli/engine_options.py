"""Where a command computes: --engine, --memory, --scheduler and --cache."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mallowmix.cli.read_options import Address
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.engine import Engine

PANEL = "Large data"
_TEMPORARY = "temporary"  # an empty file in a folder that a command made for itself
# what can be said about how to read files that stay on disk
_ON_DISK = ("columns", "self_pairs", "missing")


def _option(help: str, metavar: str) -> Any:
    return typer.Option(
        help=help, metavar=metavar, parser=str, show_default=False, rich_help_panel=PANEL
    )


EngineOption: TypeAlias = Annotated[
    Any,
    _option(
        "Threads; data on disk; a cluster. All give the same bytes.",
        "threads|disk|dask",
    ),
]
Memory: TypeAlias = Annotated[
    Any, _option("Keep data on disk and stay within so much memory, as in 2GB.", "SIZE")
]
Scheduler: TypeAlias = Annotated[
    Any,
    _option(
        "A Dask scheduler, as in tcp://10.0.0.1:8786, or tls://10.0.0.1:8786?tls_ca_file=ca.pem"
        "&tls_cert=me.pem&tls_key=me.key; processes here unless given.",
        "ADDRESS",
    ),
]
Cache: TypeAlias = Annotated[
    Any,
    _option(
        "Where sorted rows are kept; NAME.blocks here, and removed in the end, unless given.",
        "FOLDER",
    ),
]


More: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Further files of the same kind and columns; they stay on disk.",
        metavar="[MORE]...",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class EngineChoice:
    """The values of the four options, and the files beyond the first.

    `in_memory`: the command needs all comparisons in memory.
    """

    engine: str | None = None
    memory: str | None = None
    scheduler: str | None = None
    cache: str | None = None
    more: tuple[Path, ...] = ()
    in_memory: bool = False

    @property
    def on_disk(self) -> bool:
        """Whether comparisons are sorted into a folder and read from there."""
        named = any(
            option is not None for option in (self.memory, self.cache, self.scheduler)
        ) or bool(self.more)
        return self.engine in ("disk", "dask") or (named and self.engine != "threads")

    def check(self) -> None:
        """Refuse options that do not go together, before any work."""
        from mallowmix.data.memory_size import check_memory
        from mallowmix.engine.selection import ENGINES
        from mallowmix.errors import check_choice

        if self.engine is not None:
            check_choice("engine", self.engine, ENGINES)
        if self.memory is not None:
            check_memory(self.memory)
        if self.in_memory and self.on_disk:
            name = self._first_for_disk()
            raise OptionError(
                Option(name, getattr(self, name)),
                " is for data on disk, and this needs the comparisons in memory: leave it out.",
                option=name,
                value=getattr(self, name),
                expected="'threads'" if name == "engine" else "left out",
            )
        if self.engine == "threads" and (self.memory or self.cache or self.more):
            raise OptionError(
                Option("memory"),
                ", ",
                Option("cache"),
                " and several files are for data on disk: leave ",
                Option("engine", "threads"),
                " out.",
                option="engine",
                value="threads",
                expected="left out where data is kept on disk",
            )

    def _first_for_disk(self) -> str:
        """The first option by which data would be kept on disk."""
        if self.engine in ("disk", "dask"):
            return "engine"
        names = ("memory", "cache", "scheduler", "more")
        return next(name for name in names if getattr(self, name))

    @contextmanager
    def opened(self, votes: Any, read: Any, n_jobs: int | None) -> "Iterator[tuple[Any, Engine]]":
        """The comparisons, in memory or on disk, and the engine, until the work is done."""
        with self._running(n_jobs) as run, _opened(votes, read, self, n_jobs) as comparisons:
            yield comparisons, run

    @contextmanager
    def _running(self, n_jobs: int | None) -> "Iterator[Engine]":
        """The engine, from before the votes are read until the work is done."""
        from mallowmix.engine.selection import make_engine

        self.check()
        name: Any = self.engine or ("dask" if self.scheduler else "disk" if self.on_disk else None)
        run = make_engine(name, n_jobs=n_jobs, memory=self.memory, scheduler=self.scheduler)
        try:
            yield run
        finally:
            run.close()


@contextmanager
def _opened(votes: Any, read: Any, choice: EngineChoice, n_jobs: int | None) -> Iterator[Any]:
    """Yield the comparisons in memory or on disk, and remove a temporary folder afterwards.

    A folder that was neither named nor there before is removed when the work is done or an option
    turns out wrong; a process that is killed leaves it.
    """
    if not choice.on_disk:
        yield read(votes)
        return
    from mallowmix.engine.out_of_core.store import default_cache, store_comparisons

    options = _reading(read)
    source = votes.url if isinstance(votes, Address) else votes
    folder = Path(choice.cache or default_cache(source))
    marker, was_there = folder / _TEMPORARY, folder.exists()
    stored = store_comparisons(
        [source, *choice.more], folder, memory=choice.memory or "2GB", n_jobs=n_jobs, **options
    )
    if choice.cache is None and not was_there:
        marker.touch()
    try:
        yield stored
    except OptionError:  # found out late: no work is lost
        _remove_temporary(folder, choice)
        raise
    _remove_temporary(folder, choice)


def _remove_temporary(folder: Path, choice: EngineChoice) -> None:
    if choice.cache is None and (folder / _TEMPORARY).exists():
        shutil.rmtree(folder, ignore_errors=True)


def _reading(read: Any) -> dict[str, Any]:
    """Return the reading options that apply to files on disk; refuse all others."""
    usual = {"per_user": "comparisons", "zero": "error", "format": "comparisons"}
    usual |= {"one_user": False, "header": True}
    said = {
        name: value
        for name, value in read.options.items()
        if value is not None and usual.get(name) != value
    }
    for name in said:
        if name not in _ON_DISK:
            raise OptionError(
                Option(name),
                " needs the comparisons in memory: leave ",
                Option("engine"),
                ", ",
                Option("memory"),
                " and ",
                Option("cache"),
                " out, or write comparisons.",
                option=name,
                value=said[name],
                expected="left out where comparisons are kept on disk",
            )
    return said
