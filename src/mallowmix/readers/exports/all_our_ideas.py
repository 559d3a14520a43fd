"""All Our Ideas: the file of votes of a wiki survey, a row for each choice between two ideas."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mallowmix.data.labels import as_column
from mallowmix.errors import DataWarning
from mallowmix.readers.battles import read_battle_table
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, derived_input
from mallowmix.readers.reading import Reading, ReadOptions

VOTES = Roles(
    ("user", "winner", "loser"),
    ("valid", "winner_id", "left_id"),
    names={
        "user": ("sessionid",),
        "winner": ("winnertext",),
        "loser": ("losertext",),
        "valid": ("valid",),
        "winner_id": ("winnerid",),
        "left_id": ("leftchoiceid",),
    },
)


def read_all_our_ideas(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "all-our-ideas"
) -> Reading:
    """Read the votes as battles, so that position bias can be measured; a session is a person.

    Votes that the site marked as not valid are left out.
    """
    columns = {name: as_column(values, name) for name, values in source.take(picked).items()}
    valid = np.ones(len(columns["winner"]), bool)
    if "valid" in columns:
        valid = np.array([str(each).lower() != "false" for each in columns["valid"].to_pylist()])
    rows = np.flatnonzero(valid)
    kept = {name: column.take(rows) for name, column in columns.items()}
    table = derived_input(source, _battles(kept), rows.tolist())
    reading = read_battle_table(table, {name: name for name in table.names}, options, form)
    notes = () if valid.all() else (_left_out(source.title, int((~valid).sum()), len(valid)),)
    return reading.taken_from(picked).with_notes(*notes)


def _battles(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return user, left, right and outcome; the winner is left where it is not known."""
    winner, loser = columns["winner"].to_pylist(), columns["loser"].to_pylist()
    on_left = np.ones(len(winner), bool)
    if {"winner_id", "left_id"} <= set(columns):
        ids, left = (columns[name].to_pylist() for name in ("winner_id", "left_id"))
        on_left = np.array([str(a) == str(b) for a, b in zip(ids, left, strict=True)], bool)
    sides = list(zip(winner, loser, on_left, strict=True))
    return {
        "user": columns["user"],
        "left": [a if first else b for a, b, first in sides],
        "right": [b if first else a for a, b, first in sides],
        "outcome": np.where(on_left, "left", "right").tolist(),
    }


def _left_out(title: str, count: int, total: int) -> DataWarning:
    return DataWarning(
        f"{title}: {count:,} of {total:,} votes are marked as not valid and were left out."
    )
