"""Argilla's pairwise tasks: records whose responses rank two or more answers, or name the better.

Both forms of its JSON are read: responses by question (a list of value and user_id each), and a
list of responses with the values of all questions.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mallowmix.errors import DataError, Option
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, derived_input, expected_shape
from mallowmix.readers.json_lines import value_of
from mallowmix.readers.ranking_forms import read_long
from mallowmix.readers.reading import Reading, ReadOptions

RECORDS = Roles(
    ("fields", "responses"),
    ("ranking", "left", "right"),
    names=dict.fromkeys(("ranking", "left", "right"), ()),
)
_TIES = ("tie", "equal", "same", "both")


def read_argilla(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "argilla"
) -> Reading:
    """Read each submitted response to a question as one ranking of the answers of a record.

    An answer is what the record's fields hold under the name that is ranked (or that name itself,
    where no field is called so); with `columns`, what stands under left and right.
    """
    records = source.objects() if source.objects else []
    with expected_shape(source.title, "Argilla"):
        question = _question(source, records, picked)
        rows = [
            (number, who, item, position)
            for number, record in enumerate(records)
            for who, value in _answers(record, question, picked)
            for item, position in _ranked(record, value, picked, source.where(number))
        ]
    if not rows:
        raise DataError(f"{source.title} has no response: export records that were submitted.")
    number, user, item, position = map(list, zip(*rows, strict=True))
    made = {"user": user, "list": number, "item": item, "rank": position}
    table = derived_input(source, made, number)
    reading = read_long(table, {name: name for name in made}, options, form)
    return reading.taken_from(picked)


def _responses(record: Mapping[str, Any], picked: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (question, {user_id, status, value}) of a record, in either form."""
    responses = record.get(picked["responses"]) or {}
    if isinstance(responses, dict):
        for question, given in responses.items():
            yield from ((question, each) for each in given or [])
        return
    for each in responses:
        for question, answer in (each.get("values") or {}).items():
            yield question, {**each, "value": (answer or {}).get("value")}


def _question(source: Input, records: list[dict[str, Any]], picked: Mapping[str, Any]) -> str:
    """Return the question that compares: the one that is named, or the only one that can."""
    if "ranking" in picked:
        return picked["ranking"].removeprefix(f"{picked['responses']}.")
    found = dict.fromkeys(
        question
        for record in records
        for question, given in _responses(record, picked)
        if _compares(given.get("value"), record.get(picked["fields"]) or {})
    )
    if len(found) != 1:
        names = ", ".join(map(repr, found)) or "none"
        raise DataError(
            f"{source.title}: the questions that compare answers are {names}; name one with ",
            Option("columns", {"ranking": f"{picked['responses']}.NAME"}),
            ".",
        )
    return next(iter(found))


def _compares(value: Any, fields: Mapping[str, Any]) -> bool:
    """Return whether an answer is a ranking, or names a field."""
    return isinstance(value, list) or (isinstance(value, str) and value in fields)


def _answers(
    record: Mapping[str, Any], question: str, picked: Mapping[str, Any]
) -> Iterator[tuple[Any, Any]]:
    for asked, given in _responses(record, picked):
        submitted = given.get("status") in (None, "submitted")
        if asked == question and submitted and given.get("value") is not None:
            yield given.get("user_id"), given["value"]


def _ranked(
    record: Mapping[str, Any], value: Any, picked: Mapping[str, Any], where: str
) -> list[tuple[Any, int]]:
    """Return items with positions, of a ranking or of the name of the better one."""
    fields = record.get(picked["fields"]) or {}
    if isinstance(value, str):
        positions = _chosen(value, fields, where)
    elif value and all(isinstance(each, dict) for each in value):
        positions = {each["value"]: each["rank"] for each in value}
    else:
        positions = {each: position for position, each in enumerate(value, start=1)}
    items: dict[Any, Any] = {name: fields.get(name, name) for name in positions}
    if {"left", "right"} <= set(picked):
        sides = [value_of(dict(record), picked[side]) for side in ("left", "right")]
        items = dict(zip(sorted(positions), sides, strict=False))
    return [(items[name], position) for name, position in positions.items() if name in items]


def _chosen(value: str, fields: Mapping[str, Any], where: str) -> dict[str, int]:
    """Return positions of two answers of which a label names the better, or says that they tie."""
    numbered = [name for name in fields if re.search(r"(\d|[ _-][ab])$", name)]
    if len(numbered) != 2 or value not in (*numbered, *_TIES):
        raise DataError(
            f"{where}: the answer is {value!r}, which names none of two fields: it must be one of "
            f"{', '.join(map(repr, numbered))}, or tie."
        )
    return {name: 1 if value in (name, *_TIES) else 2 for name in numbered}
