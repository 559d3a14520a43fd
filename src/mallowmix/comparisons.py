"""Comparisons: who preferred what to what, how often. The one form that every reader ends in and every function starts from."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError, check_choice
from mallowmix.labels import Labels, as_column, as_labels, encode, text_of


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairwise choices of many people, as arrays: row n says that `user[n]` put `winner[n]` over `loser[n]`, `weight[n]` times.

    Rows are held in a normal form, sorted by (user, winner, loser) with repeated rows merged into their `weight`, so that the
    order of the input never matters and an integer weight *is* that many repeated rows. Labels are numbered in the order of
    their text. `user_weight` is a separate thing: it scales a person's part in moments and in learning, never their own posterior.

    Make one with `Comparisons.from_arrays(...)`, or from tables and files with `mallowmix.read_comparisons(...)`.
    """

    user: NDArray[np.int32]
    winner: NDArray[np.int32]
    loser: NDArray[np.int32]
    weight: NDArray[np.float64]
    items: Labels
    users: Labels
    user_weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (self.user, self.winner, self.loser, self.weight, self.items, self.users, self.user_weight):
            array.setflags(write=False)

    @classmethod
    def from_arrays(
        cls,
        user: Any,
        winner: Any,
        loser: Any,
        weight: ArrayLike | None = None,
        *,
        user_weight: Mapping[Any, float] | None = None,
        self_pairs: Literal["error", "drop"] = "error",
        missing: Literal["error", "drop"] = "error",
        where: Any = None,
    ) -> "Comparisons":
        """From three columns of labels (lists, arrays, Arrow columns) and, optionally, one of weights.

        `self_pairs` and `missing` say what to do with a row that compares a thing with itself or lacks a value. `where` turns a
        row number into words for messages (readers pass "votes.csv line 812").
        """
        check_choice("self_pairs", self_pairs, ("error", "drop"))
        check_choice("missing", missing, ("error", "drop"))
        where = where or (lambda row: f"Row {row + 1}")
        columns = [as_column(user, "user"), as_column(winner, "winner"), as_column(loser, "loser")]
        if len({len(column) for column in columns}) > 1:
            raise DataError(f"user, winner and loser have {', '.join(str(len(c)) for c in columns)} rows; they must be equally long.")
        keep = _present(columns, missing, where)
        weights = _checked_weights(weight, len(columns[0]), keep, missing, where)
        if keep is not None:
            columns = [column.filter(pa.array(keep)) for column in columns]
            weights = None if weights is None else weights[keep]
        rows = np.arange(len(columns[0])) if keep is None else np.flatnonzero(keep)
        if len(rows) == 0:
            raise DataError("There are no comparisons: give at least one row of user, winner, loser.")
        (users,), user_labels = encode(columns[0])
        (winners, losers), item_labels = encode(columns[1], columns[2])
        same = np.flatnonzero(winners == losers)
        if len(same) and self_pairs == "error":
            n = same[0]
            raise DataError(
                f"{where(rows[n])}: user {user_labels[users[n]]!r} compares {item_labels[winners[n]]!r} with itself"
                f"{_more(len(same))}. Drop such rows, or pass self_pairs=\"drop\"."
            )
        if len(same):
            return cls._without(same, users, winners, losers, weights, item_labels, user_labels, user_weight)
        return cls.from_codes(users, winners, losers, weights, item_labels, user_labels, _by_user(user_weight, user_labels))

    @classmethod
    def _without(cls, drop, users, winners, losers, weights, item_labels, user_labels, user_weight) -> "Comparisons":
        keep = np.ones(len(users), bool)
        keep[drop] = False
        return cls.from_arrays(
            user_labels[users[keep]],
            item_labels[winners[keep]],
            item_labels[losers[keep]],
            None if weights is None else weights[keep],
            user_weight=user_weight,
        )

    @classmethod
    def from_codes(
        cls,
        user: ArrayLike,
        winner: ArrayLike,
        loser: ArrayLike,
        weight: ArrayLike | None,
        items: Sequence[object] | Labels,
        users: Sequence[object] | Labels,
        user_weight: ArrayLike | None = None,
    ) -> "Comparisons":
        """From numbers that already point into `items` and `users`, whose order is kept as given."""
        items, users = as_labels(items), as_labels(users)
        Q = len(items)
        key = (np.asarray(user, np.int64) * Q + np.asarray(winner)) * Q + np.asarray(loser)
        key, merged = _merge(key, None if weight is None else np.asarray(weight, np.float64))
        pair = key % (Q * Q)
        people = np.ones(len(users)) if user_weight is None else np.array(user_weight, np.float64)
        if people.shape != (len(users),) or not np.all(np.isfinite(people) & (people >= 0)):
            raise DataError(f"user_weight must hold {len(users)} finite numbers of at least 0, one a user.")
        return cls(
            (key // (Q * Q)).astype(np.int32),
            (pair // Q).astype(np.int32),
            (pair % Q).astype(np.int32),
            merged,
            items,
            users,
            people,
        )

    @property
    def n_items(self) -> int:
        """Q, the number of items."""
        return len(self.items)

    @property
    def n_users(self) -> int:
        """M, the number of people."""
        return len(self.users)

    @property
    def n_comparisons(self) -> float:
        """The number of comparisons: the sum of the weights."""
        return float(self.weight.sum())

    @property
    def pair(self) -> NDArray[np.int64]:
        """The code of each row's ordered pair, winner · Q + loser."""
        return self.winner.astype(np.int64) * self.n_items + self.loser

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Comparisons({self.n_comparisons:g} comparisons of {self.n_items} items by {self.n_users} users)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comparisons) and self.fingerprint() == other.fingerprint()

    __hash__ = None  # type: ignore[assignment]

    def per_user(self) -> NDArray[np.float64]:
        """n_m, the number of comparisons of each user."""
        return np.bincount(self.user, self.weight, self.n_users)

    def starts(self) -> NDArray[np.int64]:
        """Where each user's rows start, and where the last one's end: rows of user m are starts[m]:starts[m+1]."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1)).astype(np.int64)

    def of(self, *names: object) -> "Comparisons":
        """The comparisons of the named users alone, over the same items."""
        position = {text: m for m, text in enumerate(text_of(self.users))}
        unknown = [name for name in names if str(name) not in position]
        if unknown:
            raise DataError(f"There is no user {unknown[0]!r} among the {self.n_users} users.")
        return self.take_users([position[str(name)] for name in names])

    def take_users(self, numbers: Iterable[int] | NDArray[Any]) -> "Comparisons":
        """The comparisons of the users with these numbers, in that order, over the same items."""
        chosen = np.asarray(list(numbers) if not isinstance(numbers, np.ndarray) else numbers)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        new_number = np.full(self.n_users, -1, np.int64)
        new_number[chosen] = np.arange(len(chosen))
        rows = new_number[self.user] >= 0
        return Comparisons.from_codes(
            new_number[self.user[rows]],
            self.winner[rows],
            self.loser[rows],
            self.weight[rows],
            self.items,
            self.users[chosen],
            self.user_weight[chosen],
        )

    def with_items(self, items: Sequence[object] | Labels, *, unknown_items: Literal["error", "drop"] = "error") -> "Comparisons":
        """The same comparisons over another list of items (a model's, say), matched by text."""
        check_choice("unknown_items", unknown_items, ("error", "drop"))
        position = {text: i for i, text in enumerate(text_of(items))}
        number = np.array([position.get(text, -1) for text in text_of(self.items)], np.int64)
        unknown = [label for label, i in zip(self.items, number, strict=True) if i < 0]
        if unknown and unknown_items == "error":
            shown = ", ".join(map(repr, unknown[:5])) + (", …" if len(unknown) > 5 else "")
            raise DataError(
                f"{len(unknown)} of the {self.n_items} items are unknown: {shown}. "
                'Leave their comparisons out with unknown_items="drop", or fit a model that knows them.'
            )
        keep = (number[self.winner] >= 0) & (number[self.loser] >= 0)
        return Comparisons.from_codes(
            self.user[keep], number[self.winner[keep]], number[self.loser[keep]], self.weight[keep], items, self.users, self.user_weight
        )

    def to_arrow(self) -> pa.Table:
        """A table `user, winner, loser, weight` with the labels."""
        def named(labels: Labels, codes: NDArray[np.int32]) -> pa.Array:
            return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels.tolist())).cast(pa.array(labels.tolist()).type)

        columns = {
            "user": named(self.users, self.user),
            "winner": named(self.items, self.winner),
            "loser": named(self.items, self.loser),
            "weight": pa.array(self.weight),
        }
        return pa.table(columns)

    def fingerprint(self) -> str:
        """A digest of the choices, the same for any order of the same rows."""
        digest = hashlib.sha256()
        for labels in (self.items, self.users):
            digest.update("\x1f".join(text_of(labels)).encode() + b"\x1e")
        for array in (self.user, self.winner, self.loser, self.weight, self.user_weight):
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()[:32]


