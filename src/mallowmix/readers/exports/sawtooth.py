"""Sawtooth's MaxDiff: a file of answers (respondent, version, best and worst of each task), and the
design, which says what each version showed in each task.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from mallowmix.errors import DataError, Option, OptionError
from mallowmix.readers.best_worst import read_best_worst_table
from mallowmix.readers.files import open_path
from mallowmix.readers.headers import Roles, numbered, pick_columns
from mallowmix.readers.inputs import Input, derived_input
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.tables import open_table

RESPONDENTS = Roles(
    ("user",),
    ("version",),
    names={
        "user": ("sysrespnum", "respondent", "respondentid", "respnum", "user"),
        "version": ("version", "sysmaxdiffversion", "designversion"),
    },
)
DESIGN = Roles(
    ("task",),
    ("version",),
    names={"task": ("task", "set", "question"), "version": ("version", "block")},
)
_ANSWER = re.compile(r"(?P<stem>.*?)_?(?P<task>\d+)_?(?P<side>b|w|best|worst)", re.I)
_OTHER = re.compile(r"(?P<stem>.*?)_?(?P<side>best|worst|b|w)_?(?P<task>\d+)", re.I)
Shown = dict[tuple[str, str], list[str]]  # (version, task) → items in the order of the screen


class MaxDiffTask(NamedTuple):
    """The columns of one task."""

    number: str
    best: Any
    worst: Any


def is_maxdiff(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether columns come in pairs of best and worst, numbered by task."""
    return bool(_tasks(source.names))


def read_sawtooth(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "sawtooth"
) -> Reading:
    """Read the best and the worst of what each task showed.

    Answers are numbers of items, or positions on the screen: whichever fits all of them.
    """
    tasks = _tasks(source.names)
    if options.design is None:
        raise OptionError(
            f"{source.title} says what was best and worst, but not what was shown: name the file "
            "of the design, with the columns version, task, item1, item2, …, with ",
            Option("design", "design.csv"),
            ".",
            option="design",
            value=None,
            expected="the design of the exercise",
        )
    shown = _shown(options.design)
    answers = _answers(source, picked, tasks, shown)
    by_item = all(each in items for _, _, items, best, worst in answers for each in (best, worst))
    rows, users, sets, bests, worsts = map(list, zip(*answers, strict=True))
    if not by_item:
        bests = _at(bests, sets, rows, source)
        worsts = _at(worsts, sets, rows, source)
    made = {"user": users, "shown": sets, "best": bests, "worst": worsts}
    table = derived_input(source, made, rows)
    reading = read_best_worst_table(table, {name: name for name in made}, options, form)
    return reading.taken_from(picked)


def _tasks(names: list[Any]) -> list[MaxDiffTask]:
    """Return the tasks that have a column of the best and one of the worst."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for name in names:
        if match := _ANSWER.fullmatch(str(name)) or _OTHER.fullmatch(str(name)):
            key = match["stem"].lower(), int(match["task"])
            found.setdefault(key, {})[match["side"][0].lower()] = name
    return [
        MaxDiffTask(str(task), sides["b"], sides["w"])
        for (_, task), sides in sorted(found.items())
        if len(sides) == 2
    ]


def _shown(design: Any) -> Shown:
    """Return what each version showed in each task."""
    source = open_path(design) if isinstance(design, str | Path) else open_table(design)
    picked = pick_columns(source.names, DESIGN, None, source.title)
    items = [
        name for name in numbered(source.names, "item|pos|position") if name not in picked.values()
    ]
    if len(items) < 2:
        raise DataError(
            f"{source.title} is no design: it needs the columns version, task, item1, item2, …"
        )
    taken = source.take(picked | {f"item {n}": name for n, name in enumerate(items)})
    columns = {role: _texts(values) for role, values in taken.items()}
    tasks = columns["task"]
    version = columns.get("version", [""] * len(tasks))
    shown = [[columns[f"item {n}"][row] for n in range(len(items))] for row in range(len(tasks))]
    return {
        (version[row], tasks[row]): [item for item in shown[row] if item]
        for row in range(len(tasks))
    }


def _answers(
    source: Input, picked: Mapping[str, Any], tasks: list[MaxDiffTask], shown: Shown
) -> list[tuple[int, Any, list[str], str, str]]:
    """List (row, user, what was shown, best, worst) of every task of every respondent."""
    sides = {f"b {t.number}": t.best for t in tasks} | {f"w {t.number}": t.worst for t in tasks}
    columns = {role: _texts(values) for role, values in source.take(dict(picked) | sides).items()}
    n_rows = len(columns["user"])
    version = columns.get("version", [next(iter(shown))[0]] * n_rows)
    return [
        (
            row,
            columns["user"][row] or None,
            _set_of(shown, version[row], task.number, source.where(row)),
            columns[f"b {task.number}"][row],
            columns[f"w {task.number}"][row],
        )
        for row in range(n_rows)
        for task in tasks
        if columns[f"b {task.number}"][row] or columns[f"w {task.number}"][row]
    ]


def _set_of(shown: Shown, version: str, task: str, where: str) -> list[str]:
    if (version, task) not in shown:
        raise DataError(f"{where}: the design has no task {task} of version {version!r}.")
    return shown[version, task]


def _at(answers: list[str], sets: list[list[str]], rows: list[int], source: Input) -> list[str]:
    """Return the items at positions on the screen, counted from 1."""
    found = []
    for answer, items, row in zip(answers, sets, rows, strict=True):
        if not answer.isdigit() or not 1 <= int(answer) <= len(items):
            raise DataError(
                f"{source.where(row)}: the answer {answer!r} is neither the number of an item that "
                f"was shown ({', '.join(items)}) nor a position from 1 to {len(items)}."
            )
        found.append(items[int(answer) - 1])
    return found


def _texts(values: Any) -> list[str]:
    listed = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    return ["" if value is None else str(value) for value in listed]
