"""Comparisons for a model that may not know all of their items."""

from collections.abc import Sequence
from typing import Any, TypeVar

from mallowmix.data.labels import Labels

Rows = TypeVar("Rows", bound=Any)  # Comparisons or StoredComparisons


def known_comparisons_of(
    comparisons: Rows, items: Sequence[object] | Labels, unknown_items: Any = "error"
) -> Rows:
    """The comparisons as they are where a model knows all of their items, else those it can use.

    Comparisons that stay as they are keep their fingerprint, which says whether a model was learnt
    from them.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
    items : sequence of labels
        The items of the model.
    unknown_items : {"error", "drop"}
        What to do with comparisons of other items, as in `Comparisons.with_items`.
    """
    known = comparisons.with_items(items, unknown_items=unknown_items)
    return known if known.n_comparisons < comparisons.n_comparisons else comparisons
