"""Where a user stands in a picture of all mixtures: the mean of corners, which are components."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

MOST = 2000  # dots that can still be distinguished
_STEP = Step.PICTURE_USERS


def corners(n_components: int) -> Array:
    """(K, 2) corners of a regular polygon around 0, the first on top, the second left of it."""
    angle = np.pi / 2 + 2 * np.pi * np.arange(n_components) / n_components
    return np.column_stack([np.cos(angle), np.sin(angle)])


def simplex_points(theta: ArrayLike) -> Array:
    """(M, 2) points Σ_k θ_k c_k of users' weights θ (M, K).

    Exact for three components; for more, different mixtures may share a point.
    """
    theta = np.asarray(theta, np.float64)
    return theta @ corners(theta.shape[1])


def some_people(n_users: int, seed: int = 0) -> NDArray[np.int64]:
    """The numbers of at most 2,000 users, the same for the same seed, in the order of the data."""
    if n_users <= MOST:
        return np.arange(n_users)
    return np.sort(generator(seed, _STEP).permutation(n_users)[:MOST])
