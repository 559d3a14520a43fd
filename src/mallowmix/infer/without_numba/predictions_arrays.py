"""Predictions for a few users by NumPy: of pairs, and of each answer from the user's others.

The formulas are those of the kernels in `infer.utilities_prediction` and `infer.member_evidence`.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.learn.utilities.laplace_arrays import condition_arrays, gap_variances, logistic_of
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array

_KEPT = 0.01  # of the precision of a gap, at least, where an answer is taken out


def predict_by_utilities(
    block: Block, model: UtilitiesModel, queries: Queries, least: float
) -> tuple[Array, Array]:
    """Predict queried pairs, and each user's comparisons from the user's others.

    Parameters
    ----------
    block, model, queries
        As in `utilities_prediction.probabilities_and_left_out`.
    least : float
        Of a probability of an answer, given the others.

    Returns
    -------
    probabilities : (n,) array
    sums : (M,) array
    """
    starts = block.starts - block.starts[0]
    at, log_joint, mean, *covariances = condition_arrays(starts, block.pair, block.weight, model)
    share = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)

    def moments(user: NDArray[np.int64], pair: NDArray[np.integer]) -> tuple[Array, Array]:
        """(n, K) the mean and the variance of u_i − u_j, given each component."""
        i, j = np.divmod(pair, block.n_items)
        C, CR, T = covariances
        variance = gap_variances((at, C, CR, T), model, (user, i, j))
        return mean[user, :, i] - mean[user, :, j], variance

    asking = np.repeat(np.arange(block.n_users), np.diff(queries.starts))
    gap, variance = moments(asking, queries.pair)
    p = (share[asking] * logistic_of(gap / np.sqrt(1 + np.pi / 8 * variance))).sum(axis=1)

    user = np.repeat(np.arange(block.n_users), np.diff(starts))
    others = np.maximum(_from_others(*moments(user, block.pair), block.weight[:, None]), least)
    log_p = -np.log((share[user] / others).sum(axis=1))
    return p, np.bincount(user, block.weight * log_p, block.n_users).astype(np.float64)


def _from_others(gap: Array, variance: Array, weight: Array) -> Array:
    """The probability of an answer from the others, given moments of its gap from all answers."""
    p = logistic_of(gap)
    slope = weight * (1 - p)
    kept = 1 - slope * p * variance
    scale = 1 / np.maximum(kept, _KEPT)
    middle = (gap * kept - slope * variance) * scale
    return logistic_of(middle / np.sqrt(1 + np.pi / 8 * variance * scale))


def mixed_left_out(block: Block, prepared: PreparedModel, theta: Array, least: float) -> Array:
    """(M,) sums of log-probabilities of users' comparisons, as in `mixed_membership_left_out`."""
    user, beta = block.users_of_rows(), prepared.beta[block.pair]
    tempered = prepared.likelihood_weight * block.weight
    total = prepared.alpha.sum() + np.bincount(user, tempered, block.n_users)
    own = theta[user] * beta
    own *= (tempered / own.sum(axis=1))[:, None]
    rest = np.maximum(theta[user] * total[user, None] - own, 0.0)
    p = (rest * beta).sum(axis=1) / np.maximum(rest.sum(axis=1), 1e-300)
    log_p = np.log(np.clip(p, least, 1))
    return np.bincount(user, block.weight * log_p, block.n_users).astype(np.float64)
