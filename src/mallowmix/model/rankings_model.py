"""Personal rankings: everyone holds one ranking, drawn around one of K references.

Answers follow it, with errors at a small rate.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, as_labels
from mallowmix.errors import DataError
from mallowmix.model.component_model import checked_items
from mallowmix.model.mallows import beta_matrix
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False)
class RankingsModel:
    """A mixture of Mallows models in which each user holds one ranking for all answers.

    A user draws a component k with probability π_k, and then a ranking from Mallows(σ_k, φ_k). Each
    answer follows that ranking, but for an error with probability ε. In `M4` each answer is a new
    draw instead, so that people contradict themselves more often than here.

    Parameters
    ----------
    sigma : (K, Q) array
        Positions of the items in each reference ranking, 0 is best.
    phi : (K,) array
        Dispersions.
    shares : (K,) array
        π.
    error_rate : float
        ε, above 0 and at most ½.
    items : sequence
        The labels of the items.
    """

    sigma: NDArray[np.int32]
    phi: Array
    shares: Array
    error_rate: float
    items: Labels

    def __post_init__(self) -> None:
        sigma = np.ascontiguousarray(self.sigma, np.int32)
        phi, shares = (np.ascontiguousarray(each, np.float64) for each in (self.phi, self.shares))
        K, Q = sigma.shape
        if phi.shape != (K,) or shares.shape != (K,):
            raise DataError(f"sigma has {K} components; phi and shares must have as many numbers.")
        if not (np.sort(sigma, axis=1) == np.arange(Q)).all():
            raise DataError(f"Each row of sigma must hold the positions 0 to {Q - 1}, once each.")
        if not (0 < self.error_rate <= 0.5 and (phi > 0).all() and (phi <= 1).all()):
            raise DataError(
                "The error rate must be above 0 and at most ½, and phi above 0 and at most 1."
            )
        for name, array in (("sigma", sigma), ("phi", phi), ("shares", shares)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "error_rate", float(self.error_rate))
        object.__setattr__(self, "items", checked_items(as_labels(self.items), Q))

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    @property
    def n_items(self) -> int:
        """Q."""
        return len(self.items)

    def population_probabilities(self) -> Array:
        """(Q, Q) the probability that a user at random prefers the row's item to the column's."""
        tables = [beta_matrix(row, phi) for row, phi in zip(self.sigma, self.phi, strict=True)]
        mean = np.einsum("k,kij->ij", self.shares, np.array(tables))
        return self.error_rate + (1 - 2 * self.error_rate) * mean

    def __eq__(self, other: object) -> bool:
        names = ("sigma", "phi", "shares", "error_rate", "items")
        return isinstance(other, RankingsModel) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    __hash__ = None  # type: ignore[assignment]
