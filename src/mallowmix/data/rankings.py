"""Rankings: many people's orders of things, full or partial, with ties. The form that readers of rankings end in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_column, as_labels, check_distinct, encode, text_of
from mallowmix.data.ranking_entries import (
    check_entries,
    normal_form,
    ordered_pairs,
    sorted_entries,
    with_the_rest,
)
from mallowmix.errors import DataError, Option, check_choice

Ties: TypeAlias = Literal["drop", "half", "error"]
Unlisted: TypeAlias = Literal["unknown", "below"]


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings as arrays: entries `starts[n]:starts[n+1]` of `item` are what ranking n lists, best first, `place` says where.

    Places count from 0 without gaps; equal places are a tie. An item that is not listed is not ranked: nothing is said about it.
    (A top-k list, whose other items are *below* those listed, ends in one tie of all the others: `unlisted="below"` adds it.)
    Rankings are held in a normal form, sorted by user and content with equal ones of a user merged into `weight`, so that the
    order of the input never matters. Labels are numbered in the order of their text. `user_weight` scales a person's part in
    learning, as in `Comparisons`; voters who are known by their number alone (PrefLib) are one user with that weight.

    Make one with `Rankings.from_orders(...)` or `Rankings.from_arrays(...)`.
    """

    user: NDArray[np.int32]  # (N,) who gave each ranking
    weight: NDArray[np.float64]  # (N,) how often
    starts: NDArray[np.int64]  # (N + 1,)
    item: NDArray[np.int32]  # (entries,)
    place: NDArray[np.int32]  # (entries,)
    items: Labels
    users: Labels
    user_weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)

    @classmethod
    def from_orders(
        cls,
        orders: Iterable[Sequence[object]],
        users: Sequence[object] | None = None,
        weight: ArrayLike | None = None,
        *,
        items: Sequence[object] | None = None,
        user_weight: ArrayLike | None = None,
        unlisted: Unlisted = "unknown",
    ) -> "Rankings":
        """From lists of labels, best first; a list, tuple or set within a list is a tie: `["tea", ["milk", "juice"], "water"]`.

        users : who gave each; without it everyone gave one, and they are called 1, 2, …
        items : all items, where some may be listed by nobody
        user_weight : one number for each user, in the order of the text of their labels
        unlisted : "unknown", or "below" for top-k lists: who is not listed is below all who are
        """
        flat = _flattened(orders)
        users = list(range(1, flat.count + 1)) if users is None else users
        if len(users) != flat.count:
            raise DataError(
                f"There are {len(users)} users for {flat.count} rankings; name one for each."
            )
        columns = [
            as_column(flat.labels, "item"),
            as_column([] if items is None else list(items), "item"),
        ]
        codes, labels = encode(*(columns if items is not None else columns[:1]))
        (user,), names = encode(as_column(users, "user"))
        return cls.from_codes(
            user,
            flat.ranking,
            codes[0],
            flat.place,
            labels,
            names,
            weight,
            user_weight=user_weight,
            unlisted=unlisted,
        )

    @classmethod
    def from_arrays(
        cls,
        user: Any,
        item: Any,
        place: ArrayLike,
        *,
        ranking: Any = None,
        weight: ArrayLike | None = None,
        unlisted: Unlisted = "unknown",
    ) -> "Rankings":
        """From a long table, a row for each item that a ranking lists: who, what, and its place (any number; less is better).

        ranking : which of a person's rankings a row belongs to, where they gave several
        weight : how often the ranking of this row was given, the same in all of its rows
        """
        (who,), users = encode(as_column(user, "user"))
        (what,), items = encode(as_column(item, "item"))
        which = (
            who
            if ranking is None
            else np.stack([who, encode(as_column(ranking, "ranking"))[0][0]], axis=1)
        )
        _, first, number = np.unique(which, axis=0, return_index=True, return_inverse=True)
        weights = None if weight is None else np.asarray(weight, np.float64)[first]
        return cls.from_codes(
            who[first], number.reshape(-1), what, place, items, users, weights, unlisted=unlisted
        )

    @classmethod
    def from_codes(
        cls,
        user: ArrayLike,
        ranking: ArrayLike,
        item: ArrayLike,
        place: ArrayLike,
        items: Sequence[object] | Labels,
        users: Sequence[object] | Labels,
        weight: ArrayLike | None = None,
        *,
        user_weight: ArrayLike | None = None,
        unlisted: Unlisted = "unknown",
    ) -> "Rankings":
        """From numbers: `user[n]` of ranking n; `ranking`, `item` and `place` of each entry, in any order."""
        check_choice("unlisted", unlisted, ("unknown", "below"))
        items, users, who = as_labels(items), as_labels(users), np.asarray(user, np.int64)
        check_distinct(items, "item")
        entries = sorted_entries(
            np.asarray(ranking, np.int64), np.asarray(item, np.int64), np.asarray(place), len(who)
        )
        check_entries(entries, who, items, users)
        if unlisted == "below":
            entries = with_the_rest(entries, len(items))
        weights = _numbers("weight", weight, len(who))
        return cls(
            *normal_form(who, weights, *entries),
            items,
            users,
            _numbers("user_weight", user_weight, len(users)),
        )

    @classmethod
    def from_sigma(
        cls,
        sigma: ArrayLike,
        items: Sequence[object] | Labels | None = None,
        users: Sequence[object] | Labels | None = None,
    ) -> "Rankings":
        """From full rankings as positions, (N, Q): `sigma[n, i]` is the place of item i. Labels are numbers if not given."""
        places = np.asarray(sigma)
        N, Q = places.shape
        which, what = np.divmod(np.arange(N * Q), Q)
        names = list(range(Q)) if items is None else items
        return cls.from_codes(
            np.arange(N),
            which,
            what,
            places.ravel(),
            names,
            list(range(N)) if users is None else users,
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
    def is_full(self) -> bool:
        """Whether every ranking puts all items in order, without ties."""
        return bool(np.all(self.lengths == self.n_items)) and not self.has_ties

    @property
    def has_ties(self) -> bool:
        """Whether any two items share a place."""
        return bool(np.any((self.place[1:] == self.place[:-1]) & (np.diff(self.ranking) == 0)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many items each ranking lists."""
        return np.diff(self.starts)

    @property
    def ranking(self) -> NDArray[np.int64]:
        """(entries,) which ranking each entry belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        kind = "full" if self.is_full else "partial"
        return f"Rankings({self.weight.sum():,.12g} {kind} rankings of {self.n_items} items by {self.n_users} users)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rankings):
            return False
        labels = all(
            text_of(getattr(self, name)) == text_of(getattr(other, name))
            for name in ("items", "users")
        )
        arrays = ("user", "weight", "starts", "item", "place", "user_weight")
        return labels and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays
        )

    __hash__ = None  # type: ignore[assignment]

    def positions(self) -> NDArray[np.int32]:
        """(N, Q) the place of each item, −1 where it is not listed."""
        places = np.full((len(self), self.n_items), -1, np.int32)
        places[self.ranking, self.item] = self.place
        return places

    def take_users(self, numbers: Iterable[int] | NDArray[Any]) -> "Rankings":
        """The rankings of the users with these numbers, in that order, over the same items."""
        chosen = np.asarray(list(numbers), np.int64)
        new_number = np.full(self.n_users, -1, np.int64)
        new_number[chosen] = np.arange(len(chosen))
        keep = new_number[self.user] >= 0
        renumbered = np.cumsum(keep) - 1
        rows = keep[self.ranking]
        return Rankings.from_codes(
            new_number[self.user[keep]],
            renumbered[self.ranking[rows]],
            self.item[rows],
            self.place[rows],
            self.items,
            self.users[chosen],
            self.weight[keep],
            user_weight=self.user_weight[chosen],
        )

    def comparisons(self, ties: Ties = "drop") -> Comparisons:
        """Every pair that a ranking orders, as a comparison of its person. They are not independent: a ranking of 10 gives 45.

        ties : "drop" says nothing about a tied pair, "half" counts it as half a win for each side, "error" refuses
        """
        check_choice("ties", ties, ("drop", "half", "error"))
        if ties == "error" and self.has_ties:
            raise DataError(
                "Some rankings have ties. Pass ",
                Option("ties", "drop"),
                " or ",
                Option("ties", "half"),
                " to turn them into comparisons.",
            )
        ranking, winner, loser, share = ordered_pairs(
            self.starts, self.item, self.place, ties == "half"
        )
        weight = share * self.weight[ranking]
        return Comparisons.from_codes(
            self.user[ranking], winner, loser, weight, self.items, self.users, self.user_weight
        )


@dataclass
class _Flat:
    ranking: list[int]
    labels: list[object]
    place: list[int]
    count: int


def _flattened(orders: Iterable[Sequence[object]]) -> _Flat:
    flat = _Flat([], [], [], 0)
    for number, order in enumerate(orders):
        if isinstance(order, str | bytes):
            raise DataError(
                f"Ranking {number + 1} is the text {order!r}; give a list of items, best first."
            )
        for place, group in enumerate(order):
            tied = list(group) if isinstance(group, list | tuple | set | frozenset) else [group]
            flat.ranking += [number] * len(tied)
            flat.labels += tied
            flat.place += [place] * len(tied)
        flat.count = number + 1
    if not flat.labels:
        raise DataError("There are no rankings: give at least one list of items, best first.")
    return flat


def _numbers(name: str, values: ArrayLike | None, count: int) -> NDArray[np.float64]:
    numbers = np.ones(count) if values is None else np.array(values, np.float64)
    if numbers.shape != (count,) or not np.all(np.isfinite(numbers) & (numbers >= 0)):
        raise DataError(Option(name), f" must hold {count} finite numbers of at least 0, one each.")
    return numbers
