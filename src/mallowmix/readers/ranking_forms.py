"""Rankings as tables: a row for each position, or a row with a list for each ranking."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.labels import as_column, encode_groups
from mallowmix.data.lazy_arrow import pc
from mallowmix.data.row_checks import FILL_OR_DROP, Where, gaps
from mallowmix.errors import DataError, Option, Part
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_numbers
from mallowmix.readers.ranked_comparisons import LabelledEntries, reading_of_entries
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import user_column

LONG = Roles(("user", "item", "rank"), ("list",))
LISTS = Roles(("user", "ranking"), ("weight",))


def read_long(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "rankings"
) -> Reading:
    """Read user, item, rank: less is better, equal is a tie; rows without a rank are not ranked."""
    columns = source.take(picked)
    position = position_numbers(columns["rank"], source.where, options)
    user = _users(columns, len(position), options, source)
    item = as_column(columns["item"], picked["item"])
    labels = {"user": user, "item": item}
    if "list" in columns:
        labels["list"] = as_column(columns["list"], picked["list"])
    keep = _kept(labels, picked, ~np.isnan(position), options, source.where)
    mask = pa.array(keep)
    which = [column.filter(mask) for name, column in labels.items() if name != "item"]
    coded = [codes[0] for codes, _ in encode_groups(*([column] for column in which))]
    _, first, ranking = np.unique(
        np.stack(coded, axis=1), axis=0, return_index=True, return_inverse=True
    )
    entries = LabelledEntries(
        which[0].take(pa.array(first)), ranking.reshape(-1), item.filter(mask), position[keep]
    )
    return reading_of_entries(entries, options, form, picked)


def read_lists(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "rankings"
) -> Reading:
    """Read user, ranking: a list, best first, or text, as in "tea > milk = juice > water".

    An inner list is a tie.
    """
    columns = source.take(picked)
    orders = _listed(columns["ranking"])
    user = _users(columns, len(orders), options, source)
    named = named_rows(user, options, source.where)
    rows = [n for n, order in enumerate(orders) if order and named[n]]
    check_all_ranked(
        [n for n, order in enumerate(orders) if order], len(orders), options, source.where
    )
    labels, ranking, position = [], [], []
    for number, n in enumerate(rows):
        for level, group in enumerate(_groups(orders[n], source.where, n)):
            labels += group
            ranking += [number] * len(group)
            position += [float(level)] * len(group)
    check_once(labels, ranking, rows, source.where)
    users = user.take(pa.array(rows, pa.int64()))
    weight = ranking_weights(columns, rows, source.where)
    entries = LabelledEntries(
        users,
        np.array(ranking, np.int64),
        as_column(labels, picked["ranking"]),
        np.array(position),
        weight,
    )
    return reading_of_entries(entries, options, form, picked)


def _users(
    columns: Mapping[str, Any], n_rows: int, options: ReadOptions, source: Input
) -> pa.ChunkedArray:
    found = user_column(columns, n_rows, one_user=options.one_user, title=source.title)
    return as_column(found, "user")


def position_numbers(
    values: Any, where: Where, options: ReadOptions, item: Any = None, *more: Part
) -> NDArray[np.float64]:
    """Convert positions to floats, NaN where there is none; the option `zero` says what 0 means.

    `more` is what else the error says where a value is no number.
    """
    of = "" if item is None else f" of {item!r}"
    column = (
        values
        if isinstance(values, pa.ChunkedArray)
        else pa.chunked_array([pa.array(values, from_pandas=True)])
    )
    if pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
    advice = "Positions are numbers from 1, and 1 is best."
    position = as_numbers(column, where, f"position{of}", advice, *more).to_numpy()
    position = np.array(position, np.float64)
    zero, wrong = position == 0, (position < 0) | np.isinf(position)
    if options.zero == "error" and zero.any():
        raise DataError(
            f"{where(int(np.argmax(zero)))}: the position{of} is 0, which may mean the best or not "
            "ranked. Leave empty what is not ranked, or pass ",
            Option("zero", "missing"),
            " or ",
            Option("zero", "best"),
            ".",
        )
    if wrong.any():
        raise DataError(
            f"{where(int(np.argmax(wrong)))}: the position{of} is {position[np.argmax(wrong)]:g}. "
            "Positions are numbers from 1, and 1 is best; leave empty what is not ranked."
        )
    if options.zero == "missing":
        position[zero] = np.nan
    return position


def _kept(
    columns: Mapping[str, Any],
    picked: Mapping[str, Any],
    ranked: NDArray[np.bool_],
    options: ReadOptions,
    where: Where,
) -> NDArray[np.bool_]:
    for name, values in columns.items():
        gap = gaps(as_column(values, name)) & ranked
        if gap.any() and options.missing == "error":
            what = which_list(name, picked)
            raise DataError(f"{where(int(np.argmax(gap)))}: the {what} is missing. ", *FILL_OR_DROP)
        ranked = ranked & ~gap
    if not ranked.any():
        raise DataError("There are no rankings: not one item has a position.")
    return ranked


def which_list(role: str, picked: Mapping[str, Any]) -> str:
    """What a message calls a role: the column of lists, by whatever name the data has for it."""
    return str(picked[role]) if role == "list" else role


def _listed(values: Any) -> list[Any]:
    """Return rankings as lists of items and ties; None where there is none."""
    listed = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    return [_split(value) if isinstance(value, str) else value for value in listed]


def _split(text: str) -> list[Any]:
    """Text like a > b = c, or a JSON list."""
    if text.strip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            example = 'write ["tea", ["milk", "juice"]] or tea > milk = juice'
            raise DataError(f"The ranking {text[:40]!r} is no JSON list: {example}.") from None
    return (
        [[name.strip() for name in part.split("=")] for part in text.split(">")]
        if text.strip()
        else []
    )


def _groups(order: Any, where: Where, row: int) -> list[list[Any]]:
    """The ties of a ranking, best first."""
    if not isinstance(order, list | tuple):
        raise DataError(
            f"{where(row)}: the ranking is {order!r}; give a list of items, best first."
        )
    groups = [list(group) if isinstance(group, list | tuple) else [group] for group in order]
    for label in (label for group in groups for label in group):
        if label is None or label == "" or isinstance(label, list | tuple | dict):
            raise DataError(f"{where(row)}: the ranking has {label!r} where an item should be.")
    return groups


def named_rows(user: pa.ChunkedArray, options: ReadOptions, where: Where) -> NDArray[np.bool_]:
    """Return which rows have a user."""
    gap = gaps(user)
    if gap.any() and options.missing == "error":
        raise DataError(f"{where(int(np.argmax(gap)))}: the user is missing. ", *FILL_OR_DROP)
    return ~gap


def check_all_ranked(rows: Any, n_rows: int, options: ReadOptions, where: Where) -> None:
    """Check that there are rankings, and that no row lacks one unless gaps may be dropped."""
    if not len(rows):
        raise DataError("There are no rankings: not one item has a position.")
    if len(rows) < n_rows and options.missing == "error":
        gap = int(np.setdiff1d(np.arange(n_rows), rows)[0])
        raise DataError(f"{where(gap)}: the ranking is missing. ", *FILL_OR_DROP)


def check_once(labels: list[Any], ranking: list[int], rows: list[int], where: Where) -> None:
    """Check that no ranking lists an item twice."""
    seen: set[tuple[int, str]] = set()
    for label, number in zip(labels, ranking, strict=True):
        if (number, str(label)) in seen:
            raise DataError(
                f"{where(rows[number])}: the ranking lists {label!r} twice. List each item once."
            )
        seen.add((number, str(label)))


def ranking_weights(
    columns: Mapping[str, Any], rows: list[int], where: Where
) -> NDArray[np.float64] | None:
    """Return the weight of each ranking, of the rows that have one; None where all count 1."""
    if "weight" not in columns:
        return None
    weight = as_numbers(
        columns["weight"], where, "weight", "Weights are counts of at least 0."
    ).to_numpy()[rows]
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise DataError(
            f"{where(rows[int(np.argmax(bad))])}: the weight is missing, negative or not finite. "
            "Weights are counts."
        )
    return weight
