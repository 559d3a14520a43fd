"""The arrays of a `RankingsModel` that passes over users read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.model.mallows import beta_matrix, log_z
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.typing import Array


class RankingsTables(NamedTuple):
    """The arrays of a model, in the order in which the kernels take them.

    Attributes
    ----------
    sigma : (K, Q) array of int
        Positions of the items in each reference, 0 is best.
    orders : (K, Q) array of int
        The items of each reference, best first.
    log_phi : (K,) array
        log φ.
    log_prior : (K,) array
        log π − log Z(φ).
    log_share : (K,) array
        log π.
    log_table : (Q², K) array
        log(ε + (1 − 2ε) β) of each ordered pair.
    log_odds : float
        log((1 − ε) / ε).
    error_rate : float
        ε.
    """

    sigma: NDArray[np.int32]
    orders: NDArray[np.int64]
    log_phi: Array
    log_prior: Array
    log_share: Array
    log_table: Array
    log_odds: float
    error_rate: float


def rankings_tables(model: RankingsModel) -> RankingsTables:
    """Compute the tables of a model.

    Parameters
    ----------
    model : RankingsModel
        The model.

    Returns
    -------
    RankingsTables
    """
    phi, Q, error = model.phi, model.n_items, model.error_rate
    beta = np.array([beta_matrix(row, p) for row, p in zip(model.sigma, phi, strict=True)])
    log_share = np.log(model.shares)
    log_prior = log_share - np.array([log_z(Q, p) for p in phi])
    log_table = np.log(error + (1 - 2 * error) * beta).reshape(len(phi), Q * Q).T
    return RankingsTables(
        model.sigma,
        np.argsort(model.sigma, axis=1, kind="stable"),
        np.log(phi),
        log_prior,
        log_share,
        np.ascontiguousarray(log_table),
        float(np.log((1 - error) / error)),
        error,
    )
