"""Star ratings become comparisons: of two things that one person rated, the higher rated wins; equal ratings say nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_arrow, as_column, encode_groups
from mallowmix.data.row_checks import Policy, Where, gaps
from mallowmix.errors import DataError, OptionError, check_at_least, check_choice
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_numbers
from mallowmix.readers.order_weights import check_fits_memory, with_user_weights
from mallowmix.readers.reading import DROP_OR_HALF, PerUser, Reading, ReadOptions, Ties, tie_notes
from mallowmix.readers.user_column import user_column

ROLES = Roles(("user", "item", "rating"))


@dataclass(frozen=True)
class RatedPairs:
    """Comparisons made from ratings, how many pairs were tied, how many ratings they came from, and which rows these are."""

    comparisons: Comparisons
    n_ties: int
    n_ratings: int
    rows: NDArray[np.int64]


def comparisons_from_ratings(
    user: Any,
    item: Any,
    rating: Any,
    *,
    top_items: int | None = None,
    ties: Ties = "drop",
    per_user: PerUser = "comparisons",
) -> Comparisons:
    """Comparisons from three columns: who, what, and how many stars. Every two things a person rated differently are compared.

    top_items : keep the things with most ratings, so many; equal counts go in the order of their labels as text
    ties : "drop" leaves out pairs with equal ratings; "half" counts half a win for each side; "error" refuses them
    per_user : what a person counts in learning: all their "comparisons", about as many as they gave "ratings", or "equal" shares

    A person with n ratings makes up to n(n−1)/2 comparisons, which all come from one weak order and so are far from independent:
    `per_user` or `capped` holds their say down. Everybody who rated anything stays in `users`, even without a comparison.
    `rated_pairs` also counts the ties.
    """
    return with_user_weights(
        rated_pairs(user, item, rating, top_items=top_items, ties=ties).comparisons, per_user
    )


def read_rated(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "ratings"
) -> Reading:
    """Every two things that a person rated differently are compared."""
    columns = source.take(picked)
    user = user_column(columns, len(columns["item"]), one_user=options.one_user, title=source.title)
    stars = as_numbers(
        columns["rating"], source.where, "rating", "Give how many stars each thing got."
    )
    return reading_of_ratings(user, columns["item"], stars, options, form, picked, source.where)


def reading_of_ratings(
    user: Any,
    item: Any,
    stars: Any,
    options: ReadOptions,
    form: str,
    picked: Mapping[str, Any],
    where: Where | None = None,
) -> Reading:
    """Comparisons from columns of ratings, with what was counted."""
    found = rated_pairs(
        user,
        item,
        stars,
        top_items=options.top_items,
        ties=options.ties or "drop",
        missing=options.missing,
        where=where or _row_name,
    )
    total = found.comparisons.n_comparisons + (0 if options.half else found.n_ties)
    return Reading(
        with_user_weights(found.comparisons, options.per_user),
        form,
        picked,
        ties=options.ties or "drop",
        n_ties=found.n_ties,
        ratings=_used(user, item, stars, found.rows),
        notes=tie_notes(options, found.n_ties, 0, total, "pairs of ratings"),
    )


def _used(user: Any, item: Any, stars: Any, rows: NDArray[np.int64]) -> pa.Table:
    """The ratings that comparisons were made of: of the things that were kept, without rows that lack a value."""
    columns = {
        "user": as_column(user, "user"),
        "item": as_column(item, "item"),
        "rating": as_arrow(stars, "rating"),
    }
    table = pa.table(columns)
    return table if len(rows) == table.num_rows else table.take(pa.array(rows))


def _row_name(row: int) -> str:
    return f"Row {row + 1}"


def rated_pairs(
    user: Any,
    item: Any,
    rating: Any,
    *,
    top_items: int | None = None,
    ties: Ties = "drop",
    missing: Policy = "error",
    where: Where = _row_name,
) -> RatedPairs:
    """The same as `comparisons_from_ratings`, with the number of tied pairs and of ratings used."""
    check_choice("ties", ties, ("drop", "half", "error"))
    people, users, things, items, stars, rows_used = _checked(user, item, rating, missing, where)
    if top_items is not None:
        check_at_least("top_items", top_items, 2)
        kept, number, items = _most_rated(things, items, top_items)
        people, things, stars, rows_used = (
            people[kept],
            number[things[kept]],
            stars[kept],
            rows_used[kept],
        )
    order = np.lexsort((things, people))
    people, things, stars = people[order], things[order], stars[order]
    _check_rated_once(people, things, users, items)
    starts = np.searchsorted(people, np.arange(len(users) + 1))
    half = ties == "half"
    rows, n_ties = count_pairs(starts, stars, half)
    if not rows.sum():
        raise DataError("There are no comparisons: nobody rated two things differently.")
    if n_ties and ties == "error":
        raise DataError(
            f"There are {n_ties:,} ties: pairs of things that one person rated alike. ",
            *DROP_OR_HALF,
        )
    check_fits_memory(int(rows.sum()))
    columns = make_pairs(starts, things.astype(np.int32), stars, np.r_[0, np.cumsum(rows)], half)
    return RatedPairs(
        Comparisons(*columns, items, users, np.ones(len(users))), int(n_ties), len(stars), rows_used
    )


def capped(comparisons: Comparisons, most: float) -> Comparisons:
    """The same comparisons with person m counting min(1, most / n_m) in learning, n_m the number of their comparisons.

    Nobody then weighs more than `most` independent comparisons would, however many pairs their ratings make.
    """
    if not most > 0:
        raise OptionError(option="most", value=most, expected="above 0")
    share = most / np.maximum(comparisons.per_user(), most)  # min(1, most / n_m)
    return replace(comparisons, user_weight=share * comparisons.user_weight)


def _checked(
    user: Any, item: Any, rating: Any, missing: Policy, where: Where
) -> tuple[NDArray[Any], Labels, NDArray[Any], Labels, NDArray[np.float64], NDArray[np.int64]]:
    """The rows as numbers: who and what point into their labels, stars are finite; and which rows lack nothing."""
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
    keep = _present(columns, stars, missing, where)
    if not keep.all():
        columns = {name: column.filter(pa.array(keep)) for name, column in columns.items()}
        stars = stars[keep]
    ((people,), users), ((things,), items) = encode_groups([columns["user"]], [columns["item"]])
    return people, users, things, items, stars, np.flatnonzero(keep)


def _as_stars(rating: Any) -> NDArray[np.float64]:
    """Ratings as floats, NaN where one is missing."""
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
) -> NDArray[np.bool_]:
    """Which rows lack nothing; an infinite rating is never one."""
    check_choice("missing", missing, ("error", "drop"))
    lacking = {name: gaps(column) for name, column in columns.items()}
    if missing == "error":
        for name, gap in lacking.items():
            _refuse(gap, f"the {name} is missing", "Fill such rows in, or leave them out.", where)
    bad = ~np.isfinite(stars) if missing == "error" else np.isinf(stars)
    _refuse(
        bad, "the rating is missing or not a finite number", "Leave out what was not rated.", where
    )
    keep = ~(lacking["user"] | lacking["item"] | np.isnan(stars))
    if not keep.any():
        raise DataError("There are no ratings: give at least one row of user, item, rating.")
    return keep


def _refuse(bad: NDArray[np.bool_], what: str, advice: str, where: Where) -> None:
    if bad.any():
        count = np.count_nonzero(bad)
        more = f" (and {count - 1:,} more like it)" if count > 1 else ""
        raise DataError(f"{where(int(np.argmax(bad)))}: {what}{more}. {advice}")


def _most_rated(
    things: NDArray[Any], items: Labels, top_items: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64], Labels]:
    """Which rows are of the most rated items, the new numbers of items and their labels. Items are numbered in text order, so a
    stable sort breaks ties by it.
    """
    by_count = np.argsort(-np.bincount(things, minlength=len(items)), kind="stable")
    kept = np.sort(by_count[:top_items])
    number = np.full(len(items), -1)
    number[kept] = np.arange(len(kept))
    return number[things] >= 0, number, items[kept]


def _check_rated_once(
    people: NDArray[Any], things: NDArray[Any], users: Labels, items: Labels
) -> None:
    """Rows are sorted by person and thing: equal neighbours are the same person's ratings of the same thing."""
    twice = np.flatnonzero((people[1:] == people[:-1]) & (things[1:] == things[:-1]))
    if len(twice):
        name, thing = users.tolist()[people[twice[0]]], items.tolist()[things[twice[0]]]
        more = f" (and {len(twice) - 1:,} more such rows)" if len(twice) > 1 else ""
        raise DataError(
            f"User {name!r} rates {thing!r} more than once{more}. Keep one rating of each thing, "
            "the last say."
        )