def _merge(key: NDArray[np.int64], weight: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort the row keys and add up the weights of equal ones, in an order that does not depend on the input's."""
    if weight is None:
        key = np.sort(key)
    else:
        order = np.lexsort((weight, key))
        key, weight = key[order], weight[order]
        key, weight = key[weight > 0], weight[weight > 0]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, np.int64)
    if weight is None:
        return key[first], np.diff(np.r_[first, len(key)]).astype(np.float64)
    return key[first], np.add.reduceat(weight, first) if len(key) else weight


def _present(columns: list[pa.ChunkedArray], missing: str, where: Any) -> NDArray[np.bool_] | None:
    """Which rows have all their labels; None where all do. An empty text counts as missing."""
    keep = np.ones(len(columns[0]), bool)
    for name, column in zip(("user", "winner", "loser"), columns, strict=True):
        gone = column.is_null(nan_is_null=True).to_numpy()
        if pa.types.is_string(column.type):
            gone = gone | (pa.compute.equal(column, "").fill_null(True).to_numpy())
        if gone.any() and missing == "error":
            raise DataError(
                f"{where(np.flatnonzero(gone)[0])}: the {name} is missing{_more(np.count_nonzero(gone))}. "
                'Fill such rows in, or pass missing="drop".'
            )
        keep &= ~gone
    return None if keep.all() else keep


