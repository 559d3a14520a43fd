"""Comparisons on disk: rows sorted by user and pair, two to five bytes each, read block by block.

A folder holds `about.json` (sizes, items, what it was made from), `users.parquet` (labels by
number) and flat arrays: `starts` (int64, where each user's rows start), `pair` (winner · Q + loser
in 16 or 32 bits), `weight` (a byte, 0 where the weight is not a whole number up to 255),
`other_rows` and `other_weights` (those rows and their weights), `pairs` (how often each pair was
seen), and `ranking_id` (int32) where some rows come from rankings.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.atomic_write import replacing
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels, text_of
from mallowmix.data.lazy_arrow import LazyModule
from mallowmix.engine.blocks import Block, block_edges
from mallowmix.engine.out_of_core.flat_arrays import (
    mapped_array,
    pair_type,
    read_array,
    read_weights,
)
from mallowmix.errors import DataError, FileError

_parquet: Any = LazyModule("mallowmix.readers.parquet_batches")
FORMAT = 1
_CHUNK = 1 << 22


@dataclass(frozen=True)
class BlockOnDisk:
    """A block whose rows are on disk; `load` reads them."""

    folder: str
    first_user: int
    n_users: int
    n_items: int
    ranked: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether it must be read before a step can take it."""
        return True

    @property
    def user_weight(self) -> NDArray[np.float64]:
        """(M,) ones: each user counts once."""
        return np.ones(self.n_users)

    def load(self) -> Block:
        """The block in memory."""
        starts = read_array(
            self.folder, "starts", self.first_user, self.first_user + self.n_users + 1
        )
        first, last = int(starts[0]), int(starts[-1])
        pair = read_array(self.folder, "pair", first, last, pair_type(self.n_items)).astype(
            np.int32
        )
        weight = read_weights(self.folder, first, last)
        ids = read_array(self.folder, "ranking_id", first, last) if self.ranked else None
        return Block(
            self.first_user, self.n_items, starts - first, pair, weight, self.user_weight, ids
        )


