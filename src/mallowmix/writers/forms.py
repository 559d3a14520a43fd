"""Comparisons as a table of any of the forms that `mallowmix.readers` reads."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, Option, check_choice
from mallowmix.writers.weak_orders import rankings_of


def as_table(comparisons: Comparisons, form: str = "comparisons") -> pa.Table:
    """Return comparisons as a table in the named form.

    Parameters
    ----------
    comparisons : Comparisons
    form : str
        One of `FORMS`.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DataError
        If the form cannot hold the comparisons (fractions, contradictions).
    """
    check_choice("form", form, tuple(FORMS))
    return FORMS[form](comparisons)


class Pairs(NamedTuple):
    """Decided pairs, repeated by their weight, and ties, as codes of users and items."""

    user: NDArray[np.int64]
    winner: NDArray[np.int64]
    loser: NDArray[np.int64]
    tie: NDArray[np.bool_]


def _plain(comparisons: Comparisons) -> pa.Table:
    table = comparisons.to_arrow()
    if np.all(comparisons.weight == np.floor(comparisons.weight)):
        table = table.set_column(3, "weight", table.column("weight").cast(pa.int64()))  # 2, not 2.0
    return table


def _pairs(comparisons: Comparisons, form: str, *, ties: bool = False) -> Pairs:
    """Make a row for each decision; two halves of one pair by one user are a tie."""
    comparisons = comparisons.without_ranking_id()  # each pair of a user in one row
    whole = np.floor(comparisons.weight).astype(np.int64)
    part = np.flatnonzero(comparisons.weight != whole)
    tied = _tied(comparisons, part, form, ties)
    rows = np.r_[np.repeat(np.arange(len(comparisons)), whole), tied]
    user, winner, loser = (
        getattr(comparisons, name)[rows].astype(np.int64) for name in ("user", "winner", "loser")
    )
    order = np.lexsort((loser, winner, user))
    is_tie = np.r_[np.zeros(whole.sum(), bool), np.ones(len(tied), bool)]
    return Pairs(user[order], winner[order], loser[order], is_tie[order])


def _tied(
    comparisons: Comparisons, part: NDArray[np.int64], form: str, ties: bool
) -> NDArray[np.int64]:
    """Return one row for each tie: of its two half rows, that of the item with the lower code."""
    halves = comparisons.weight[part] % 1 == 0.5
    low, high = (
        f(comparisons.winner[part], comparisons.loser[part]) for f in (np.minimum, np.maximum)
    )
    Q = comparisons.n_items
    key = (comparisons.user[part].astype(np.int64) * Q + low) * Q + high
    _, count = np.unique(key, return_counts=True)
    if len(part) and (not ties or not halves.all() or np.any(count != 2)):
        what = "ties" if halves.all() and np.all(count == 2) else "weights that are not whole"
        raise DataError(
            f"There are {what}, which {form} cannot hold: read with ",
            Option("ties", "drop"),
            ", or write comparisons.",
        )
    return part[comparisons.winner[part] == low]


def _labels(labels: NDArray, numbers: NDArray) -> pa.Array:
    return pa.array(labels.tolist()).take(pa.array(numbers))


def _bayesmallows(comparisons: Comparisons) -> pa.Table:
    user, winner, loser, _ = _pairs(comparisons, "bayesmallows")
    users, items = comparisons.users, comparisons.items
    return pa.table(
        {
            "assessor": _labels(users, user),
            "bottom_item": _labels(items, loser),
            "top_item": _labels(items, winner),
        }
    )


def _choix(comparisons: Comparisons) -> pa.Table:
    _, winner, loser, _ = _pairs(comparisons, "choix")
    return pa.table(
        {"winner": _labels(comparisons.items, winner), "loser": _labels(comparisons.items, loser)}
    )


def _battles(comparisons: Comparisons) -> pa.Table:
    """Put the item with the lower code left: which side it was on is not known."""
    user, winner, loser, tie = _pairs(comparisons, "battles", ties=True)
    left, right = np.minimum(winner, loser), np.maximum(winner, loser)
    outcome = np.where(tie, "tie", np.where(winner == left, "left", "right"))
    items = comparisons.items
    columns = {
        "left": _labels(items, left),
        "right": _labels(items, right),
        "outcome": pa.array(outcome.tolist()),
    }
    return pa.table({"user": _labels(comparisons.users, user)} | columns)


def _best_worst(comparisons: Comparisons) -> pa.Table:
    """Every comparison as a set of two."""
    user, winner, loser, _ = _pairs(comparisons, "best-worst")
    items = comparisons.items
    shown = {"item_1": np.minimum(winner, loser), "item_2": np.maximum(winner, loser)}
    columns = {
        name: _labels(items, numbers)
        for name, numbers in (shown | {"best": winner, "worst": loser}).items()
    }
    return pa.table({"user": _labels(comparisons.users, user)} | columns)


def _implicit(comparisons: Comparisons) -> pa.Table:
    """Every comparison as a list of two things, one of them clicked."""
    user, winner, loser, _ = _pairs(comparisons, "implicit")
    n = len(user)
    items = np.stack([winner, loser], axis=1).ravel()
    return pa.table(
        {
            "user": _labels(comparisons.users, np.repeat(user, 2)),
            "list": pa.array(np.repeat(np.arange(1, n + 1), 2)),
            "item": _labels(comparisons.items, items),
            "clicked": pa.array(np.tile([1, 0], n)),
        }
    )


def _rankings(comparisons: Comparisons) -> pa.Table:
    """user, item, rank: 1 is best, equal is a tie."""
    found = rankings_of(comparisons)
    user, item = _labels(found.users, found.user[found.ranking]), _labels(found.items, found.item)
    return pa.table({"user": user, "item": item, "rank": pa.array(found.position + 1)})


def _ratings(comparisons: Comparisons) -> pa.Table:
    """Make user, item, rating: a user's last position is one star, each above it one more."""
    found = rankings_of(comparisons)
    last = np.maximum.reduceat(found.position, found.starts[:-1])
    user, item = _labels(found.users, found.user[found.ranking]), _labels(found.items, found.item)
    return pa.table(
        {"user": user, "item": item, "rating": pa.array(last[found.ranking] - found.position + 1)}
    )


FORMS: dict[str, Callable[[Comparisons], pa.Table]] = {
    "comparisons": _plain,
    "bayesmallows": _bayesmallows,
    "battles": _battles,
    "ratings": _ratings,
    "rankings": _rankings,
    "best-worst": _best_worst,
    "implicit": _implicit,
    "choix": _choix,
}
