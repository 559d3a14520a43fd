"""Numbers that a file holds: results in JSON, CSV and Markdown, literals in Python.

`lookup` finds the one number that an entry of docs/claims.toml names; `values_of` lists all that a
source may hold, so that a number in a text can be compared with them; `is_backed` compares.
"""

import ast
import csv
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"(?<![\w.])[−-]?\d*\.\d+(?!\w|\.\d)(?: ?%)?|\d+(?:\.\d+)? ?%")
_ANY_NUMBER = re.compile(r"(?<![\w.])[−+-]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?")
Row = dict[str, Any]


def results(root: Path, name: str) -> Path:
    """The path of a result file."""
    return root / "benchmarks" / "results" / name


def lookup(file: Path, claim: Row) -> float:
    """One number of a file: a column of the one row that fits, or a path into JSON."""
    found = json_part(file, claim.get("path", "rows")) if file.suffix == ".json" else _rows(file)
    if not isinstance(found, list):
        return float(found)
    fits = _fitting(found, claim["where"])
    if len(fits) != 1:
        raise ValueError(f"{len(fits)} rows of {file.name} fit {claim['where']}, not one")
    return float(fits[0][claim["column"]])


def values_of(root: Path, name: str, entry: Row) -> tuple[float, ...]:
    """The numbers that a source holds.

    A bare name is a result file, of which `path`, `where` (of its ``rows``) and `columns` take a
    part, `times` multiplies, `differences` adds all differences of two and `ratios` takes their
    ratios. Of other files the literals count: `FILE.py::NAME` is a function or a class,
    `PAGE.md::code` the Python of a page, which the tests run.
    """
    part = json.dumps({key: entry[key] for key in _PARTS if key in entry}, sort_keys=True)
    return _values(root, name, part)


_PARTS = ("path", "where", "columns", "times", "differences", "ratios")


@cache
def _values(root: Path, name: str, part: str) -> tuple[float, ...]:
    entry = json.loads(part)
    path, _, inside = name.partition("::")
    file = root / path if "/" in path else results(root, path)
    if file.suffix in (".json", ".csv"):
        found = list(_leaves(_part(file, entry)))
    else:
        text = file.read_text(encoding="utf-8")
        found = list(_literals(_inside(text, inside)))
    found = [value * entry.get("times", 1) for value in found]
    if entry.get("differences"):
        found += [a - b for a in found for b in found if a != b]
    if entry.get("ratios"):
        found = [a / b for a in found for b in found if a != b and b]
    if not found:
        raise ValueError(f"{name} holds no number there")
    return tuple(found)


def is_backed(number: str, values: Iterable[float]) -> bool:
    """Whether a printed number is one of the values, rounded as it is printed.

    A percentage may be a share; a number without a sign may be the size of a negative one.
    """
    percent = number.endswith("%")
    text = number.rstrip("% ").replace("−", "-")
    digits = len(text.partition(".")[2])
    shown = float(text)
    for value in values:
        for candidate in (value, 100 * value) if percent else (value,):
            size = candidate if shown < 0 else abs(candidate)
            if abs(size - shown) <= 0.5 * 10.0**-digits + 1e-9:
                return True
    return False


def _part(file: Path, entry: Row) -> Any:
    paths = entry.get("path", "")
    if file.suffix == ".csv":
        found = _rows(file)
    elif isinstance(paths, list):
        found = [json_part(file, path) for path in paths]
    else:
        found = json_part(file, paths)
    if "where" in entry:
        rows = found["rows"] if isinstance(found, dict) else found
        found = _fitting(rows, entry["where"])
    if "columns" in entry:
        rows = found if isinstance(found, list) else [found]
        found = [[row[column] for column in entry["columns"] if column in row] for row in rows]
    return found


def json_part(file: Path, path: str) -> Any:
    """What a path leads to in a file, as in `part_of`."""
    return part_of(json.loads(file.read_text(encoding="utf-8")), path)


def part_of(found: Any, path: str) -> Any:
    """What a path of keys and indices leads to; a key may hold points: the longest one is taken."""
    steps = path.split(".") if path else []
    while steps:
        if isinstance(found, list):
            found, steps = found[int(steps[0])], steps[1:]
            continue
        length = next(
            n for n in range(len(steps), -1, -1) if n == 0 or ".".join(steps[:n]) in found
        )
        if not length:
            raise KeyError(steps[0])
        found, steps = found[".".join(steps[:length])], steps[length:]
    return found


def _rows(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _fitting(rows: list[Row], where: Row) -> list[Row]:
    """The rows that have these values; a list gives several values for a column."""
    wanted = {
        key: {str(each) for each in (x if isinstance(x, list) else [x])} for key, x in where.items()
    }
    return [row for row in rows if all(str(row.get(key)) in x for key, x in wanted.items())]


def _leaves(found: Any) -> Iterator[float]:
    """All numbers within lists and dictionaries, but for the record of the run."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key != "record":
                yield from _leaves(value)
    elif isinstance(found, list):
        for value in found:
            yield from _leaves(value)
    elif isinstance(found, str):
        yield from _literals(found)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield float(found)


def _literals(text: str) -> Iterator[float]:
    for found in _ANY_NUMBER.findall(text):
        yield float(found.replace("−", "-").replace(",", "").replace("_", ""))


def _inside(text: str, name: str) -> str:
    """All of a text, its blocks of Python (of a page that the tests run), or one definition."""
    if name == "code":
        return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    return _definition(text, name) if name else text


def _definition(text: str, inside: str) -> str:
    """The source of a function or class, `Class::method` for one of its methods."""
    body: list[ast.stmt] = ast.parse(text).body
    node: ast.stmt | None = None
    for name in inside.split("::"):
        node = next((each for each in body if getattr(each, "name", None) == name), None)
        if node is None:
            raise ValueError(f"there is no {inside}")
        body = getattr(node, "body", [])
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)]) if node else 1
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno if node else None])
