"""Ratings on any ordered scale as numbers: who, what, and which level of the scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, as_arrow, as_column, encode, text_of
from mallowmix.data.lazy_arrow import pa, pc
from mallowmix.errors import DataError, Option, OptionError

_NAMES = {"user": ("user",), "item": ("item",), "rating": ("rating", "stars")}
Scale = Sequence[Any] | Mapping[Any, float] | None


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings in a normal form: rows sorted by user and item, so their order never matters.

    Parameters
    ----------
    user, item : (n,) arrays of int
        Numbers that point into `users` and `items`.
    level : (n,) array of int
        The level of each rating on `scale`, 0 is worst.
    users, items : labels
        In the order of their text.
    scale : (S,) array of float
        The number that each level stands for, ascending.
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    level: NDArray[np.int32]
    users: Labels
    items: Labels
    scale: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.user)

    @property
    def rating(self) -> NDArray[np.float64]:
        """(n,) the ratings as numbers."""
        return self.scale[self.level]

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    def starts(self) -> NDArray[np.int64]:
        """Rows of user m are starts[m]:starts[m + 1]."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1)).astype(np.int64)

    def numbers(self, user: Any, item: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of users and of items by their labels; −1 for a label that the table lacks."""
        return find(self.users, user, "user"), find(self.items, item, "item")


def rating_table(ratings: Any, *, scale: Scale = None) -> RatingTable:
    """Ratings in normal form, from columns user, item and rating.

    Parameters
    ----------
    ratings : RatingTable, tuple of three columns, mapping, dataframe or object
        Anything but a tuple has the columns under those names (`stars` does for `rating`).
    scale : sequence or mapping, optional
        The levels from worst to best, as numbers or as labels (which then count 1, 2, 3, …), or a
        mapping from labels to numbers; the numbers that occur unless given.

    Returns
    -------
    RatingTable

    Raises
    ------
    DataError
        If a value is missing or not on the scale, or a user rates an item twice.
    """
    if isinstance(ratings, RatingTable):
        return ratings
    user, item, rating = columns(ratings, ("user", "item", "rating"))
    codes, labels = zip(
        *(_encoded(values, name) for values, name in ((user, "user"), (item, "item"))), strict=True
    )
    level, values = _levels(as_arrow(rating, "rating"), scale)
    lengths = {len(codes[0]), len(codes[1]), len(level)}
    if len(lengths) > 1:
        raise DataError(
            f"user, item and rating have {len(codes[0])}, {len(codes[1])} and {len(level)} rows; "
            "give as many of each."
        )
    order = np.lexsort((codes[1], codes[0]))
    table = RatingTable(
        codes[0][order], codes[1][order], level[order], labels[0], labels[1], values
    )
    _check_once(table)
    return table


def columns(source: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The named columns of a tuple of them, a mapping, a dataframe, or an object's attributes."""
    if isinstance(source, tuple | list) and len(source) == len(names):
        return tuple(source)
    return tuple(_column(source, name) for name in names)


def holds_ratings(source: Any) -> bool:
    """Whether these are ratings: three columns, or something that has a column of ratings.

    Rows of tuples are not: they are (user, winner, loser).

    Examples
    --------
    >>> holds_ratings({"user": ["ann"], "item": ["tea"], "rating": [4]})
    True
    >>> holds_ratings([("ann", "tea", "milk")]), holds_ratings("votes.csv")
    (False, False)
    """
    if isinstance(source, list | tuple):
        return len(source) == 3 and not all(isinstance(row, tuple) for row in source)
    try:
        _column(source, "rating")
    except DataError:
        return False
    return True


def _column(source: Any, name: str) -> Any:
    for theirs in _NAMES[name]:
        if hasattr(source, "column_names"):
            if theirs in source.column_names:
                return source[theirs]
        elif hasattr(source, "__getitem__") and hasattr(source, "keys"):
            # what `in` tests differs between dataframe libraries
            if theirs in source.keys():  # noqa: SIM118
                return source[theirs]
        elif hasattr(source, "columns") and theirs in list(source.columns):
            return source[theirs]
        elif hasattr(source, theirs):
            return getattr(source, theirs)
    raise DataError(
        f"The ratings have no column {name!r}: give columns user, item and rating, "
        "or a tuple of the three."
    )


def find(labels: Labels, wanted: Any, name: str) -> NDArray[np.int64]:
    """(n,) the number of each wanted label among `labels`, by text; −1 for those not there."""
    (codes,), unique = encode(_whole(as_column(wanted, name), name))
    number = {text: i for i, text in enumerate(text_of(labels))}
    return (
        np.array([number.get(text, -1) for text in text_of(unique)], np.int64)[codes]
        if len(codes)
        else np.zeros(0, np.int64)
    )


def _encoded(values: Any, name: str) -> tuple[NDArray[np.int32], Labels]:
    column = _whole(as_column(values, name), name)
    if not len(column):
        raise DataError("There are no ratings: give at least one row of user, item, rating.")
    (codes,), labels = encode(column)
    return codes, labels


def _whole(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    gap = column.is_null(nan_is_null=True).to_numpy()
    if gap.any():
        raise DataError(
            f"Row {np.argmax(gap) + 1}: the {name} is missing. "
            "Fill such rows in, or leave them out."
        )
    return column


def _levels(column: pa.ChunkedArray, scale: Scale) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The level of each rating on the scale, and the scale's numbers."""
    gap = column.is_null(nan_is_null=True).to_numpy()
    if gap.any():
        raise DataError(
            f"Row {np.argmax(gap) + 1}: the rating is missing. Leave out what was not rated."
        )
    numbers = _as_numbers(column)
    if scale is None:
        if numbers is None:
            raise DataError(
                "The ratings are labels: say with ",
                Option("scale"),
                " which there are, from worst to best.",
            )
        values, level = np.unique(numbers, return_inverse=True)
        if not np.all(np.isfinite(values)):
            raise DataError("A rating is not a finite number. Leave out what was not rated.")
        return level.astype(np.int32), values
    return _on_scale(column, numbers, scale)


def _on_scale(
    column: pa.ChunkedArray,
    numbers: NDArray[np.float64] | None,
    scale: Sequence[Any] | Mapping[Any, float],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    names, values = _scale_values(scale)
    if (
        numbers is not None
        and not isinstance(scale, Mapping)
        and all(isinstance(name, int | float | np.number) for name in names)
    ):
        number = {float(name): s for s, name in enumerate(names)}
        found, level = np.unique(numbers, return_inverse=True)
        at = [number.get(float(value), -1) for value in found]
    else:
        number = {str(name): s for s, name in enumerate(names)}
        encoded = column.combine_chunks().dictionary_encode()
        found, level = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
        at = [number.get(str(value), -1) for value in found]
    if -1 in at:
        raise DataError(
            f"The rating {found[at.index(-1)]!s} is not on the scale, "
            f"which has {', '.join(map(str, names))}."
        )
    return np.array(at, np.int32)[level], values


def _scale_values(
    scale: Sequence[Any] | Mapping[Any, float],
) -> tuple[list[Any], NDArray[np.float64]]:
    """The levels' names and numbers, ascending."""
    if isinstance(scale, str) or not isinstance(scale, Iterable):
        expected = "the levels of the ratings, least first, as in [1, 2, 3, 4, 5]"
        raise OptionError(option="scale", value=scale, expected=expected)
    names = list(scale)
    if isinstance(scale, Mapping):
        names.sort(key=lambda name: scale[name])
        values = np.array([scale[name] for name in names], np.float64)
    elif all(isinstance(name, int | float | np.number) for name in names):
        values = np.array(names, np.float64)
    else:
        values = np.arange(1.0, len(names) + 1)
    if len(names) < 2 or len(set(map(str, names))) < len(names) or not np.all(np.diff(values) > 0):
        raise OptionError(
            option="scale",
            value=scale,
            expected="at least two different levels, from worst to best",
        )
    return names, values


def _as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    if pa.types.is_string(column.type) or pa.types.is_dictionary(column.type):
        return None
    try:
        return pc.cast(column, pa.float64()).to_numpy()
    except pa.ArrowException:
        raise DataError(
            f"The ratings have the type {column.type}; give numbers, or labels and a ",
            Option("scale"),
            ".",
        ) from None


def _check_once(table: RatingTable) -> None:
    same = np.flatnonzero((np.diff(table.user) == 0) & (np.diff(table.item) == 0))
    if len(same):
        name, thing = (
            table.users.tolist()[table.user[same[0]]],
            table.items.tolist()[table.item[same[0]]],
        )
        more = f" (and {len(same) - 1:,} more such rows)" if len(same) > 1 else ""
        raise DataError(
            f"User {name!r} rates {thing!r} more than once{more}. "
            "Keep one rating of each thing, the last say."
        )
