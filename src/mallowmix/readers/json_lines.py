"""JSON lines: one object a line; values keep their type, lists may be sets or rankings."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from mallowmix.errors import DataError, FileError
from mallowmix.readers.compressed import decompression_errors, open_bytes
from mallowmix.readers.headers import is_role_name
from mallowmix.readers.inputs import Input, check_width

ENDINGS = (".jsonl", ".ndjson")
_BATCH = 100_000  # lines that are Python objects at a time
_LOOKED_AT = 1000  # lines searched for the names of columns


def open_json_lines(path: Path) -> Input:
    """Open a file of JSON objects, one a line; absent keys are missing values."""
    with decompression_errors(path):
        first = [row for _, row in islice(_objects(path), _LOOKED_AT)]
    if not first:
        raise FileError(
            f'{path} is empty: it needs a line like {{"user": "ann", "winner": "tea", "loser": '
            f'"milk"}} a comparison.'
        )
    names = names_of(first)
    check_width(str(path), len(names))

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        with decompression_errors(path):
            return _columns(path, picked, set(names))

    def where(row: int) -> str:
        return f"{path} line {_line_of(path, row)}"

    def objects() -> list[dict[str, Any]]:
        with decompression_errors(path):
            return [row for _, row in _objects(path)]

    return Input(str(path), names, take, where, objects=objects)


def _columns(path: Path, picked: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Read the columns in batches, so that few lines are Python objects at a time."""
    chunks: dict[str, list[pa.Array]] = {ours: [] for ours in picked}
    rows = (_checked(row, number, names, path) for number, row in _objects(path))
    while batch := list(islice(rows, _BATCH)):
        for ours, theirs in picked.items():
            chunks[ours].append(array_of([value_of(row, theirs) for row in batch], theirs))
    return {ours: one_type(parts, picked[ours]) for ours, parts in chunks.items()}


def _checked(row: dict[str, Any], number: int, names: set[str], path: Path) -> dict[str, Any]:
    """Refuse a row with a role that the first lines do not have: its column would be ignored."""
    for name in row.keys() - names:
        if is_role_name(name):
            raise FileError(
                f"{path} line {number} has the key {name!r}, which the first {_LOOKED_AT:,} lines "
                "have not: give every line the "
                "same keys, null where there is nothing to say."
            )
    return row


def names_of(rows: list[dict[str, Any]]) -> list[str]:
    """Return the keys of objects, and those of an object in an object as outer.inner."""
    names: dict[str, None] = {}
    for row in rows:
        for name, value in row.items():
            names[name] = None
            if isinstance(value, dict):
                names |= dict.fromkeys(f"{name}.{inner}" for inner in value)
    return list(names)


def value_of(row: dict[str, Any], name: str) -> Any:
    """Return a value by the name that `names_of` has for it; None where there is none."""
    if name in row:
        return row[name]
    outer, _, inner = name.partition(".")
    nested = row.get(outer)
    return nested.get(inner) if isinstance(nested, dict) else None


def array_of(values: list[Any], name: str) -> pa.Array:
    """Convert values of a column; what cannot name a thing is refused."""
    if any(isinstance(value, dict) for value in values):
        raise DataError(
            f"Column {name!r} holds objects, which cannot name a thing: give text, numbers or "
            "lists of them."
        )
    if any(
        isinstance(value, list) and any(isinstance(each, list) for each in value)
        for value in values
    ):
        values = [_nested(value) if isinstance(value, list) else value for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} mixes kinds of values or holds none that can name a thing: "
            f"{str(error).splitlines()[0]}."
        ) from None


def _nested(value: list[Any]) -> list[list[Any]]:
    """Write a ranking with ties as a list of lists, one for each position."""
    return [each if isinstance(each, list) else [each] for each in value]


def one_type(parts: list[pa.Array], name: str) -> pa.ChunkedArray:
    """Concatenate arrays of one column; arrays without any value take the type of the others."""
    kinds = list(dict.fromkeys(part.type for part in parts if not pa.types.is_null(part.type)))
    if len(kinds) > 1 and all(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds
    ):
        kinds = [pa.float64()]
    if len(kinds) > 1:
        raise DataError(
            f"Column {name!r} mixes kinds of values: {' and '.join(map(str, kinds))}. Give it one."
        )
    kind = kinds[0] if kinds else pa.null()
    return pa.chunked_array([part.cast(kind) for part in parts], type=kind)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield every object with its line number; blank lines are skipped."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, _object(line, path, number)


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(
            line.decode("utf-8-sig" if number == 1 else "utf-8"), object_pairs_hook=_unique
        )
    except UnicodeDecodeError:
        raise FileError(
            f"{path} line {number} is not UTF-8 text: save the file with the encoding UTF-8."
        ) from None
    except _Twice as error:
        raise FileError(
            f"{path} line {number} has the key {error.args[0]!r} twice: give each once."
        ) from None
    except (ValueError, RecursionError) as error:
        reason = (
            getattr(error, "msg", None) or "it is nested too deep or has a number that is too long"
        )
        raise FileError(
            f"{path} line {number} is not a JSON object ({reason}): put one whole object on "
            "each line."
        ) from None
    if not isinstance(row, dict):
        raise FileError(
            f"{path} line {number} is a JSON {type(row).__name__}, not an object: write {{...}} "
            "on each line."
        )
    return row


class _Twice(Exception):
    """A key that occurs twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(name for name, _ in pairs if name in seen or seen.add(name)))
    return row


def _line_of(path: Path, row: int) -> int:
    return next(line for number, (line, _) in enumerate(_objects(path)) if number == row)
