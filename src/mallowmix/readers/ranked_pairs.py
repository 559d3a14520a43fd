"""Two candidates and the rank of each: the one with the lower rank won, equal ranks are a tie."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mallowmix.readers.battles import read_battle_table
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_numbers, derived_input
from mallowmix.readers.reading import Reading, ReadOptions

RANKED = Roles(("left", "right", "left_rank", "right_rank"), ("user", "weight"))


def read_ranked_pairs(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "battles"
) -> Reading:
    """Read battles whose outcome is given by two ranks, 1 is best."""
    columns = source.take(picked)
    left, right = (
        as_numbers(columns.pop(role), source.where, "rank", "1 is best.").to_numpy()
        for role in ("left_rank", "right_rank")
    )
    with np.errstate(invalid="ignore"):
        words = np.where(left == right, "tie", np.where(left < right, "left", "right"))
    known = np.isfinite(left) & np.isfinite(right)
    outcome = [str(word) if there else None for word, there in zip(words, known, strict=True)]
    table = derived_input(source, columns | {"outcome": outcome}, range(len(outcome)))
    reading = read_battle_table(table, {name: name for name in table.names}, options, form)
    return reading.taken_from(picked)
