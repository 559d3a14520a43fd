"""Label Studio's pairwise tasks: the JSON export, a list of tasks with their annotations."""

from collections.abc import Iterator, Mapping
from typing import Any

from mallowmix.errors import DataError, Option
from mallowmix.readers.battles import read_battle_table
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, derived_input, expected_shape
from mallowmix.readers.json_lines import value_of
from mallowmix.readers.reading import Reading, ReadOptions

TASKS = Roles(
    ("data", "annotations"), ("left", "right"), names=dict.fromkeys(("left", "right"), ())
)


def read_label_studio(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "label-studio"
) -> Reading:
    """Read which of two things each annotator selected.

    The two are what the task's data holds under the names that the labelling configuration
    compares; `columns` may name other entries of the data, as in {"left": "data.model_1"}.
    """
    tasks = source.objects() if source.objects else []
    with expected_shape(source.title, "Label Studio"):
        rows = [
            (number, _who(annotation), *_sides(task, result, picked, source, number), selected)
            for number, task in enumerate(tasks)
            for annotation in task.get(picked["annotations"]) or []
            for result, selected in _selected(annotation)
        ]
    if not rows:
        raise DataError(
            f"{source.title} has no pairwise annotation: export tasks with the tag Pairwise as "
            "JSON, after somebody has annotated them."
        )
    number, user, left, right, outcome = map(list, zip(*rows, strict=True))
    made = {"user": user, "left": left, "right": right, "outcome": outcome}
    table = derived_input(source, made, number)
    reading = read_battle_table(table, {name: name for name in made}, options, form)
    return reading.taken_from(picked)


def _selected(annotation: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield each pairwise result with the side that it selects; cancelled annotations have none."""
    if annotation.get("was_cancelled"):
        return
    for result in annotation.get("result") or []:
        if result.get("type") == "pairwise":
            yield result, (result.get("value") or {}).get("selected")


def _who(annotation: Mapping[str, Any]) -> Any:
    who = annotation.get("completed_by")
    return str(who.get("email") or who.get("id")) if isinstance(who, dict) else str(who)


def _sides(
    task: Mapping[str, Any],
    result: Mapping[str, Any],
    picked: Mapping[str, Any],
    source: Input,
    number: int,
) -> tuple[Any, Any]:
    """Return the two things that a result compares."""
    data = task.get(picked["data"]) or {}
    if {"left", "right"} <= set(picked):
        return value_of(dict(task), picked["left"]), value_of(dict(task), picked["right"])
    names = result.get("to_name") or []
    names = names.split(",") if isinstance(names, str) else names
    if len(names) != 2 or not set(names) <= set(data):
        keys = ", ".join(f"{picked['data']}.{name}" for name in data)
        raise DataError(
            f"{source.where(number)}: the data do not hold {' and '.join(map(repr, names))}, which "
            f"the annotation compares, but {keys}: say which two are compared with ",
            Option(
                "columns", {"left": f"{picked['data']}.NAME", "right": f"{picked['data']}.NAME"}
            ),
            ".",
        )
    return data[names[0]], data[names[1]]
