"""What every experiment is: numbers to find, one row each, then a table in words and a picture."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mallowmix._version import __version__
from mallowmix.typing import Progress

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """How an experiment is asked for: its quick twin or the whole, where real data lies, how many threads, who is told."""

    quick: bool = False
    data: Path | None = None
    n_seeds: int = 5
    n_jobs: int | None = None
    progress: Progress | None = None


class Task(Protocol):
    """One row to find."""

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by: the text of the experiment's key columns, then the version."""
        ...


class Report(NamedTuple):
    """What is said of the rows: a page of Markdown, a picture, and a table for the screen (heading, lines)."""

    markdown: str
    draw: Callable[[Path], None]
    heading: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Experiment:
    """An experiment as functions. Rows are dictionaries with these columns; those of `key` and the version tell them apart.

    tasks : everything that a request asks for
    rows : one row a task, in their order, each as soon as it is known
    said : a row in a few words
    report : of the rows found (as text, from the file) and what was asked for
    """

    columns: Sequence[str]
    key: Sequence[str]
    tasks: Callable[[Request], list[Any]]
    rows: Callable[[Iterable[Any], Request], Iterator[Row]]
    said: Callable[[Mapping[str, Any]], str]
    report: Callable[[list[dict[str, str]], list[Any]], Report]

    def key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """What a row of the file is known by."""
        return tuple(row[name] for name in (*self.key, "version"))


def key(*values: Any) -> tuple[str, ...]:
    """The key of a task: its values as the file has them, and the version."""
    return (*(str(value) for value in values), __version__)


def markdown_table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, its first column to the left and the others to the right."""
    rule = "|---|" + "---:|" * (len(heading) - 1)
    return "\n".join(
        [f"| {' | '.join(heading)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]
    )


def digits(value: Any, places: int = 4) -> str:
    """.8241 for 0.8241 and a dash for nothing."""
    if value in (None, ""):
        return "–"
    text = f"{float(value):.{places}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
