"""From rankings to comparisons: every two items at different positions are compared."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import as_column, encode_groups
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError
from mallowmix.readers.order_weights import check_fits_memory, with_user_weights
from mallowmix.readers.reading import DROP_OR_HALF, Reading, ReadOptions, tie_notes


class LabelledEntries(NamedTuple):
    """One row for each item that a ranking lists: ranking, label of the item, position."""

    user: Any  # labels, one for each ranking
    ranking: NDArray[np.int64]
    item: Any  # labels
    position: NDArray[np.float64]
    weight: Any = None


def reading_of_entries(
    entries: LabelledEntries, options: ReadOptions, form: str, picked: Mapping[str, Any]
) -> Reading:
    """Code the labels of entries and make comparisons of the rankings."""
    if not len(entries.ranking):
        raise DataError("There are no rankings: not one item has a position.")
    ((who,), users), ((what,), items) = encode_groups(
        [as_column(entries.user, "user")], [as_column(entries.item, "item")]
    )
    rankings = Rankings.from_codes(
        who,
        entries.ranking,
        what,
        entries.position,
        items,
        users,
        entries.weight,
        unlisted=options.unlisted or "unknown",
    )
    return reading_of_rankings(rankings, options, form, picked)


def reading_of_rankings(
    rankings: Rankings,
    options: ReadOptions,
    form: str = "rankings",
    picked: Mapping[str, Any] | None = None,
) -> Reading:
    """Make comparisons of rankings: every two items at different positions are compared.

    Parameters
    ----------
    rankings : Rankings
    options : ReadOptions
        What to do with ties, and how much a user counts.
    form : str
        The name of the form in the result.
    picked : mapping
        Role to column.

    Returns
    -------
    Reading
    """
    lengths = rankings.lengths
    check_fits_memory(int((lengths * (lengths - 1) // 2).sum()))
    n_ties = _tied_pairs(rankings)
    if n_ties and options.ties == "error":
        raise DataError(f"There are {n_ties:,.12g} tied pairs. ", *DROP_OR_HALF)
    made = rankings.comparisons("half" if options.half else "drop")
    if not len(made):
        raise DataError("There are no comparisons: no ranking puts one thing over another.")
    total = made.n_comparisons + (0 if options.half else n_ties)
    notes = tie_notes(options, n_ties, 0, total, "pairs")
    counts = {
        "ties": options.ties or "drop",
        "n_ties": n_ties,
        "rankings": rankings,
        "notes": notes,
    }
    return Reading(with_user_weights(made, options.per_user), form, picked or {}, **counts)


def _tied_pairs(rankings: Rankings) -> float:
    """Count pairs of items that share a position, weighted by ranking."""
    key = rankings.ranking * (int(rankings.position.max(initial=0)) + 1) + rankings.position
    groups, size = np.unique(key, return_counts=True)
    ranking = groups // (int(rankings.position.max(initial=0)) + 1)
    return float((size * (size - 1) / 2) @ rankings.weight[ranking])
