"""JSON files: one list of objects, each a row."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mallowmix.errors import FileError
from mallowmix.readers.compressed import decompression_errors, open_bytes
from mallowmix.readers.inputs import Input, check_width
from mallowmix.readers.json_lines import array_of, names_of, one_type, value_of

ENDINGS = (".json",)


def open_json(path: Path) -> Input:
    """Open a file that holds a list of objects; absent keys are missing values."""
    with decompression_errors(path):
        rows = _rows(path)
    names = names_of(rows)
    check_width(str(path), len(names))

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        return {
            ours: one_type([array_of([value_of(row, theirs) for row in rows], theirs)], theirs)
            for ours, theirs in picked.items()
        }

    return Input(
        str(path), names, take, lambda row: f"{path} object {row + 1}", objects=lambda: rows
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    with open_bytes(path) as file:
        content = file.read()
    try:
        rows = json.loads(content.decode(json.detect_encoding(content)))
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or "it is no text, or is nested too deep"
        raise FileError(
            f"{path} is not JSON ({reason}): give a list of objects, or one object a line in a "
            "file that ends in .jsonl."
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or not rows:
        raise FileError(
            f"{path} is JSON, but not a list of objects: write "
            '[{"user": "ann", "winner": "tea", "loser": "milk"}, …].'
        )
    return rows
