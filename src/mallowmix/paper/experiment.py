"""What every experiment is: tasks, one row of numbers for each, and a report of all rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mallowmix._version import __version__
from mallowmix.typing import Progress

Row = dict[str, Any]
TextRow = dict[str, str]


@dataclass(frozen=True)
class Request:
    """How an experiment is to be run.

    Parameters
    ----------
    quick : bool
        Whether to run the quick version: fewer seeds, users or values of K.
    data : Path, optional
        The folder with MovieLens; where it is None, the one that MALLOWMIX_DATA names.
    n_seeds : int
        The number of seeds of each setting, where an experiment has several.
    n_jobs : int, optional
        The number of threads; all cores where it is None.
    progress : callable, optional
        Called as ``progress(step, done, total)``.
    full : bool
        Whether to leave nothing out, as the paper does: of Figure 4, all comparisons of a user
        and all held-out users.
    """

    quick: bool = False
    data: Path | None = None
    n_seeds: int = 5
    n_jobs: int | None = None
    progress: Progress | None = None
    full: bool = False

    @property
    def size(self) -> str:
        """In a word: "quick", "whole" or "full"."""
        return "quick" if self.quick else "full" if self.full else "whole"


class ExperimentTask(Protocol):
    """One row to compute."""

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row: the key columns as text, then the version."""
        ...


class ExperimentReport(NamedTuple):
    """What is reported of the rows.

    Parameters
    ----------
    markdown : str
        The page.
    draw : callable
        Called as ``draw(path)``; writes the picture as PNG.
    heading, lines : sequence of str, sequence of sequences of str
        The table for the screen.
    """

    markdown: str
    draw: Callable[[Path], None]
    heading: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Experiment:
    """An experiment as functions.

    Parameters
    ----------
    columns : sequence of str
        The columns of a row.
    key : sequence of str
        The columns that, with the version, identify a row.
    tasks : callable
        ``tasks(request)`` is the list of everything to compute, each an `ExperimentTask`.
    rows : callable
        ``rows(tasks, request)`` yields one row for each task, in their order, when it is known.
    describe : callable
        ``describe(row)`` is a row in a few words.
    report : callable
        ``report(rows, tasks)``, the rows as text, from the file, is an `ExperimentReport`.
    """

    columns: Sequence[str]
    key: Sequence[str]
    tasks: Callable[[Request], list[Any]]
    rows: Callable[[Iterable[Any], Request], Iterator[Row]]
    describe: Callable[[Mapping[str, Any]], str]
    report: Callable[[list[TextRow], list[Any]], ExperimentReport]

    def key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """What identifies a row of the file."""
        return tuple(row[name] for name in (*self.key, "version"))


def task_key(*values: Any) -> tuple[str, ...]:
    """What identifies the row of a task.

    Parameters
    ----------
    *values : object
        The values of the key columns.

    Returns
    -------
    tuple of str
        The values as text, then the version.

    Examples
    --------
    >>> task_key("M4", 5)[:2]
    ('M4', '5')
    """
    return (*(str(value) for value in values), __version__)
