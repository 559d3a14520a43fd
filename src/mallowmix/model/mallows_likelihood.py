"""The most likely Mallows component of full rankings: the Kemeny ranking and its φ."""

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
    """Maximum likelihood of (σ, φ) from (N, Q) full orders: σ is the Kemeny ranking."""
    sigmas = sigma_of(np.atleast_2d(as_permutations(orders, "orders")))
    # [i, j]: how often i above j
    above = np.stack([(sigmas[:, [i]] < sigmas).sum(axis=0) for i in range(sigmas.shape[1])])
    order = best_order(above)
    # pairs of which the lower item was put above the higher
    discordant = np.tril(above[np.ix_(order, order)]).sum()
    return MallowsFit(
        sigma_of(order), phi_from_distance(len(order), float(discordant / len(sigmas)))
    )