def _checked_weights(weight: Any, n_rows: int, keep: NDArray[np.bool_] | None, missing: str, where: Any) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    try:
        weights = np.asarray(weight, np.float64)
    except (TypeError, ValueError):
        raise DataError("The weights are not all numbers: give how often each comparison was made.") from None
    if weights.shape != (n_rows,):
        raise DataError(f"There are {weights.size} weights for {n_rows} comparisons; there must be one each.")
    used = np.ones(n_rows, bool) if keep is None else keep
    for bad, what in ((~np.isfinite(weights), "is not a finite number"), (weights < 0, "is negative")):
        rows = np.flatnonzero(bad & used)
        if len(rows):
            raise DataError(f"{where(rows[0])}: the weight {weights[rows[0]]:g} {what}{_more(len(rows))}. Weights are counts of at least 0.")
    return weights


def _by_user(user_weight: Mapping[Any, float] | None, users: Labels) -> NDArray[np.float64] | None:
    if user_weight is None:
        return None
    by_text = {str(name): weight for name, weight in user_weight.items()}
    lacking = [text for text in text_of(users) if text not in by_text]
    if lacking:
        raise DataError(f"user_weight has no entry for user {lacking[0]!r}{_more(len(lacking))}.")
    return np.array([by_text[text] for text in text_of(users)], np.float64)


def _more(count: int) -> str:
    return f" (and {count - 1:,} more like it)" if count > 1 else ""
