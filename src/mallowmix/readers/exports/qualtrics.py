"""Qualtrics' rank order questions: the CSV or TSV export, with three lines of headers.

The first line has names (ResponseId, Q1_1, …), the second the questions ("… - Tea"), the third the
ids of the import; then a row for each response, with the position of each choice.
"""

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mallowmix.errors import DataError, DataWarning, Option
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, derived_input
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.wide_rankings import Cells, reading_of_cells

RESPONSES = Roles(
    ("user",),
    ("status", "ranking"),
    names={"user": ("responseid",), "status": ("status",), "ranking": ()},
)
_CHOICE = re.compile(r"(?P<question>.+)_(?P<choice>\d+)")
_PREVIEWS = ("survey preview", "1")


def is_qualtrics(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether a table has questions of several columns, beside the names of Qualtrics."""
    return "RecordedDate" in source.names and bool(_questions(source))


def read_qualtrics(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "qualtrics"
) -> Reading:
    """Read the one rank order question, or that of the column `ranking`; previews are left out."""
    questions = _questions(source)
    roles = {role: name for role, name in picked.items() if role != "ranking"}
    names = [name for columns in questions.values() for name in columns]
    taken = source.take(roles | {f"item {name}": name for name in names})
    texts = {role: _texts(column) for role, column in taken.items()}
    first = _headers(texts)
    kept, n_previews = _kept(texts, first)
    ranked = {
        question: columns
        for question, columns in questions.items()
        if _are_positions([texts[f"item {name}"] for name in columns], kept)
    }
    columns = _wanted(ranked, picked, source.title)
    cells = [[texts[f"item {name}"][row] for row in kept] for name in columns]
    labels = [_label(name, texts[f"item {name}"][0] if first else None) for name in columns]
    table = derived_input(source, {"user": [texts["user"][row] for row in kept]}, kept)
    notes = (_previews(source.title, n_previews),) if n_previews else ()
    reading = reading_of_cells(
        table,
        table.take({"user": "user"}),
        Cells([pa.chunked_array([pa.array(cell, pa.string())]) for cell in cells], labels, False),
        options,
        form,
        picked,
    )
    return reading.with_notes(*notes)


def _questions(source: Input) -> dict[str, list[Any]]:
    """Return the questions with several numbered columns, display orders (_DO_) left out."""
    found: dict[str, list[Any]] = {}
    for name in source.names:
        match = _CHOICE.fullmatch(str(name))
        if match and not match["question"].endswith("_DO"):
            found.setdefault(match["question"], []).append(name)
    return {question: names for question, names in found.items() if len(names) > 1}


def _texts(column: Any) -> list[str | None]:
    values = column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
    return [None if value is None else str(value) for value in values]


def _headers(texts: Mapping[str, list[str | None]]) -> int:
    """Return how many rows under the names are headers: two, or none in an edited file."""
    ids = texts["user"][1:2]
    return 2 if ids and "ImportId" in (ids[0] or "") else 0


def _kept(texts: Mapping[str, list[str | None]], first: int) -> tuple[list[int], int]:
    """Return the rows of responses that are no previews, and how many are."""
    rows = range(first, len(texts["user"]))
    status = texts.get("status")
    kept = [r for r in rows if status is None or (status[r] or "").lower() not in _PREVIEWS]
    return kept, len(rows) - len(kept)


def _are_positions(cells: list[list[str | None]], kept: list[int]) -> bool:
    """Return whether columns hold positions: whole numbers, in no row one of them twice."""
    rows = [[column[row] for column in cells if column[row]] for row in kept]
    filled = [row for row in rows if row]
    whole = all(str(value).isdigit() for row in filled for value in row)
    return bool(filled) and whole and all(len(set(row)) == len(row) for row in filled)


def _wanted(ranked: Mapping[str, list[Any]], picked: Mapping[str, Any], title: str) -> list[Any]:
    wanted = picked.get("ranking")
    fitting = [names for names in ranked.values() if wanted is None or wanted in names]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(repr(columns[0]) for columns in ranked.values()) or "none"
    raise DataError(
        f"{title}: the rank order questions begin with the columns {names}: name a column of the "
        "one to read with ",
        Option("columns", {"ranking": "NAME"}),
        ".",
    )


def _label(name: Any, text: str | None) -> str:
    """Return the choice that a column is about: what stands last in "Rank these drinks - Tea"."""
    return text.rsplit(" - ", 1)[-1].strip() if text else str(name)


def _previews(title: str, count: int) -> DataWarning:
    return DataWarning(f"{title}: {count:,} previews of the survey were left out.")
