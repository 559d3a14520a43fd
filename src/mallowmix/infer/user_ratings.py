"""Predicted ratings of users, with their labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labelled_array import LabelledArray
from mallowmix.data.labels import Labels
from mallowmix.data.text import name_of, table_of
from mallowmix.typing import Array

_SHOWN = 10  # targets in a table for notebooks


@dataclass(frozen=True, eq=False, repr=False)
class RatingPrediction(LabelledArray):
    """Predicted ratings of each target, in the given order; as an array, the expected ratings.

    Attributes
    ----------
    users, items : (n,) labels
        Who and what each prediction is about.
    scale : (S,) array
        The levels, worst first.
    distribution : (n, S) array
        The probability of each level.
    basis : (n,) array of str
        "comparisons" where the item was compared with items that the user rated; "histogram"
        where there was nothing to compare (the model does not have the item, or none that the
        user rated); "population" where the user rated nothing.
    """

    users: Labels
    items: Labels
    scale: Array
    distribution: Array
    basis: NDArray[Any]
    frame_kind: str | None = None

    @property
    def values(self) -> Array:
        """(n,) the expected ratings."""
        return self.mean

    def columns(self) -> dict[str, Any]:
        """User, item, mean, mode, basis, then the probability of each level: probability_1, …."""
        out: dict[str, Any] = {"user": self.users.tolist(), "item": self.items.tolist()}
        out |= {"mean": self.mean, "mode": self.mode, "basis": self.basis.tolist()}
        levels = zip(self.scale.tolist(), self.distribution.T, strict=True)
        return out | {f"probability_{level:g}": column for level, column in levels}

    def __repr__(self) -> str:
        scale = f"{self.scale[0]:g} to {self.scale[-1]:g}"
        return f"Predictions of {len(self.users):,} ratings from {scale}"

    def _repr_html_(self) -> str:
        first = zip(self.users.tolist(), self.items.tolist(), self.mean, self.basis, strict=True)
        rows = [(name_of(u), name_of(i), f"{m:.2f}", str(b)) for u, i, m, b in list(first)[:_SHOWN]]
        return table_of(("user", "item", "expected rating", "basis"), rows, repr(self))

    @property
    def mean(self) -> Array:
        """(n,) expected ratings: the best guess for the squared error."""
        return self.distribution @ self.scale

    @property
    def mode(self) -> Array:
        """(n,) the most probable level; of equally probable ones the lowest."""
        return self.scale[np.argmax(self.distribution, axis=1)]

    @property
    def rounded(self) -> Array:
        """(n,) the level nearest to the mean."""
        edges = (self.scale[1:] + self.scale[:-1]) / 2
        return self.scale[np.searchsorted(edges, self.mean, side="right")]
