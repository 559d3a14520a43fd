"""Comparisons: who preferred what to what, how often. The one form that every reader ends in and every function starts from."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.frames import as_frame
from mallowmix.data.labels import Labels, as_labels, check_distinct, encode_groups, text_of
from mallowmix.data.row_checks import Policy, Where, checked_columns
from mallowmix.errors import DataError, Option, check_choice


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairwise choices of many people, as arrays: row n says that `user[n]` put `winner[n]` over `loser[n]`, `weight[n]` times.

    Rows are held in a normal form, sorted by (user, winner, loser) with repeated rows merged into their `weight`, so that the
    order of the input never matters and an integer weight *is* that many repeated rows. Labels are numbered in the order of
    their text. `user_weight` is a separate thing: it scales a person's part in moments and in learning, never their own
    posterior.

    Make one with `Comparisons.from_arrays(...)`, or from tables and files with `mallowmix.read_comparisons(...)`.
    """

    user: NDArray[np.int32]
    winner: NDArray[np.int32]
    loser: NDArray[np.int32]
    weight: NDArray[np.float64]
    items: Labels
    users: Labels
    user_weight: NDArray[np.float64]
    frame_kind: str | None = None

    def __post_init__(self) -> None:
        for array in (
            self.user,
            self.winner,
            self.loser,
            self.weight,
            self.items,
            self.users,
            self.user_weight,
        ):
            array.setflags(write=False)

    @classmethod
    def from_arrays(
        cls,
        user: Any,
        winner: Any,
        loser: Any,
        weight: Any = None,
        *,
        user_weight: Mapping[Any, float] | None = None,
        self_pairs: Policy = "error",
        missing: Policy = "error",
        where: Where | None = None,
    ) -> "Comparisons":
        """From three columns of labels (lists, arrays, Arrow columns) and, optionally, one of weights.

        `self_pairs` and `missing` say what to do with a row that compares a thing with itself or lacks a value. A row of weight 0
        is no row. `user_weight` gives every user a number; `where` turns a row number into words for messages (readers pass
        "votes.csv line 812").
        """
        columns = checked_columns(
            user, winner, loser, weight, self_pairs=self_pairs, missing=missing, where=where
        )
        (codes, user_labels), ((winners, losers), item_labels) = encode_groups(
            [columns.user], [columns.winner, columns.loser]
        )
        people = None if user_weight is None else _by_user(user_weight, user_labels)
        return cls.from_codes(
            codes[0], winners, losers, columns.weight, item_labels, user_labels, people
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
        frame_kind: str | None = None,
    ) -> "Comparisons":
        """From numbers that already point into `items` and `users`, whose order is kept as given."""
        items, users = as_labels(items), as_labels(users)
        check_distinct(items, "item")
        Q = len(items)
        user, winner, loser = (
            _codes("user", user, len(users)),
            _codes("winner", winner, Q),
            _codes("loser", loser, Q),
        )
        weight = None if weight is None else np.asarray(weight, np.float64)
        _check_rows(user, winner, loser, weight)
        key, merged = _merge((user * Q + winner) * Q + loser, weight)
        user, pair = np.divmod(key, Q * Q)
        winner, loser = np.divmod(pair, Q)
        user, winner, loser = user.astype(np.int32), winner.astype(np.int32), loser.astype(np.int32)
        weights = _checked_user_weight(user_weight, users)
        return cls(user, winner, loser, merged, items, users, weights, frame_kind)

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
        return f"Comparisons({self.n_comparisons:,.12g} comparisons of {self.n_items} items by {self.n_users} users)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comparisons) and self.fingerprint() == other.fingerprint()

    __hash__ = None  # type: ignore[assignment]

    def per_user(self) -> NDArray[np.float64]:
        """n_m, the number of comparisons of each user."""
        return np.bincount(self.user, self.weight, self.n_users).astype(np.float64)

    def starts(self) -> NDArray[np.int64]:
        """Where each user's rows start, and where the last one's end: rows of user m are starts[m]:starts[m+1]."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1)).astype(np.int64)

    def of(self, *names: object) -> "Comparisons":
        """The comparisons of the named users alone, in that order, over the same items."""
        position = {text: m for m, text in enumerate(text_of(self.users))}
        unknown = [name for name in names if str(name) not in position]
        if unknown:
            raise DataError(
                f"There is no user {unknown[0]!r} among the {self.n_users} users: {_shown(self.users)}."
            )
        return self.take_users([position[str(name)] for name in names])

    def take_users(self, numbers: Iterable[int] | NDArray[Any]) -> "Comparisons":
        """The comparisons of the users with these numbers (or where a mask is true), in that order, over the same items."""
        chosen = _chosen(numbers, self.n_users)
        new_number = np.full(self.n_users, -1, np.int64)
        new_number[chosen] = np.arange(len(chosen))
        if np.count_nonzero(new_number >= 0) < len(chosen):
            raise DataError(
                "A user is named twice; give each once, and how much each counts with ",
                Option("user_weight"),
                ".",
            )
        rows = new_number[self.user] >= 0
        return Comparisons.from_codes(
            new_number[self.user[rows]],
            self.winner[rows],
            self.loser[rows],
            self.weight[rows],
            self.items,
            self.users[chosen],
            self.user_weight[chosen],
            self.frame_kind,
        )

    def with_items(
        self, items: Sequence[object] | Labels, *, unknown_items: Policy = "error"
    ) -> "Comparisons":
        """The same comparisons over another list of items (a model's, say), matched by text."""
        check_choice("unknown_items", unknown_items, ("error", "drop"))
        if text_of(items) == text_of(self.items):
            return replace(self, items=as_labels(items))
        position = {text: i for i, text in enumerate(text_of(items))}
        number = np.array([position.get(text, -1) for text in text_of(self.items)], np.int64)
        winner, loser = number[self.winner], number[self.loser]
        keep = (winner >= 0) & (loser >= 0)
        if unknown_items == "error" and not keep.all():
            compared = np.union1d(self.winner, self.loser)
            unknown = self.items[compared[number[compared] < 0]]
            raise DataError(
                f"{len(unknown)} of the {self.n_items} items are unknown: {_shown(unknown)}. "
                "Leave their comparisons out with ",
                Option("unknown_items", "drop"),
                ", or fit a model that knows them.",
            )
        return Comparisons.from_codes(
            self.user[keep],
            winner[keep],
            loser[keep],
            self.weight[keep],
            items,
            self.users,
            self.user_weight,
            self.frame_kind,
        )

    def to_arrow(self) -> pa.Table:
        """A table `user, winner, loser, weight` with the labels: all but `user_weight` and what was never compared."""
        items, users = pa.array(self.items.tolist()), pa.array(self.users.tolist())
        columns = {
            "user": users.take(pa.array(self.user)),
            "winner": items.take(pa.array(self.winner)),
            "loser": items.take(pa.array(self.loser)),
            "weight": pa.array(self.weight),
        }
        return pa.table(columns)

    def to_frame(self, like: Any = None) -> Any:
        """`to_arrow` in the caller's kind of table: the kind it came from, or that `like` names ("pandas", "polars") or is."""
        return as_frame(self.to_arrow(), self.frame_kind if like is None else like)

    def fingerprint(self) -> str:
        """A digest of the choices, the same for any order of the same rows."""
        digest = hashlib.sha256()
        for labels in (self.items, self.users):
            digest.update(json.dumps(text_of(labels)).encode())
        for array in (self.user, self.winner, self.loser, self.weight, self.user_weight):
            # copied only where it must be
            digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
        return digest.hexdigest()[:32]


def _merge(
    key: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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


def _codes(name: str, values: ArrayLike, count: int) -> NDArray[np.int64]:
    """Numbers of users or items, each from 0 to count − 1."""
    codes = np.asarray(values, np.int64)
    if len(codes) and not 0 <= codes.min() <= codes.max() < count:
        wrong = codes[(codes < 0) | (codes >= count)][0]
        raise DataError(
            f"The {name} number {wrong} points to no label; there are {count}, numbered from 0."
        )
    return codes


def _check_rows(
    user: NDArray[Any], winner: NDArray[Any], loser: NDArray[Any], weight: NDArray[Any] | None
) -> None:
    lengths = [len(column) for column in (user, winner, loser, weight) if column is not None]
    if len(set(lengths)) > 1:
        raise DataError(
            f"user, winner, loser and weight have {', '.join(map(str, lengths))} rows; they must be equally long."
        )
    if np.any(winner == loser):
        raise DataError(
            f"Row {np.argmax(winner == loser) + 1} compares a thing with itself. Drop such rows."
        )
    if weight is not None and not np.all(np.isfinite(weight) & (weight >= 0)):
        raise DataError(
            "A weight is negative or not a finite number. Weights are counts of at least 0."
        )


def _chosen(numbers: Iterable[int] | NDArray[Any], count: int) -> NDArray[np.int64]:
    chosen = numbers if isinstance(numbers, np.ndarray) else np.array(list(numbers))
    if chosen.dtype != bool:
        return _codes("user", chosen, count)
    if len(chosen) != count:
        raise DataError(
            f"The mask has {len(chosen)} entries for {count} users; there must be one each."
        )
    return np.flatnonzero(chosen)


def _by_user(user_weight: Mapping[Any, float], users: Labels) -> list[float]:
    if not isinstance(user_weight, Mapping):
        raise DataError(
            Option("user_weight"),
            f" is a {type(user_weight).__name__}; give a mapping from each user to a number.",
        )
    by_text = {str(name): weight for name, weight in user_weight.items()}
    lacking = [text for text in text_of(users) if text not in by_text]
    if lacking:
        others = f" (and {len(lacking) - 1:,} more like it)" if len(lacking) > 1 else ""
        raise DataError(
            Option("user_weight"),
            f" has no entry for user {lacking[0]!r}{others}. "
            "Give every user a number, 1 for the usual.",
        )
    return [by_text[text] for text in text_of(users)]


def _checked_user_weight(user_weight: ArrayLike | None, users: Labels) -> NDArray[np.float64]:
    try:
        weights = np.ones(len(users)) if user_weight is None else np.array(user_weight, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            Option("user_weight"),
            " holds something that is not a number. Give every user a finite number of at least 0.",
        ) from None
    if weights.shape != users.shape:
        raise DataError(
            Option("user_weight"),
            f" has the shape {weights.shape} for {len(users)} users; there must be one number each.",
        )
    for m in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[:1]:
        raise DataError(
            Option("user_weight"),
            f" of user {users.tolist()[m]!r} is {weights[m]:g}; "
            "it must be a finite number of at least 0.",
        )
    return weights


def _shown(labels: Labels) -> str:
    """The first five labels, for messages."""
    return ", ".join(map(repr, labels[:5].tolist())) + (", …" if len(labels) > 5 else "")
