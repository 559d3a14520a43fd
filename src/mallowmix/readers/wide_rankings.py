"""Rankings with a row for each person: one column for each position, or one for each item."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.labels import as_column
from mallowmix.data.row_checks import Where, gaps
from mallowmix.errors import DataError, DataWarning, Option, Part
from mallowmix.readers.headers import Roles, is_role_name, item_columns, numbered
from mallowmix.readers.inputs import Input
from mallowmix.readers.ranked_comparisons import LabelledEntries, reading_of_entries
from mallowmix.readers.ranking_forms import (
    check_all_ranked,
    check_once,
    named_rows,
    position_numbers,
    ranking_weights,
)
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import user_column

ORDERS = Roles((), ("user", "weight"), numbered="rank", row_is_user=True)
POSITIONS = Roles((), ("user", "weight"), row_is_user=True)


class Cells(NamedTuple):
    """The cells of a wide table: one column a position (`by_order`), or one column an item.

    `users_known` says that users are not in one of these columns.
    """

    columns: list[Any]
    names: Sequence[Any]
    by_order: bool
    users_known: bool = True


def is_rank_order(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether columns are called rank_1, rank_2, … (and not all by a number alone)."""
    names = [name for name in numbered(source.names, "rank") if name not in found.values()]
    return len(names) > 1 and not any(str(name).strip().isdigit() for name in source.names)


def is_rank_matrix(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether every row of a table holds the positions 1, 2, … of its columns, each once.

    At least three columns and two rows: with fewer, numbers may be anything.
    """
    names = item_columns(source.names, found)
    if len(names) < 3 or any(is_role_name(name) for name in names):
        return False
    if all(str(name).strip().isdigit() for name in names) or len(set(names)) < len(names):
        return False
    taken = source.take({str(n): name for n, name in enumerate(names)})
    try:
        columns = [as_column(column, "item").cast(pa.float64()) for column in taken.values()]
    except (pa.ArrowException, DataError):
        return False
    matrix = np.stack([column.to_numpy() for column in columns], axis=1)
    ranks = np.sort(matrix, axis=1)  # NaN, not ranked, comes last
    expected = np.where(np.isnan(ranks), np.nan, np.arange(1.0, len(names) + 1))
    return len(matrix) > 1 and np.array_equal(ranks, expected, equal_nan=True)


def read_wide(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "rankings"
) -> Reading:
    """Read one row a user: rank_1, rank_2, … hold items, or each item's column its position."""
    ordered = numbered(source.names, "rank")
    ordered = [name for name in ordered if name not in picked.values()]
    others = item_columns(source.names, picked)
    if len(others) < 2:
        raise DataError(
            f"{source.title} has no ranking in it: give user, item, rank; user, ranking; user, "
            "rank_1, rank_2, …; or user and a "
            "column with the positions of each item."
        )
    names = ordered or others
    taken = source.take(dict(picked) | {f"item {n}": name for n, name in enumerate(names)})
    cells = Cells(
        [taken[f"item {n}"] for n in range(len(names))], names, bool(ordered), "user" in picked
    )
    return reading_of_cells(source, taken, cells, options, form, picked)


def reading_of_cells(
    source: Input,
    columns: Mapping[str, Any],
    cells: Cells,
    options: ReadOptions,
    form: str,
    picked: Mapping[str, Any],
) -> Reading:
    """Make comparisons of a wide table; without a column of users, every row is a user.

    Parameters
    ----------
    source : Input
        The table, for messages.
    columns : mapping
        The columns user and weight, where there are such.
    cells : Cells
        The positions.
    options : ReadOptions
        What to do with ties, gaps and zeros.
    form : str
        The name of the form in the result.
    picked : mapping
        Role to column.

    Returns
    -------
    Reading
    """
    notes: tuple[DataWarning, ...] = ()
    if "user" not in columns and not options.one_user:
        columns = dict(columns) | {"user": np.arange(1, len(cells.columns[0]) + 1)}
        notes = (rows_are_users(source.title),)
    n_rows = len(cells.columns[0])
    who = user_column(columns, n_rows, one_user=options.one_user, title=source.title)
    read = _by_order if cells.by_order else _by_position
    row, item, position = read(cells, options, source.where)
    user = as_column(who, "user")
    labelled = _labelled(row, item, position, user, columns, options, source.where)
    reading = reading_of_entries(labelled, options, form, picked)
    return reading.with_notes(*notes)


def rows_are_users(title: str) -> DataWarning:
    """Say that each row is another person."""
    return DataWarning(
        f"{title} has no column of users, so every row was taken for another person, called 1, 2, "
        "…; name such a column with ",
        Option("columns", {"user": "NAME"}),
        ".",
    )


def _labelled(
    row: NDArray[Any],
    item: Any,
    position: NDArray[Any],
    user: pa.ChunkedArray,
    columns: Mapping[str, Any],
    options: ReadOptions,
    where: Where,
) -> LabelledEntries:
    check_all_ranked(np.unique(row), len(user), options, where)
    keep = named_rows(user, options, where)[row]
    rows, ranking = np.unique(row[keep], return_inverse=True)
    item, position = item.filter(pa.array(keep)), position[keep]
    weight = ranking_weights(columns, rows.tolist(), where)
    check_once(item.to_pylist(), ranking.tolist(), rows.tolist(), where)
    return LabelledEntries(user.take(pa.array(rows)), ranking, item, position, weight)


def _by_order(cells: Cells, options: ReadOptions, where: Where) -> tuple[Any, ...]:
    """Read columns that hold items; the column is the position. A gap leaves the order as it is."""
    columns = [
        as_column(column, name) for column, name in zip(cells.columns, cells.names, strict=True)
    ]
    present = [~gaps(column) for column in columns]
    row = np.concatenate([np.flatnonzero(there) for there in present])
    position = np.repeat(
        np.arange(len(columns), dtype=np.float64), [there.sum() for there in present]
    )
    kept = [column.filter(pa.array(there)) for column, there in zip(columns, present, strict=True)]
    kinds = {column.type for column in kept if len(column)}
    kept = [column if len(kinds) <= 1 else _text(column) for column in kept if len(column)]
    item = pa.chunked_array(
        [chunk for column in kept for chunk in column.chunks],
        type=kept[0].type if kept else pa.string(),
    )
    return row, item, position


def _by_position(cells: Cells, options: ReadOptions, where: Where) -> tuple[Any, ...]:
    """Read columns that are items and hold positions, 1 is best."""
    positions = np.stack(
        [
            position_numbers(column, where, options, name, *_perhaps_users(cells, name))
            for column, name in zip(cells.columns, cells.names, strict=True)
        ],
        axis=1,
    )
    row, item = np.nonzero(~np.isnan(positions))
    return row, as_column(list(cells.names), "item").take(pa.array(item)), positions[row, item]


def _perhaps_users(cells: Cells, name: Any) -> tuple[Part, ...]:
    """What to do where a column that is no column of numbers holds the users."""
    if cells.users_known:
        return ()
    return (f" If {name!r} holds the users, pass ", Option("columns", {"user": name}), ".")


def _text(cell: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([str(value) for value in cell.to_pylist()], pa.string())])
