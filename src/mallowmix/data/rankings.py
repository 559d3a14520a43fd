"""Rankings: the orders of items of many users, full or partial, with ties."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.coded_rows import chosen_users
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_column, as_labels, check_distinct, encode
from mallowmix.data.ranking_arrays import RankingArrays
from mallowmix.data.ranking_entries import (
    check_entries,
    normal_form,
    ordered_pairs,
    sorted_entries,
    with_unlisted,
)
from mallowmix.data.ranking_orders import flattened
from mallowmix.errors import DataError, Option, check_choice

Ties: TypeAlias = Literal["drop", "half", "error"]
Unlisted: TypeAlias = Literal["unknown", "below"]


class Rankings(RankingArrays):
    """Rankings of many users, full or partial, with ties.

    Make them with `Rankings.from_orders`, `Rankings.from_arrays` or `mallowmix.read_rankings`.
    Positions count from 0, the best, without gaps; equal positions are a tie. An item that is not
    listed is not ranked: nothing is said about it. (A top-k list, whose other items are *below*
    those listed, ends in one tie of all the others: ``unlisted="below"`` adds it.) Rankings are
    held in a normal form, sorted by user and content with equal ones of a user merged into
    `weight`, so that the order of the input never matters. Labels are numbered in the order of
    their text.

    Parameters
    ----------
    user : (N,) array of int
        Who gave each ranking.
    weight : (N,) array of float
        How often each was given.
    starts : (N + 1,) array of int
        Entries starts[n]:starts[n + 1] are those of ranking n, best first.
    item, position : (entries,) arrays of int
        The item of each entry, and its position in its ranking.
    items, users : labels
        In the order of their numbers.
    user_weight : (M,) array of float
        How much each user counts in learning, as in `Comparisons`; voters who are known by their
        number alone (PrefLib) are one user with that weight.

    Examples
    --------
    >>> import mallowmix as mm
    >>> orders = [["tea", ["milk", "juice"]], ["milk", "tea"]]
    >>> data = mm.Rankings.from_orders(orders, ["ann", "bob"])
    >>> data
    Rankings(2 partial rankings of 3 items by 2 users)
    >>> data.comparisons()
    Comparisons(3 comparisons of 3 items by 2 users)
    """

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
        """Rankings from lists of labels, best first.

        Parameters
        ----------
        orders : iterable of sequences of labels
            A list, tuple or set within a list is a tie: ``["tea", ["milk", "juice"], "water"]``.
        users : sequence of labels, optional
            Who gave each ranking; a user each, called 1, 2, …, unless given.
        weight : (N,) array, optional
            How often each ranking was given; once unless given.
        items : sequence of labels, optional
            All items, where some may be listed by no ranking.
        user_weight : (M,) array, optional
            How much each user counts in learning, in the order of the text of their labels.
        unlisted : {"unknown", "below"}
            "below" is for top-k lists: items that are not listed are below all that are.
        """
        flat = flattened(orders)
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
            flat.position,
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
        position: ArrayLike,
        *,
        ranking: Any = None,
        weight: ArrayLike | None = None,
        unlisted: Unlisted = "unknown",
    ) -> "Rankings":
        """Rankings from a long table, a row for each item that a ranking lists.

        Parameters
        ----------
        user, item : sequences of labels
            Whose ranking it is, and the item.
        position : sequence of numbers
            Its position in the ranking: any numbers, less is better, equal ones are a tie.
        ranking : sequence, optional
            Which of a user's rankings a row belongs to, where they gave several.
        weight : sequence of float, optional
            How often the ranking of this row was given, the same in all of its rows.
        unlisted : {"unknown", "below"}
            As in `from_orders`.
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
            who[first], number.reshape(-1), what, position, items, users, weights, unlisted=unlisted
        )

    @classmethod
    def from_codes(
        cls,
        user: ArrayLike,
        ranking: ArrayLike,
        item: ArrayLike,
        position: ArrayLike,
        items: Sequence[object] | Labels,
        users: Sequence[object] | Labels,
        weight: ArrayLike | None = None,
        *,
        user_weight: ArrayLike | None = None,
        unlisted: Unlisted = "unknown",
    ) -> "Rankings":
        """Rankings from numbers: `user[n]` of ranking n; the rest of each entry, in any order."""
        check_choice("unlisted", unlisted, ("unknown", "below"))
        items, users, who = as_labels(items), as_labels(users), np.asarray(user, np.int64)
        check_distinct(items, "item")
        entries = sorted_entries(
            np.asarray(ranking, np.int64),
            np.asarray(item, np.int64),
            np.asarray(position),
            len(who),
        )
        check_entries(entries, who, items, users)
        if unlisted == "below":
            entries = with_unlisted(entries, len(items))
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
        """Rankings from (N, Q) positions of all items; labels are numbers unless given."""
        positions = np.asarray(sigma)
        N, Q = positions.shape
        which, what = np.divmod(np.arange(N * Q), Q)
        names = list(range(Q)) if items is None else items
        return cls.from_codes(
            np.arange(N),
            which,
            what,
            positions.ravel(),
            names,
            list(range(N)) if users is None else users,
        )

    def take_users(self, numbers: Iterable[int] | NDArray[Any]) -> "Rankings":
        """The rankings of some users alone, over the same items.

        Parameters
        ----------
        numbers : iterable of int, or (M,) mask
            Numbers of users, each at most once, in the order wanted; or which users to keep.
        """
        chosen = chosen_users(numbers, self.n_users)
        new_number = np.full(self.n_users, -1, np.int64)
        new_number[chosen] = np.arange(len(chosen))
        keep = new_number[self.user] >= 0
        renumbered = np.cumsum(keep) - 1
        rows = keep[self.ranking]
        return Rankings.from_codes(
            new_number[self.user[keep]],
            renumbered[self.ranking[rows]],
            self.item[rows],
            self.position[rows],
            self.items,
            self.users[chosen],
            self.weight[keep],
            user_weight=self.user_weight[chosen],
        )

    def comparisons(self, ties: Ties = "drop") -> Comparisons:
        """Every pair that a ranking orders, as a comparison of its user.

        They are not independent: a ranking of 10 items gives 45, which share a `ranking_id`.

        Parameters
        ----------
        ties : {"drop", "half", "error"}
            "drop" leaves tied pairs out, "half" counts them as half a win for each side.
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
            self.starts, self.item, self.position, ties == "half"
        )
        weight = share * self.weight[ranking]
        return Comparisons.from_codes(
            self.user[ranking],
            winner,
            loser,
            weight,
            self.items,
            self.users,
            self.user_weight,
            ranking_id=ranking,
        )


def _numbers(name: str, values: ArrayLike | None, count: int) -> NDArray[np.float64]:
    numbers = np.ones(count) if values is None else np.array(values, np.float64)
    if numbers.shape != (count,) or not np.all(np.isfinite(numbers) & (numbers >= 0)):
        raise DataError(Option(name), f" must hold {count} finite numbers of at least 0, one each.")
    return numbers
