"""Polis: statements that a person agrees with are above those that they disagree with.

votes.csv has a row for each vote (voter-id, comment-id, vote), participants-votes.csv a row for
each participant and a column for each statement. 1 is agree, −1 disagree, 0 pass.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from mallowmix.data.row_checks import FILL_OR_DROP
from mallowmix.errors import DataError
from mallowmix.readers.headers import Roles
from mallowmix.readers.implicit import read_implicit_table
from mallowmix.readers.inputs import Input, derived_input
from mallowmix.readers.reading import Reading, ReadOptions

VOTES = Roles(
    ("user", "item", "vote"),
    ("time",),
    names={
        "user": ("voterid", "participantid", "pid"),
        "item": ("commentid", "statementid", "tid"),
        "vote": ("vote",),
        "time": ("timestamp", "created", "modified"),
    },
)
PARTICIPANTS = Roles(("user", "n_agree"), names={"user": ("participant",), "n_agree": ("nagree",)})
_MEANING = {"1": 1, "-1": 0, "0": None, "agree": 1, "disagree": 0, "pass": None}


def read_polis_votes(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "polis"
) -> Reading:
    """Read a row for each vote; of several votes on one statement, a person's last counts."""
    columns = {name: _as_list(column) for name, column in source.take(picked).items()}
    last: dict[tuple[Any, Any], int] = {}
    for row in _by_time(columns):
        who, what = columns["user"][row], columns["item"][row]
        if None not in (who, what):
            last[who, what] = row
        elif options.missing == "error":
            name = "user" if who is None else "item"
            raise DataError(f"{source.where(row)}: the {name} is missing. ", *FILL_OR_DROP)
    rows = sorted(last.values())
    said = [(row, _meaning(columns["vote"][row], source.where(row))) for row in rows]
    entries = [(row, columns["user"][row], columns["item"][row], agrees) for row, agrees in said]
    return _reading(entries, source, picked, options, form)


def read_polis_participants(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "polis"
) -> Reading:
    """Read a row for each participant; columns called by a number are statements."""
    names = [name for name in source.names if str(name).isdigit()]
    if not names:
        raise DataError(f"{source.title} has no column of a statement, called by its number.")
    taken = source.take(dict(picked) | {f"item {name}": name for name in names})
    users = _as_list(taken["user"])
    entries = [
        (row, users[row], name, _meaning(vote, source.where(row)))
        for name in names
        for row, vote in enumerate(_as_list(taken[f"item {name}"]))
    ]
    return _reading(entries, source, picked, options, form)


def _reading(
    entries: list[tuple[int, Any, Any, int | None]],
    source: Input,
    picked: Mapping[str, Any],
    options: ReadOptions,
    form: str,
) -> Reading:
    """Read agree as chosen and disagree as left: all of a person's votes are one order."""
    given = [entry for entry in entries if entry[3] is not None]
    agreed = {entry[1] for entry in given if entry[3] == 1}
    if not agreed & {entry[1] for entry in given if entry[3] == 0}:
        raise DataError(
            f"{source.title}: there are no comparisons: nobody agrees with one statement and "
            "disagrees with another."
        )
    rows, user, item, clicked = zip(*given, strict=True)
    made = {"user": list(user), "item": list(item), "clicked": np.array(clicked) == 1}
    table = derived_input(source, made, rows)
    return read_implicit_table(table, {name: name for name in made}, options, form).taken_from(
        picked
    )


def _by_time(columns: Mapping[str, list[Any]]) -> list[int]:
    """Return the rows by time, where it is known for all of them; in their own order otherwise."""
    rows = range(len(columns["vote"]))
    try:
        time = [float(value) for value in columns["time"]]
    except (KeyError, TypeError, ValueError):
        return list(rows)
    return sorted(rows, key=lambda row: time[row])


def _meaning(vote: Any, where: str) -> int | None:
    """Return 1 for agree, 0 for disagree, None for pass or no vote."""
    text = "" if vote is None else str(vote).strip().lower().removesuffix(".0")
    if text in ("", "nan"):
        return None
    if text not in _MEANING:
        raise DataError(
            f"{where}: the vote is {vote!r}; it must be 1 (agree), -1 (disagree) or 0 (pass)."
        )
    return _MEANING[text]


def _as_list(column: Any) -> list[Any]:
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
