"""Best-worst scaling: what was shown, the best and the worst of it.

The best is preferred to all others, and all others to the worst.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import as_column
from mallowmix.data.row_checks import FILL_OR_DROP, Where
from mallowmix.errors import DataError
from mallowmix.readers.headers import Roles, numbered
from mallowmix.readers.inputs import Input, as_weights
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import user_column

ROLES = Roles(("best", "worst"), ("user", "shown", "weight"), numbered="item")


def read_best_worst_table(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str = "best-worst"
) -> Reading:
    """Read best, worst and what was shown, in one column of lists (a|b|c) or in item_1, item_2, …

    Parameters
    ----------
    source : Input
        The table.
    picked : mapping
        Role to column; without the role "shown", columns item_1, item_2, … are used.
    options : ReadOptions
        What to do with self-pairs and gaps.
    form : str
        The name of the form in the result.

    Returns
    -------
    Reading
        2n − 3 comparisons for each row that shows n items, which share a `ranking_id`.
    """
    wide = (
        {}
        if "shown" in picked
        else {f"item {n}": name for n, name in enumerate(_shown_columns(source, picked))}
    )
    columns = source.take(dict(picked) | wide)
    best, worst = (_labels(columns[name], picked[name]) for name in ("best", "worst"))
    user = user_column(columns, len(best), one_user=options.one_user, title=source.title)
    users = _labels(user, "user")
    shown = (
        lists_of(columns["shown"])
        if "shown" in columns
        else _across([columns[name] for name in wide])
    )
    weight = (
        as_weights(columns["weight"], source.where).to_pylist()
        if "weight" in columns
        else [1.0] * len(best)
    )
    keep = _kept(users, best, worst, shown, options, source.where)
    rows = [pair for n in keep for pair in _pairs(n, best[n], worst[n], shown[n], source.where)]
    number, winner, loser = zip(*rows, strict=True) if rows else ((), (), ())
    comparisons = Comparisons.from_arrays(
        [users[n] for n in number],
        list(winner),
        list(loser),
        [weight[n] for n in number],
        ranking_id=np.array(number, np.int64),
        self_pairs=options.self_pairs,
        missing=options.missing,
        where=lambda row: source.where(number[row]),
    )
    return Reading(comparisons, form, picked)


def _shown_columns(source: Input, picked: Mapping[str, Any]) -> list[Any]:
    names = [
        name
        for name in numbered(source.names, "item|option|shown|alternative")
        if name not in picked.values()
    ]
    if len(names) < 2:
        raise DataError(
            f"{source.title} does not say what was shown: give a column shown with lists (a|b|c), "
            "or columns item_1, item_2, …"
        )
    return names


def _labels(values: Any, name: Any) -> list[Any]:
    return as_column(values, name).to_pylist()


def lists_of(values: Any) -> list[list[Any] | None]:
    """Convert a column of lists, of JSON lists, or of text with | between items, to lists."""
    listed = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    return [_split(value) if isinstance(value, str) else value for value in listed]


def _split(text: str) -> list[Any] | None:
    if text.strip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise DataError(
                f'{text[:40]!r} is no JSON list: write ["tea", "milk"] or tea|milk.'
            ) from None
    return [part.strip() for part in text.split("|")] if text.strip() else None


def _across(columns: list[Any]) -> list[list[Any]]:
    """Collect the items of each row of item_1, item_2, …, without gaps."""
    cells = [_labels(column, "item") for column in columns]
    return [
        [each for each in row if each is not None and each != ""]
        for row in zip(*cells, strict=True)
    ]


def _kept(
    users: list[Any],
    best: list[Any],
    worst: list[Any],
    shown: list[Any],
    options: ReadOptions,
    where: Where,
) -> list[int]:
    columns = {"user": users, "best": best, "worst": worst, "shown": shown}
    keep: NDArray[np.bool_] = np.ones(len(best), bool)
    for name, values in columns.items():
        gap = np.array([value is None or value == "" or value == [] for value in values], bool)
        if gap.any() and options.missing == "error":
            row = int(np.argmax(gap))
            raise DataError(f"{where(row)}: the {name} is missing. ", *FILL_OR_DROP)
        keep &= ~gap
    return np.flatnonzero(keep).tolist()


def _pairs(row: int, best: Any, worst: Any, shown: Any, where: Where) -> list[tuple[int, Any, Any]]:
    """List (row, winner, loser): best over the rest, the rest over the worst."""
    if not isinstance(shown, list | tuple) or any(
        isinstance(each, list | dict | None.__class__) for each in shown
    ):
        raise DataError(
            f"{where(row)}: what was shown is {str(shown)[:40]!r}; give a list of items."
        )
    known = {str(each): each for each in shown}
    if len(known) < len(shown):
        raise DataError(f"{where(row)}: something is shown twice. List each item once.")
    for name, item in (("best", best), ("worst", worst)):
        if str(item) not in known:
            raise DataError(f"{where(row)}: the {name} is {item!r}, which was not shown.")
    if str(best) == str(worst):
        raise DataError(f"{where(row)}: {best!r} is both the best and the worst.")
    best, worst = known[str(best)], known[str(worst)]
    rest = [each for each in shown if each not in (best, worst)]
    return [
        (row, best, worst),
        *((row, best, each) for each in rest),
        *((row, each, worst) for each in rest),
    ]
