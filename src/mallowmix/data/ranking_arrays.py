"""Rankings as arrays, and what can be read off them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, text_of


@dataclass(frozen=True, eq=False)
class RankingArrays:
    """The arrays of `Rankings` (described there), without the ways to make them."""

    user: NDArray[np.int32]
    weight: NDArray[np.float64]
    starts: NDArray[np.int64]
    item: NDArray[np.int32]
    position: NDArray[np.int32]
    items: Labels
    users: Labels
    user_weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)

    @property
    def n_items(self) -> int:
        """Q, the number of items."""
        return len(self.items)

    @property
    def n_users(self) -> int:
        """M, the number of users."""
        return len(self.users)

    @property
    def is_full(self) -> bool:
        """Whether every ranking puts all items in order, without ties."""
        return bool(np.all(self.lengths == self.n_items)) and not self.has_ties

    @property
    def has_ties(self) -> bool:
        """Whether any two items share a position."""
        return bool(
            np.any((self.position[1:] == self.position[:-1]) & (np.diff(self.ranking) == 0))
        )

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
        return (
            f"Rankings({self.weight.sum():,.12g} {kind} rankings of {self.n_items} items "
            f"by {self.n_users} users)"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RankingArrays):
            return False
        labels = all(
            text_of(getattr(self, name)) == text_of(getattr(other, name))
            for name in ("items", "users")
        )
        arrays = ("user", "weight", "starts", "item", "position", "user_weight")
        return labels and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays
        )

    __hash__ = None  # type: ignore[assignment]

    def positions(self) -> NDArray[np.int32]:
        """(N, Q) the position of each item, −1 where it is not listed."""
        positions = np.full((len(self), self.n_items), -1, np.int32)
        positions[self.ranking, self.item] = self.position
        return positions
