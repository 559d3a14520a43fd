"""The most likely Mallows component for full rankings: the Kemeny ranking, and the φ of their mean distance."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.model.dispersion import phi_from_distance
from mallowmix.model.permutations import as_permutations, sigma_of
from mallowmix.numerics.kemeny import best_order


class MallowsFit(NamedTuple):
    """The maximum likelihood of one Mallows component."""

    sigma: NDArray[np.int32]
    phi: float


def fit_rankings(orders: ArrayLike) -> MallowsFit:
    """Maximum likelihood of (σ, φ) from full rankings given as orders: σ is the Kemeny ranking (`numerics.kemeny`)."""
    sigmas = sigma_of(np.atleast_2d(as_permutations(orders, "orders")))
    # [i, j]: how often i above j
    above = np.stack([(sigmas[:, [i]] < sigmas).sum(axis=0) for i in range(sigmas.shape[1])])
    order = best_order(above)
    # the worse-placed of a pair was put above the better-placed
    discordant = np.tril(above[np.ix_(order, order)]).sum()
    return MallowsFit(
        sigma_of(order), phi_from_distance(len(order), float(discordant / len(sigmas)))
    )
