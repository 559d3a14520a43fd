"""Comparisons as arrays, and what can be read off them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.frames import as_frame
from mallowmix.data.labels import Labels, text_of
from mallowmix.data.lazy_arrow import pa
from mallowmix.data.text import name_of, table_of

_SHOWN = 10  # rows in a notebook


@dataclass(frozen=True, eq=False)
class ComparisonArrays:
    """The arrays of `Comparisons` (described there), without the ways to make them."""

    user: NDArray[np.int32]
    winner: NDArray[np.int32]
    loser: NDArray[np.int32]
    weight: NDArray[np.float64]
    items: Labels
    users: Labels
    user_weight: NDArray[np.float64]
    frame_kind: str | None = None
    ranking_id: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    @property
    def n_items(self) -> int:
        """Q, the number of items."""
        return len(self.items)

    @property
    def n_users(self) -> int:
        """M, the number of users."""
        return len(self.users)

    @cached_property
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
        return (
            f"Comparisons({self.n_comparisons:,.12g} comparisons of {self.n_items} items "
            f"by {self.n_users} users)"
        )

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        rows = [
            (name_of(self.users[m]), name_of(self.items[i]), name_of(self.items[j]), f"{w:.12g}")
            for m, i, j, w in zip(
                *(each[:_SHOWN] for each in (self.user, self.winner, self.loser, self.weight)),
                strict=True,
            )
        ]
        more = f"; the first {_SHOWN} rows" if len(self.user) > _SHOWN else ""
        return table_of(("user", "winner", "loser", "weight"), rows, f"{self!r}{more}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComparisonArrays) and self.fingerprint() == other.fingerprint()

    __hash__ = None  # type: ignore[assignment]

    def per_user(self) -> NDArray[np.float64]:
        """(M,) the number of comparisons n_m of each user: the sum of their weights."""
        return sums_between(self.starts(), self.weight)

    def starts(self) -> NDArray[np.int64]:
        """(M + 1,) the bounds of each user's rows: those of user m are starts[m]:starts[m + 1]."""
        numbers = np.arange(self.n_users + 1, dtype=self.user.dtype)  # of another, rows are copied
        return np.searchsorted(self.user, numbers).astype(np.int64)

    def to_arrow(self) -> pa.Table:
        """An Arrow table `user, winner, loser, weight` with the labels, a row for each row here.

        With ranking ids it has a column `ranking_id`, empty for answers of their own.
        """
        items, users = pa.array(self.items.tolist()), pa.array(self.users.tolist())
        winner, loser = (items.take(pa.array(codes)) for codes in (self.winner, self.loser))
        user, weight = users.take(pa.array(self.user)), pa.array(self.weight)
        columns = {"user": user, "winner": winner, "loser": loser, "weight": weight}
        if self.ranking_id is not None:
            columns["ranking_id"] = pa.array(self.ranking_id, mask=self.ranking_id < 0)
        return pa.table(columns)

    def to_frame(self, like: Any = None) -> Any:
        """The table of `to_arrow` as another kind of dataframe.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind wanted; the kind that the comparisons came from unless given, else Arrow.
        """
        return as_frame(self.to_arrow(), self.frame_kind if like is None else like)

    def fingerprint(self) -> str:
        """A digest of the comparisons, the same for any order of the same rows."""
        digest = hashlib.sha256()
        for labels in (self.items, self.users):
            digest.update(json.dumps(text_of(labels)).encode())
        arrays = [self.user, self.winner, self.loser, self.weight, self.user_weight]
        for array in arrays if self.ranking_id is None else [*arrays, self.ranking_id]:
            # copied only where it must be
            digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
        return digest.hexdigest()[:32]


def sums_between(starts: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) the sums of values[starts[i]:starts[i + 1]], all values between the first and last."""
    sums, some = np.zeros(len(starts) - 1), starts[:-1] < starts[1:]
    if some.any():
        sums[some] = np.add.reduceat(values, starts[:-1][some])
    return sums
