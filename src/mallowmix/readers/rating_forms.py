"""Ratings to comparisons: of two items that a user rated, the higher rated wins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import as_arrow, as_column
from mallowmix.data.ranking_ids import one_ranking_each
from mallowmix.data.row_checks import FILL_OR_DROP, Policy, Where
from mallowmix.errors import DataError, OptionError, Part, check_choice, check_count
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_numbers
from mallowmix.readers.order_weights import check_fits_memory, with_user_weights
from mallowmix.readers.pair_kernels import count_rated_pairs, make_pairs
from mallowmix.readers.rating_rows import check_rated_once, coded_ratings, with_most_ratings
from mallowmix.readers.reading import DROP_OR_HALF, PerUser, Reading, ReadOptions, Ties, tie_notes
from mallowmix.readers.user_column import user_column

ROLES = Roles(("user", "item", "rating"))
STARS = "Give how many stars each thing got, and leave empty what was not rated."


@dataclass(frozen=True)
class RatedPairs:
    """Comparisons made of ratings.

    Attributes
    ----------
    comparisons : Comparisons
    n_ties : int
        How many pairs had equal ratings.
    n_ratings : int
        How many ratings were used.
    rows : (n_ratings,) int64
        The rows of these ratings in the input.
    """

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
    """Make comparisons of ratings: every two items that a user rated differently are compared.

    A user with n ratings makes up to n(n−1)/2 comparisons. All come from one weak order and are far
    from independent: `per_user` or `capped` limits how much they count. Every user who rated
    anything stays in `users`, even without a comparison. `rated_pairs` also counts the ties.

    Parameters
    ----------
    user, item, rating : array_like
        (n,) Who rated which item with how many stars.
    top_items : int
        Keep this many items with most ratings; equal counts go in the order of their labels.
    ties : {"drop", "half", "error"}
        Pairs with equal ratings: left out, half a win for each side, or refused.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning, as in `read_ratings`.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import mallowmix as mm
    >>> made = mm.comparisons_from_ratings(["ann"] * 3, ["tea", "milk", "water"], [5, 3, 3])
    >>> made.n_comparisons
    2.0
    """
    return with_user_weights(
        rated_pairs(user, item, rating, top_items=top_items, ties=ties).comparisons, per_user
    )


def read_rated(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "ratings"
) -> Reading:
    """Read user, item, rating; every two items that a user rated differently are compared."""
    columns = source.take(picked)
    user = user_column(columns, len(columns["item"]), one_user=options.one_user, title=source.title)
    stars = as_numbers(columns["rating"], source.where, "rating", STARS)
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
    """Make comparisons of columns of ratings, with the counts and notes of a `Reading`."""
    found = rated_pairs(
        user,
        item,
        stars,
        top_items=options.top_items,
        ties=options.ties or "drop",
        missing=options.missing,
        where=where or _row_name,
        advice=FILL_OR_DROP,
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
    """Select the ratings that comparisons were made of: kept items, rows without gaps."""
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
    advice: tuple[Part, ...] = (),
) -> RatedPairs:
    """Make comparisons as `comparisons_from_ratings` does, and count ties and ratings.

    Parameters
    ----------
    user, item, rating, top_items, ties
        As in `comparisons_from_ratings`.
    missing : {"error", "drop"}
        What to do with a row that lacks a value.
    where : callable
        Row number to text that locates the row in messages.
    advice : tuple of parts
        What ends a message about a gap, where an option drops such rows.
    """
    check_choice("ties", ties, ("drop", "half", "error"))
    coded = coded_ratings(user, item, rating, missing, where, advice)
    people, users, things, items, stars, rows_used = coded
    if top_items is not None:
        check_count("top_items", top_items, 2)
        kept, number, items = with_most_ratings(things, items, top_items)
        people, things, stars, rows_used = (
            people[kept],
            number[things[kept]],
            stars[kept],
            rows_used[kept],
        )
    order = np.lexsort((things, people))
    people, things, stars = people[order], things[order], stars[order]
    check_rated_once(people, things, users, items)
    starts = np.searchsorted(people, np.arange(len(users) + 1))
    half = ties == "half"
    rows, n_ties = count_rated_pairs(starts, stars, half)
    if not rows.sum():
        raise DataError("There are no comparisons: nobody rated two things differently.")
    if n_ties and ties == "error":
        raise DataError(
            f"There are {n_ties:,} ties: pairs of things that one person rated alike. ",
            *DROP_OR_HALF,
        )
    check_fits_memory(int(rows.sum()))
    user, winner, loser, weight = make_pairs(
        starts, things.astype(np.int32), stars, np.r_[0, np.cumsum(rows)], half
    )
    ids = one_ranking_each(user, winner, loser)
    equal = np.ones(len(users))
    made = Comparisons(user, winner, loser, weight, items, users, equal, ranking_id=ids)
    return RatedPairs(made, int(n_ties), len(stars), rows_used)


def capped(comparisons: Comparisons, most: float) -> Comparisons:
    """Limit how much a user m counts to min(1, most / n_m), n_m their number of comparisons.

    No user then counts more than `most` independent comparisons, however many their ratings make.

    Parameters
    ----------
    comparisons : Comparisons
    most : float
        Above 0.
    """
    if not most > 0:
        raise OptionError(option="most", value=most, expected="above 0")
    share = most / np.maximum(comparisons.per_user(), most)  # min(1, most / n_m)
    return replace(comparisons, user_weight=share * comparisons.user_weight)
