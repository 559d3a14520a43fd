"""Implicit feedback: a clicked item beats those that were shown beside it and not clicked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import as_column, encode_groups
from mallowmix.data.lazy_arrow import pc
from mallowmix.data.row_checks import FILL_OR_DROP, Where, gaps
from mallowmix.errors import DataError, Option
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input
from mallowmix.readers.order_weights import check_fits_memory, with_user_weights
from mallowmix.readers.pair_kernels import count_rated_pairs, make_pairs
from mallowmix.readers.ranking_forms import which_list
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import user_column

ROLES = Roles(("item", "clicked"), ("user", "list"))
_YES, _NO = ("1", "1.0", "true", "yes", "y", "t"), ("0", "0.0", "false", "no", "n", "f")


def read_implicit_table(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "implicit"
) -> Reading:
    """Read user, item, clicked and, where users saw several lists, list.

    Two items that were both clicked, or both not clicked, are not compared: that is no tie.

    Parameters
    ----------
    source : Input
        The table.
    picked : mapping
        Role to column.
    options : ReadOptions
        What to do with gaps, and how much a user counts.
    form : str
        The name of the form in the result.

    Returns
    -------
    Reading
    """
    columns = source.take(picked)
    clicked, known = _clicked(columns["clicked"], source.where)
    user = user_column(columns, len(clicked), one_user=options.one_user, title=source.title)
    labels = {"user": as_column(user, "user"), "item": as_column(columns["item"], picked["item"])}
    if "list" in columns:
        labels["list"] = as_column(columns["list"], picked["list"])
    keep = _kept(labels, picked, known, options, source.where)
    kept = [[column.filter(pa.array(keep))] for column in labels.values()]
    ((who,), users), ((what,), items), *lists = encode_groups(*kept)
    group = np.stack([who, *(codes[0] for codes, _ in lists)], axis=1)
    comparisons = _comparisons(
        group, what, clicked[keep], items, users, source.where, np.flatnonzero(keep)
    )
    return Reading(with_user_weights(comparisons, options.per_user), form, picked)


def _comparisons(
    group: NDArray[Any],
    what: NDArray[Any],
    clicked: NDArray[Any],
    items: Any,
    users: Any,
    where: Where,
    rows: NDArray[Any],
) -> Comparisons:
    lists, number = np.unique(group, axis=0, return_inverse=True)
    number = number.reshape(-1)
    order = np.lexsort((what, number))
    number, thing, chosen = number[order], what[order], clicked[order].astype(np.float64)
    twice = np.flatnonzero((number[1:] == number[:-1]) & (thing[1:] == thing[:-1]))
    if len(twice):
        raise DataError(
            f"{where(int(rows[order[twice[0] + 1]]))}: {items.tolist()[thing[twice[0]]]!r} "
            "is shown "
            "twice in one list. Name the column of lists with ",
            Option("columns", {"list": "NAME"}),
            ".",
        )
    starts = np.searchsorted(number, np.arange(len(lists) + 1))
    count, _ = count_rated_pairs(starts, chosen, False)
    if not count.sum():
        raise DataError(
            "There are no comparisons: nobody clicked one thing and left another beside it."
        )
    check_fits_memory(int(count.sum()))
    in_list, winner, loser, weight = make_pairs(
        starts, thing.astype(np.int32), chosen, np.r_[0, np.cumsum(count)], False
    )
    return Comparisons.from_codes(
        lists[in_list, 0], winner, loser, weight, items, users, ranking_id=in_list
    )


def _clicked(values: Any, where: Where) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each row was clicked, and whether that is known."""
    column = as_column(values, "clicked")
    if pa.types.is_boolean(column.type):
        return column.fill_null(False).to_numpy(), column.is_valid().to_numpy()
    text = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
    yes, no = (pc.is_in(text, pa.array(words)).fill_null(False).to_numpy() for words in (_YES, _NO))
    empty = pc.equal(text, "").fill_null(True).to_numpy()
    wrong = ~(yes | no | empty)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{where(row)}: clicked is {column[row].as_py()!r}; it must be 1 or 0, true or false, "
            "yes or no."
        )
    return yes, ~empty


def _kept(
    labels: Mapping[str, pa.ChunkedArray],
    picked: Mapping[str, Any],
    known: NDArray[np.bool_],
    options: ReadOptions,
    where: Where,
) -> NDArray[np.bool_]:
    present = {name: ~gaps(column) for name, column in labels.items()} | {"clicked": known}
    for name, there in present.items():
        if options.missing == "error" and not there.all():
            what = which_list(name, picked)
            raise DataError(
                f"{where(int(np.argmin(there)))}: the {what} is missing. ", *FILL_OR_DROP
            )
    keep = np.logical_and.reduce(list(present.values()))
    if not keep.any():
        raise DataError(
            "There are no comparisons: not one row says what was shown and whether it was clicked."
        )
    return keep
