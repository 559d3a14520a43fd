"""LMArena's battles of language models, as its published tables have them.

Some say who won in a word, some in three columns of 0 and 1; some name a judge, some only the
session of a visitor.
"""

from collections.abc import Mapping
from typing import Any

from mallowmix.errors import DataError
from mallowmix.readers.battles import read_battle_table
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_numbers, derived_input
from mallowmix.readers.reading import Reading, ReadOptions

_CANDIDATES = {"left": ("modela",), "right": ("modelb",)}
SESSIONS = Roles(
    ("left", "right", "outcome", "user"),
    names=_CANDIDATES | {"outcome": ("winner",), "user": ("evaluationsessionid",)},
)
WINNER_COLUMNS = Roles(
    ("left", "right", "left_won", "right_won", "tied"),
    ("user",),
    names=_CANDIDATES
    | {
        "left_won": ("winnermodela",),
        "right_won": ("winnermodelb",),
        "tied": ("winnertie",),
    },
)
WINNER_WORD = Roles(
    ("left", "right", "outcome"), ("user",), names=_CANDIDATES | {"outcome": ("winner",)}
)
_WORDS = {"left_won": "left", "right_won": "right", "tied": "tie"}


def read_lmarena_columns(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "lmarena"
) -> Reading:
    """Read battles whose outcome is a 1 in one of three columns."""
    columns = source.take(picked)
    won = {
        role: as_numbers(columns.pop(role), source.where, role, "Give 1 or 0.").to_numpy()
        for role in _WORDS
    }
    n_rows = len(won["tied"])
    outcome = []
    for row in range(n_rows):
        said = [word for role, word in _WORDS.items() if won[role][row] == 1]
        if len(said) != 1:
            raise DataError(
                f"{source.where(row)}: {len(said)} of the columns "
                f"{', '.join(repr(picked[role]) for role in _WORDS)} are 1; one must be."
            )
        outcome += said
    table = derived_input(source, columns | {"outcome": outcome}, range(n_rows))
    reading = read_battle_table(table, {name: name for name in table.names}, options, form)
    return reading.taken_from(picked)
