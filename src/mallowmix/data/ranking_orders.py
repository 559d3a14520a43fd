"""Rankings as lists of labels, best first, flattened into entries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mallowmix.errors import DataError


@dataclass
class FlatOrders:
    """Entries of several rankings: the ranking, the label and the position of each."""

    ranking: list[int]
    labels: list[object]
    position: list[int]
    count: int


def flattened(orders: Iterable[Sequence[object]]) -> FlatOrders:
    """The entries of lists of labels, best first; a list, tuple or set within a list is a tie."""
    flat = FlatOrders([], [], [], 0)
    for number, order in enumerate(orders):
        if isinstance(order, str | bytes):
            raise DataError(
                f"Ranking {number + 1} is the text {order!r}; give a list of items, best first."
            )
        for position, group in enumerate(order):
            tied = list(group) if isinstance(group, list | tuple | set | frozenset) else [group]
            flat.ranking += [number] * len(tied)
            flat.labels += tied
            flat.position += [position] * len(tied)
        flat.count = number + 1
    if not flat.labels:
        raise DataError("There are no rankings: give at least one list of items, best first.")
    return flat
