"""Preference pairs for language models: a chosen and a rejected answer, and who annotated them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mallowmix.data.labels import as_arrow
from mallowmix.errors import DataError, Option
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input
from mallowmix.readers.plain import read_plain
from mallowmix.readers.reading import Reading, ReadOptions

MODELS = Roles(
    ("winner", "loser"),
    ("user", "weight"),
    names={"winner": ("chosenmodel",), "loser": ("rejectedmodel",)},
)
ANSWERS = Roles(
    ("winner", "loser"),
    ("user", "weight"),
    names={"winner": ("chosen",), "loser": ("rejected",)},
)


def read_preference_pairs(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "preference-pairs"
) -> Reading:
    """Read chosen over rejected: models where the table names them, or the answers themselves."""
    for role, values in source.take({role: picked[role] for role in ("winner", "loser")}).items():
        if pa.types.is_nested(as_arrow(values, str(picked[role])).type):
            raise DataError(
                f"{source.title}: the column {picked[role]!r} holds conversations, of which no two "
                "are alike: name the columns that say which model wrote them with ",
                Option("columns", {"winner": "chosen_model", "loser": "rejected_model"}),
                ".",
            )
    return read_plain(source, picked, options, form)