class StoredComparisons:
    """Comparisons that stay on disk, for `fit` and functions of a fitted model.

    Parameters
    ----------
    folder : str or Path
        Made by `store_comparisons`.

    Raises
    ------
    FileError
        Where it is no such folder.
    """

    frame_kind: str | None = None  # stored comparisons came from files

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        about = read_about(self.folder)
        self.n_users, self.n_rows, self.n_comparisons = (
            about["n_users"],
            about["n_rows"],
            about["n_comparisons"],
        )
        self.items: Labels = as_labels(about["items"])
        self.source: dict[str, Any] = about["source"]
        self.ranked: bool = about.get("ranked", False)  # older folders do not say

    @property
    def n_items(self) -> int:
        """Q, the number of items."""
        return len(self.items)

    @cached_property
    def users(self) -> Labels:
        """The labels of all users, read when they are first needed."""
        return as_labels([label for labels in self._user_labels() for label in labels])

    def _user_labels(self) -> Iterator[list[Any]]:
        """The labels of all users, some at a time; as many as the folder says that there are."""
        found, file = 0, self.folder / "users.parquet"
        for batch in _parquet.parquet_batches(file) if file.is_file() else ():
            found += batch.num_rows
            yield batch.column(0).to_pylist()
        if found != self.n_users:
            raise FileError(
                f"{self.folder} is damaged: it has labels of {found:,} users and comparisons of "
                f"{self.n_users:,}. Remove the folder, and run again."
            )

    @property
    def user_weight(self) -> NDArray[np.float64]:
        """(M,) ones: each user counts once."""
        return np.broadcast_to(1.0, self.n_users)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return (
            f"StoredComparisons({self.n_comparisons:,.12g} comparisons of {self.n_items} items "
            f"by {self.n_users} users)"
        )

    def blocks(self) -> list[BlockOnDisk]:
        """The same blocks as of the same comparisons in memory."""
        edges = block_edges(self.n_users, self.n_rows, self.n_items)
        rest = self.n_items, self.ranked
        return [BlockOnDisk(str(self.folder), a, b - a, *rest) for a, b in pairwise(edges)]

    def with_items(self, items: ArrayLike, *, unknown_items: str = "error") -> "StoredComparisons":
        """These comparisons for a model, which must have the same items."""
        if text_of(np.asarray(items)) != text_of(self.items):
            raise DataError(
                "The items are not those of the model: comparisons on disk go with a model of the "
                "very same items."
            )
        return self

    def per_user(self) -> NDArray[np.float64]:
        """(M,) n_m, the number of comparisons of each user."""
        starts = (
            self._starts[block.first_user : block.first_user + block.n_users + 1]
            for block in self.blocks()
        )
        return np.concatenate(
            [
                np.add.reduceat(read_weights(self.folder, int(s[0]), int(s[-1])), s[:-1] - s[0])
                for s in starts
            ]
        )

    def summary(self) -> Comparisons:
        """Comparisons in memory that have the same limits (`checks.concerns.Limits`).

        One user has all the pairs; beside are the users with fewer than two comparisons.
        """
        code = np.flatnonzero(self.pair_counts)
        few = np.flatnonzero(self.per_user() < 2)
        names = self.users[few].tolist() if len(few) else []
        winner, loser = np.divmod(code, self.n_items)
        return Comparisons.from_codes(
            np.zeros(len(code), int),
            winner,
            loser,
            np.full(len(code), 2.0),
            self.items,
            ["all other users", *names],
        )

    def in_memory(self) -> Comparisons:
        """The same comparisons in memory, for data that is known to fit."""
        blocks = [block.load() for block in self.blocks()]
        user = [block.first_user + block.users_of_rows() for block in blocks]
        pair = np.concatenate([np.empty(0, np.int64), *(block.pair for block in blocks)])
        ids = [block.ranking_id for block in blocks if block.ranking_id is not None]
        return Comparisons.from_codes(
            np.concatenate([np.empty(0, np.int64), *user]).astype(np.int64),
            *np.divmod(pair.astype(np.int64), self.n_items),
            np.concatenate([np.empty(0), *(block.weight for block in blocks)]),
            self.items,
            self.users,
            ranking_id=np.concatenate(ids) if ids else None,
        )

    @property
    def pair_counts(self) -> NDArray[np.float64]:
        """(Q²,) how often each ordered pair was seen."""
        return read_array(self.folder, "pairs")

    def fingerprint(self) -> str:
        """The digest of the same comparisons in memory, computed once."""
        kept = self.folder / "fingerprint"
        if not kept.exists():
            digest = self._digest()
            with replacing(kept) as temporary:
                temporary.write_text(digest)
        return kept.read_text()

    def _digest(self) -> str:
        digest = hashlib.sha256()
        digest.update(json.dumps(text_of(self.items)).encode())
        _update_users(digest, self._user_labels())
        parts = ("user", "winner", "loser", "weight", "user_weight", "ranking_id")
        for part in parts if self.ranked else parts[:-1]:
            end = self.n_users if part == "user_weight" else self.n_rows
            for first in range(0, end, _CHUNK):
                digest.update(self._column(part, first, min(first + _CHUNK, end)).data)
        return digest.hexdigest()[:32]

    def _column(self, name: str, first: int, last: int) -> NDArray[Any]:
        """Some rows of one of the arrays that `Comparisons` has."""
        if name == "weight":
            return read_weights(self.folder, first, last).astype("<f8")
        if name == "user_weight":
            return np.ones(last - first, "<f8")
        if name == "ranking_id":
            return read_array(self.folder, name, first, last).astype("<i4")
        if name == "user":
            return np.searchsorted(self._starts, np.arange(first, last), side="right").astype(
                "<i4"
            ) - np.int32(1)
        pair = read_array(self.folder, "pair", first, last, pair_type(self.n_items)).astype(
            np.int32
        )
        return (pair // self.n_items if name == "winner" else pair % self.n_items).astype("<i4")

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return mapped_array(self.folder, "starts")


def read_about(folder: Path) -> dict[str, Any]:
    """The sizes and the origin of a folder of stored comparisons."""
    if not (folder / "about.json").is_file():
        raise FileError(
            f"{folder} holds no stored comparisons: name a folder that is not there yet, and it is "
            "made."
        )
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(
            f"{folder} holds stored comparisons that cannot be read ({error}): remove it, and it "
            "is made anew."
        ) from None
    if about.get("format") != FORMAT:
        raise FileError(
            f"{folder} was written by another version of mallowmix: remove it, and it is made anew."
        )
    return about


def _update_users(digest: Any, batches: Iterable[list[Any]]) -> None:
    """The digest of json.dumps(list of labels as text), some labels at a time."""
    before = "["
    for labels in batches:
        digest.update((before + json.dumps(text_of(labels))[1:-1]).encode())
        before = ", "
    digest.update(b"]")
