"""Google Forms and its like: a row a person, a grid of one column for each item or position.

A grid's columns are called "Question [Row]". Rows may be the items, with answers like "1st choice",
or the choices ("First choice"), with items as answers.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mallowmix.data.labels import as_column
from mallowmix.errors import DataError, Option
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.wide_rankings import Cells, reading_of_cells

ANSWERS = Roles(
    ("time",),
    ("user", "ranking"),
    names={
        "time": ("timestamp", "submittedat", "starttime"),
        "user": ("emailaddress", "email", "username", "respondentid"),
        "ranking": (),
    },
)
_GRID = re.compile(r"(?P<question>.*\S)\s*\[(?P<row>.+)\]\s*", re.S)
_COUNTED = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_NUMBER = re.compile(
    r"(?:rank|choice|option|no\.?|#)?\s*(\d{1,4})(?:st|nd|rd|th)?\.?"
    r"(?:\s*(?:choice|place|rank|option))?(?:\s*[(\u2013-].*)?"  # words: ok
)


def is_google_form(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether a table has a grid of at least two columns."""
    return any(len(rows) > 1 for rows in _questions(source.names).values())


def read_google_form(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "google-forms"
) -> Reading:
    """Read one ranking a row; a person is an e-mail address, or else the row."""
    rows = _rows(source, picked)
    choices = {name: ordinal(row) for name, row in rows.items()}
    by_order = None not in choices.values()
    names = sorted(rows, key=lambda name: choices[name] or 0) if by_order else list(rows)
    user = {"user": picked["user"]} if "user" in picked else {}
    taken = source.take(user | {f"item {n}": name for n, name in enumerate(names)})
    columns = [taken[f"item {n}"] for n in range(len(names))]
    if not by_order:
        columns = [
            _ordinals(column, name, source) for column, name in zip(columns, names, strict=True)
        ]
    cells = Cells(columns, [rows[name] for name in names], by_order)
    return reading_of_cells(source, taken, cells, options, form, picked)


def ordinal(text: Any) -> int | None:
    """Return the number in 1, 1st, 1st choice, First choice, #1, Rank 1; None for other text."""
    words = str(text).strip().lower()
    first = words.split(" ")[0]
    if first in _COUNTED and words in (first, f"{first} choice", f"{first} preference"):
        return _COUNTED.index(first) + 1
    match = _NUMBER.fullmatch(words)
    return int(match[1]) if match else None


def _questions(names: Sequence[Any]) -> dict[str, dict[Any, str]]:
    """Return the grids: question to {column: row}; "First choice", … are one without a name."""
    found: dict[str, dict[Any, str]] = {}
    for name in names:
        if match := _GRID.fullmatch(str(name)):
            found.setdefault(match["question"], {})[name] = match["row"].strip()
        elif re.search("choice", str(name), re.I) and ordinal(name) is not None:
            found.setdefault("", {})[name] = str(name)
    return {question: rows for question, rows in found.items() if len(rows) > 1}


def _rows(source: Input, picked: Mapping[str, Any]) -> dict[Any, str]:
    """Return the columns of the grid to read, with the name of each row."""
    questions = _questions(source.names)
    wanted = picked.get("ranking")
    fitting = [rows for rows in questions.values() if wanted is None or wanted in rows]
    if len(fitting) == 1:
        return fitting[0]
    grids = "; ".join(map(repr, questions)) or "none"
    raise DataError(
        f"{source.title}: the questions with a grid of choices are {grids}: name a column of the "
        "one to read with ",
        Option("columns", {"ranking": "NAME"}),
        ".",
    )


def _ordinals(column: Any, name: Any, source: Input) -> list[int | None]:
    values = as_column(column, name).to_pylist()
    numbers = [None if value in (None, "") else ordinal(value) for value in values]
    for row, (value, number) in enumerate(zip(values, numbers, strict=True)):
        if number is None and value not in (None, ""):
            raise DataError(
                f"{source.where(row)}: the answer {value!r} to {name!r} is no position: it must "
                "be like 1, 1st choice or First choice, or empty."
            )
    return numbers
