"""What the passes over users need of a `RankingsModel`, laid out once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.model.mallows import beta_matrix, log_z
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.typing import Array


class RankingsTables(NamedTuple):
    """σ, orders, log φ, log π − log Z, log π, log of ε + (1 − 2ε) β by pair (Q², K), log((1 − ε)/ε), ε."""

    sigma: NDArray[np.int32]
    orders: NDArray[np.int64]
    log_phi: Array
    log_prior: Array
    log_share: Array
    log_table: Array
    log_odds: float
    error_rate: float


def rankings_tables(model: RankingsModel) -> RankingsTables:
    """The tables of a model."""
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
