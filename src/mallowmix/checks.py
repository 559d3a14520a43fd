"""The data report: how much there is, what in it limits the answer, and what to do about it."""

import warnings
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mallowmix.comparisons import Comparisons
from mallowmix.errors import DataWarning
from mallowmix.labels import text_of

_SHOWN = 5  # names listed in a sentence


@dataclass(frozen=True)
class DataReport:
    """What a set of comparisons holds; labels are given as text.

    n_comparisons counts weights, n_rows the different (user, winner, loser). `per_user` has the least, the median and the most
    comparisons of one person. `pieces` are the sizes of the connected pieces of the graph that joins items that were compared,
    largest first, and `smaller_pieces` the items of all but the first. `n_repeated` counts comparisons that the same person made
    before with the same outcome, `n_contradictions` the pairs that one person decided both ways. `warnings` say what limits the
    answer and what that means, `advice` what to do, in the same order.
    """

    n_users: int
    n_items: int
    n_comparisons: float
    n_rows: int
    pairs_seen: int
    pairs_possible: int
    per_user: dict[str, float]
    users_below_two: list[str]
    never_compared: list[str]
    never_win: list[str]
    never_lose: list[str]
    pieces: list[int]
    smaller_pieces: list[list[str]]
    n_repeated: float
    n_contradictions: int
    warnings: list[str]
    advice: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return asdict(self)


class _Limits(NamedTuple):
    """What limits the answer, as labels."""

    users_below_two: list[str]
    never_compared: list[str]
    never_win: list[str]
    never_lose: list[str]
    pieces: list[list[str]]  # largest first


class _Concern(NamedTuple):
    """A warning in plain words, and what to do about it."""

    warning: str
    advice: str


def data_report(comparisons: Comparisons) -> DataReport:
    """Sizes, warnings and advice for a set of comparisons."""
    limits = _limits(comparisons)
    concerns = _concerns(limits)
    counts = comparisons.per_user()
    Q = comparisons.n_items
    pairs = _unordered_pairs(comparisons)
    return DataReport(
        n_users=comparisons.n_users,
        n_items=Q,
        n_comparisons=comparisons.n_comparisons,
        n_rows=len(comparisons),
        pairs_seen=len(np.unique(pairs)),
        pairs_possible=Q * (Q - 1) // 2,
        per_user={name: float(of(counts)) for name, of in (("min", np.min), ("median", np.median), ("max", np.max))},
        users_below_two=limits.users_below_two,
        never_compared=limits.never_compared,
        never_win=limits.never_win,
        never_lose=limits.never_lose,
        pieces=[len(piece) for piece in limits.pieces],
        smaller_pieces=limits.pieces[1:],
        n_repeated=float(np.maximum(comparisons.weight - 1, 0).sum()),
        n_contradictions=_contradictions(comparisons, pairs),
        warnings=[concern.warning for concern in concerns],
        advice=[concern.advice for concern in concerns],
    )


def warn_about(comparisons: Comparisons, *, stacklevel: int = 2) -> None:
    """Give each warning of the data report as a DataWarning; `stacklevel` as in `warnings.warn`, 2 being whoever calls this."""
    for concern in _concerns(_limits(comparisons)):
        warnings.warn(concern.warning, DataWarning, stacklevel=stacklevel)


def _limits(comparisons: Comparisons) -> _Limits:
    items, users = np.array(text_of(comparisons.items), object), np.array(text_of(comparisons.users), object)
    wins = np.bincount(comparisons.winner, minlength=len(items)) > 0
    losses = np.bincount(comparisons.loser, minlength=len(items)) > 0
    return _Limits(
        users_below_two=users[comparisons.per_user() < 2].tolist(),
        never_compared=items[~wins & ~losses].tolist(),
        never_win=items[~wins & losses].tolist(),
        never_lose=items[wins & ~losses].tolist(),
        pieces=[items[piece].tolist() for piece in _pieces(comparisons, wins | losses)],
    )