@nb.njit(cache=True, nogil=True)
def count_pairs(starts, stars, half):
    """How many rows each person makes, and how many pairs are tied in all."""
    rows, n_ties = np.zeros(len(starts) - 1, np.int64), 0
    for m in range(len(starts) - 1):
        tied = 0
        for a in range(starts[m], starts[m + 1]):
            for b in range(starts[m], a):
                tied += stars[a] == stars[b]
        n = starts[m + 1] - starts[m]
        rows[m] = n * (n - 1) // 2 - tied + (2 * tied if half else 0)
        n_ties += tied
    return rows, n_ties


@nb.njit(cache=True, nogil=True)
def make_pairs(starts, things, stars, first_row, half):
    """User, winner, loser and weight of every comparison, in the normal form's order: things ascend within a person."""
    n_rows = first_row[-1]
    user, winner, loser = (
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
    )
    weight = np.ones(n_rows)
    for m in range(len(starts) - 1):
        row = first_row[m]
        for a in range(starts[m], starts[m + 1]):
            for b in range(starts[m], starts[m + 1]):
                tied = half and a != b and stars[a] == stars[b]
                if stars[a] > stars[b] or tied:
                    user[row], winner[row], loser[row] = m, things[a], things[b]
                    weight[row] = 0.5 if tied else 1.0
                    row += 1
    return user, winner, loser, weight
