"""Ways to spoil a table that leave it a table: most of them reach what lies behind the parser."""

import random
from typing import Any

from benchmarks.table_bytes import Table

HOSTILE: list[Any] = [None, "", " ", "\0", "nan", "inf", "-inf", "1e308", "-1", 0, -1, 10**20, 1.5]
HOSTILE += ["x" * 3000, "\ufeff", "\u202e", "'=1", "a|b|c", "[1, 2]", "{", '"', "tie", "both_bad"]
HOSTILE += [float("nan"), float("inf"), 2**63, "2020-01-01", "1,5", "\r\n", "\ud83d\ude00", True]


def spoilt(table: Table, chance: random.Random) -> Table:
    """One to three changes of names, rows and values."""
    names, rows = list(table.names), [list(row) for row in table.rows]
    for _ in range(chance.choice((1, 1, 2, 3))):
        chance.choice(_CHANGES)(names, rows, chance)
    return Table(names, rows)


def _set_cell(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    row = chance.choice(rows or [[]])
    if row:
        row[chance.randrange(len(row))] = chance.choice(HOSTILE)


def _copy_cell(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    row = chance.choice(rows or [[]])
    if row:
        row[chance.randrange(len(row))] = chance.choice(row)


def _drop_cell(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    row = chance.choice(rows or [[]])
    if row:
        del row[chance.randrange(len(row))]


def _repeat_row(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    if rows:
        rows.extend([list(chance.choice(rows))] * chance.choice((1, 1, 50)))


def _drop_rows(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    del rows[chance.randrange(len(rows) + 1) :]


def _empty_row(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    rows.insert(chance.randrange(len(rows) + 1), [None] * len(names))


def _rename(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    others = ["user", "winner", "weight", "ranking_id", "session", "filename", "", "x", "rank_9"]
    names[chance.randrange(len(names))] = chance.choice([*others, *names, names[0].upper()])


def _swap_columns(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    a, b = (chance.randrange(len(names)) for _ in range(2))
    names[a], names[b] = names[b], names[a]


def _fill_column(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    at, value = chance.randrange(len(names)), chance.choice(HOSTILE)
    for row in rows:
        row[at : at + 1] = [value]


def _add_column(names: list[str], rows: list[list[Any]], chance: random.Random) -> None:
    names.append(chance.choice(["note", "weight", "ranking_id", "session", "time", "tie"]))
    for row in rows:
        row.append(chance.choice(HOSTILE))


_CHANGES = [_set_cell, _set_cell, _copy_cell, _drop_cell, _repeat_row, _drop_rows, _empty_row]
_CHANGES += [_rename, _swap_columns, _fill_column, _add_column]