def _pieces(comparisons: Comparisons, compared: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """The items of each connected piece of the comparison graph, largest piece first; items never compared are in none."""
    Q = comparisons.n_items
    edges = coo_array((np.ones(len(comparisons)), (comparisons.winner, comparisons.loser)), shape=(Q, Q))
    _, piece_of = connected_components(edges.tocsr(), directed=False)
    items = np.flatnonzero(compared)
    items = items[np.argsort(piece_of[items], kind="stable")]
    pieces = np.split(items, np.flatnonzero(np.diff(piece_of[items])) + 1)
    return sorted((piece for piece in pieces if len(piece)), key=lambda piece: (-len(piece), piece[0]))


def _unordered_pairs(comparisons: Comparisons) -> NDArray[np.int64]:
    low, high = np.minimum(comparisons.winner, comparisons.loser), np.maximum(comparisons.winner, comparisons.loser)
    return low.astype(np.int64) * comparisons.n_items + high


def _contradictions(comparisons: Comparisons, pairs: NDArray[np.int64]) -> int:
    """Rows are merged, so a person's unordered pair stands in one row, or in two that contradict each other."""
    by_person = comparisons.user.astype(np.int64) * comparisons.n_items**2 + pairs
    return len(by_person) - len(np.unique(by_person))


def _concerns(limits: _Limits) -> list[_Concern]:
    found = [
        _few(limits.users_below_two),
        _uncompared(limits.never_compared),
        _never_win(limits.never_win),
        _never_lose(limits.never_lose),
        _in_pieces(limits.pieces),
    ]
    return [concern for concern in found if concern is not None]


def _few(users: list[str]) -> _Concern | None:
    if not users:
        return None
    made, they = ("user made", "it tells") if len(users) == 1 else ("users made", "they tell")
    are = "is" if len(users) == 1 else "are"
    return _Concern(
        f"{len(users):,} {made} fewer than two comparisons: {they} nothing about which tastes go together, and {are} left out "
        "of the moments.",
        f"Ask {_named(users)} for more comparisons, or leave them as they are: nobody else is affected.",
    )


def _uncompared(items: list[str]) -> _Concern | None:
    if not items:
        return None
    verb, its = ("is", "its place") if len(items) == 1 else ("are", "their places")
    return _Concern(
        f"{_named(items)} {verb} in no comparison: {its} in every ranking would be a guess.",
        f"Ask for comparisons with {_named(items)}, or leave what was never compared out of the items.",
    )


def _never_win(items: list[str]) -> _Concern | None:
    if not items:
        return None
    verb, they = ("wins", "it") if len(items) == 1 else ("win", "they")
    return _Concern(
        f"{_named(items)} never {verb}: the data cannot tell how far below the others {they} should stand.",
        f"Ask for comparisons of {_named(items)} with other unpopular items, or leave {_them(items)} out.",
    )


def _never_lose(items: list[str]) -> _Concern | None:
    if not items:
        return None
    verb, they = ("loses", "it") if len(items) == 1 else ("lose", "they")
    return _Concern(
        f"{_named(items)} never {verb}: the data cannot tell how far above the others {they} should stand.",
        f"Ask for comparisons of {_named(items)} with other popular items, or leave {_them(items)} out.",
    )


def _in_pieces(pieces: list[list[str]]) -> _Concern | None:
    if len(pieces) < 2:
        return None
    sizes = ", ".join(str(len(piece)) for piece in pieces[:_SHOWN]) + (", …" if len(pieces) > _SHOWN else "")
    return _Concern(
        f"The comparisons fall into {len(pieces)} pieces (of {sizes} items): nothing was compared across them, directly or "
        "through other items, so the order between pieces would be a guess.",
        f"Ask for comparisons across the pieces, of {pieces[1][0]!r} with {pieces[0][0]!r} for example, or fit each piece alone.",
    )


def _named(labels: list[str]) -> str:
    """'tea', 'coffee' and 3 more."""
    shown = [repr(label) for label in labels[:_SHOWN]]
    if len(labels) > _SHOWN:
        return f"{', '.join(shown)} and {len(labels) - _SHOWN:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _them(labels: list[str]) -> str:
    return "it" if len(labels) == 1 else "them"
