"""Comparisons: who preferred what to what, how often. The form that every reader ends in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.coded_rows import check_row_codes, checked_codes, chosen_users
from mallowmix.data.comparison_arrays import ComparisonArrays
from mallowmix.data.labels import Labels, as_labels, check_distinct, encode_groups, text_of
from mallowmix.data.ranking_ids import checked_ids, merged_ranked_rows, ranking_codes
from mallowmix.data.row_checks import Policy, Where, checked_columns
from mallowmix.data.user_weight import checked_user_weight, weights_in_order
from mallowmix.errors import DataError, Option, check_choice, did_you_mean


class Comparisons(ComparisonArrays):
    """Comparisons of many users: `user[n]` preferred `winner[n]` to `loser[n]` `weight[n]` times.

    Make them with `Comparisons.from_arrays`, or from tables and files with `mallowmix.read`. Rows
    are held in a normal form, sorted by (user, winner, loser) with repeated rows merged into
    their `weight`: the order of the input never matters, and an integer weight *is* that many
    repeated rows. Labels are numbered in the order of their text.

    The comparisons of one ranking, or of one person's ratings, are not independent answers: rows
    of a user with the same `ranking_id` come from one of these. Its numbers are made anew for each
    `Comparisons` (they follow from the rows alone), so only which rows of a user share one matters.

    Parameters
    ----------
    user, winner, loser : (n,) arrays of int
        Numbers that point into `users` and `items`.
    weight : (n,) array of float
        How often each comparison was made.
    items : (Q,) labels
        The items, in the order of their numbers.
    users : (M,) labels
        The users, in the order of their numbers.
    user_weight : (M,) array of float
        How much each user counts in the moments and in learning; it never changes the posterior of
        their own weights.
    frame_kind : str, optional
        The kind of dataframe that the rows came from ("pandas", "polars"), for `to_frame`.
    ranking_id : (n,) array of int, optional
        Which of the user's rankings each row comes from; −1 for an answer of its own. None where
        every comparison is one.

    Examples
    --------
    >>> import mallowmix as mm
    >>> data = mm.Comparisons.from_arrays(
    ...     ["ann", "ann", "bob"], ["tea", "tea", "milk"], ["milk", "milk", "tea"]
    ... )
    >>> data
    Comparisons(3 comparisons of 2 items by 2 users)
    >>> data.weight.tolist()
    [2.0, 1.0]
    """

    @classmethod
    def from_arrays(
        cls,
        user: Any,
        winner: Any,
        loser: Any,
        weight: Any = None,
        *,
        user_weight: Mapping[Any, float] | None = None,
        ranking_id: Any = None,
        self_pairs: Policy = "error",
        missing: Policy = "error",
        where: Where | None = None,
    ) -> "Comparisons":
        """Comparisons from three columns of labels and, optionally, one of weights.

        Parameters
        ----------
        user, winner, loser : sequences of labels
            Lists, NumPy arrays, Arrow columns or columns of a dataframe; text or numbers.
        weight : sequence of float, optional
            How often each comparison was made; once unless given. A row of weight 0 is left out.
        user_weight : mapping from user to float, optional
            How much each user counts when a model is learnt; 1 unless given.
        ranking_id : sequence of labels, optional
            The same for comparisons of one user that come from one ranking or one set of ratings;
            empty for one that is an answer of its own, as each is unless given.
        self_pairs : {"error", "drop"}
            What to do with a row that compares an item with itself.
        missing : {"error", "drop"}
            What to do with a row that lacks a value.
        where : callable, optional
            Turns a row number into words for messages (readers pass "votes.csv line 812").

        Raises
        ------
        DataError
            If a row cannot be used and no option drops it, or if no row is left.
        """
        columns = checked_columns(
            user, winner, loser, weight, self_pairs=self_pairs, missing=missing, where=where
        )
        (codes, user_labels), ((winners, losers), item_labels) = encode_groups(
            [columns.user], [columns.winner, columns.loser]
        )
        weights = None if user_weight is None else weights_in_order(user_weight, user_labels)
        if ranking_id is not None:
            ranking_id = ranking_codes(ranking_id, columns.kept, columns.n_rows)
        return cls.from_codes(
            codes[0],
            winners,
            losers,
            columns.weight,
            item_labels,
            user_labels,
            weights,
            ranking_id=ranking_id,
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
        ranking_id: ArrayLike | None = None,
    ) -> "Comparisons":
        """Comparisons from numbers that point into `items` and `users`, whose order is kept.

        The parameters are those of the class, rows in any order; weights are 1 where they are None.
        """
        items, users = as_labels(items), as_labels(users)
        check_distinct(items, "item")
        Q = len(items)
        user = checked_codes("user", user, len(users))
        winner, loser = checked_codes("winner", winner, Q), checked_codes("loser", loser, Q)
        weight = None if weight is None else np.asarray(weight, np.float64)
        check_row_codes(user, winner, loser, weight)
        ids = checked_ids(ranking_id, len(user))
        key, merged, ids = merged_ranked_rows((user * Q + winner) * Q + loser, weight, ids, Q)
        user, pair = np.divmod(key, Q * Q)
        winner, loser = np.divmod(pair, Q)
        codes = user.astype(np.int32), winner.astype(np.int32), loser.astype(np.int32)
        weights = checked_user_weight(user_weight, users)
        return cls(*codes, merged, items, users, weights, frame_kind, ids)

    def of(self, *names: object) -> "Comparisons":
        """The comparisons of the users with these labels alone, in that order."""
        position = {text: m for m, text in enumerate(text_of(self.users))}
        unknown = [name for name in names if str(name) not in position]
        if unknown:
            raise DataError(
                f"There is no user {unknown[0]!r} among the {self.n_users} users: "
                f"{_shown(self.users)}.{did_you_mean(unknown[0], position)}"
            )
        return self.take_users([position[str(name)] for name in names])

    def take_users(self, numbers: Iterable[int] | NDArray[Any]) -> "Comparisons":
        """The comparisons of some users alone, over the same items.

        Parameters
        ----------
        numbers : iterable of int, or (M,) mask
            Numbers of users, each at most once, in the order wanted; or which users to keep.
        """
        chosen = chosen_users(numbers, self.n_users)
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
            self.frame_kind,
            None if self.ranking_id is None else self.ranking_id[rows],
        )

    def with_items(
        self, items: Sequence[object] | Labels, *, unknown_items: Policy = "error"
    ) -> "Comparisons":
        """The same comparisons over another list of items (those of a model, say), matched by text.

        Parameters
        ----------
        items : sequence of labels
            The new items, in the order wanted.
        unknown_items : {"error", "drop"}
            What to do with comparisons of an item that is not among them.
        """
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
            are = "is" if len(unknown) == 1 else "are"
            raise DataError(
                f"{len(unknown)} of the {self.n_items} items {are} unknown: {_shown(unknown)}."
                f"{did_you_mean(unknown[0], text_of(items))} Leave their comparisons out with ",
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
            None if self.ranking_id is None else self.ranking_id[keep],
        )

    def relabelled(self, items: Sequence[object] | Labels) -> "Comparisons":
        """The same comparisons, their items called otherwise.

        Parameters
        ----------
        items : sequence of labels
            A new label for each item, in their order; they are numbered anew, by their text.
        """
        by_text = sorted(range(len(items)), key=lambda n: str(items[n]))
        same = replace(self, items=as_labels(list(items)))
        check_distinct(same.items, "item")
        return same.with_items([items[n] for n in by_text])

    def with_weights(self, weight: NDArray[np.float64]) -> "Comparisons":
        """The same users with these weights of their rows; rows of weight 0 are left out."""
        keep = weight > 0
        rows = {name: getattr(self, name)[keep] for name in ("user", "winner", "loser")}
        taken = replace(self, **rows, weight=weight[keep], ranking_id=None)
        return taken if self.ranking_id is None else taken._ranked(self.ranking_id[keep])

    def without_ranking_id(self) -> "Comparisons":
        """The same comparisons, each as an answer of its own."""
        return self if self.ranking_id is None else self._ranked(None)

    def _ranked(self, ranking_id: NDArray[np.int32] | None) -> "Comparisons":
        """The same rows with these ids, in the normal form."""
        return Comparisons.from_codes(
            self.user,
            self.winner,
            self.loser,
            self.weight,
            self.items,
            self.users,
            self.user_weight,
            self.frame_kind,
            ranking_id,
        )


def _shown(labels: Labels) -> str:
    """The first five labels, for messages."""
    return ", ".join(map(repr, labels[:5].tolist())) + (", …" if len(labels) > 5 else "")
