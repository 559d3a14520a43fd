"""Rows of ratings as numbers: users and items coded, stars finite, no item rated twice."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, as_arrow, as_column, encode_groups
from mallowmix.data.row_checks import Policy, Where, gaps
from mallowmix.errors import DataError, Part, check_choice


def coded_ratings(
    user: Any,
    item: Any,
    rating: Any,
    missing: Policy,
    where: Where,
    advice: tuple[Part, ...] = (),
) -> tuple[NDArray[Any], Labels, NDArray[Any], Labels, NDArray[np.float64], NDArray[np.int64]]:
    """Code users and items, check that ratings are finite, and return the rows without gaps.

    `advice` ends an error about a gap, where there is an option that drops such rows.
    """
    columns = {"user": as_column(user, "user"), "item": as_column(item, "item")}
    stars = _as_stars(rating)
    lengths = [*map(len, columns.values()), len(stars)]
    if len(set(lengths)) > 1:
        raise DataError(
            f"user, item and rating have {', '.join(map(str, lengths))} rows; they must be "
            "equally long."
        )
    if not lengths[0]:
        raise DataError("There are no ratings: give at least one row of user, item, rating.")
    keep = _present(columns, stars, missing, where, advice)
    if not keep.all():
        columns = {name: column.filter(pa.array(keep)) for name, column in columns.items()}
        stars = stars[keep]
    ((people,), users), ((things,), items) = encode_groups([columns["user"]], [columns["item"]])
    return people, users, things, items, stars, np.flatnonzero(keep)


def _as_stars(rating: Any) -> NDArray[np.float64]:
    """Convert ratings to float64, NaN where one is missing."""
    try:
        return as_arrow(rating, "rating").cast(pa.float64()).to_numpy()
    except (DataError, pa.ArrowException):
        raise DataError(
            "The ratings are not a column of numbers: give how many stars each thing got."
        ) from None


def _present(
    columns: Mapping[str, pa.ChunkedArray],
    stars: NDArray[np.float64],
    missing: Policy,
    where: Where,
    advice: tuple[Part, ...],
) -> NDArray[np.bool_]:
    """Return which rows lack nothing; an infinite rating is an error in any case."""
    check_choice("missing", missing, ("error", "drop"))
    lacking = {name: gaps(column) for name, column in columns.items()}
    if missing == "error":
        for name, gap in lacking.items():
            fill = advice or ("Fill such rows in, or leave them out.",)
            _refuse(gap, f"the {name} is missing", fill, where)
    bad = ~np.isfinite(stars) if missing == "error" else np.isinf(stars)
    rated = advice if advice and not np.isinf(stars).any() else ("Leave out what was not rated.",)
    _refuse(bad, "the rating is missing or not a finite number", rated, where)
    keep = ~(lacking["user"] | lacking["item"] | np.isnan(stars))
    if not keep.any():
        raise DataError("There are no ratings: give at least one row of user, item, rating.")
    return keep


def _refuse(bad: NDArray[np.bool_], what: str, advice: tuple[Part, ...], where: Where) -> None:
    if bad.any():
        count = np.count_nonzero(bad)
        more = f" (and {count - 1:,} more like it)" if count > 1 else ""
        raise DataError(f"{where(int(np.argmax(bad)))}: {what}{more}. ", *advice)


def with_most_ratings(
    things: NDArray[Any], items: Labels, top_items: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64], Labels]:
    """Return which rows are of the most rated items, the items' new codes, and their labels."""
    by_count = np.argsort(-np.bincount(things, minlength=len(items)), kind="stable")
    kept = np.sort(by_count[:top_items])
    number = np.full(len(items), -1)
    number[kept] = np.arange(len(kept))
    return number[things] >= 0, number, items[kept]


def check_rated_once(
    people: NDArray[Any], things: NDArray[Any], users: Labels, items: Labels
) -> None:
    """Refuse two ratings of one item by one user; rows are sorted by user and item."""
    twice = np.flatnonzero((people[1:] == people[:-1]) & (things[1:] == things[:-1]))
    if len(twice):
        name, thing = users.tolist()[people[twice[0]]], items.tolist()[things[twice[0]]]
        more = f" (and {len(twice) - 1:,} more such rows)" if len(twice) > 1 else ""
        raise DataError(
            f"User {name!r} rates {thing!r} more than once{more}. Keep one rating of each thing, "
            "the last say."
        )
