"""Where EM for the mixture of Gaussian utilities begins: variance and loadings from one pass.

The variance is the one, of a few, under which independent utilities explain the answers of some
users best; EM begins with a third of it, because factors take their part. Under it every user's
posterior moments E[d dᵀ], added over users and divided by how often the items were compared, show
which items go together: their leading eigenvectors are the first loadings.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mallowmix.engine import Block, Engine, map_step, some_users
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_pass import (
    UtilitiesParameters,
    UtilitiesSums,
    sums_of_users,
    utilities_pass,
)
from mallowmix.numerics.laplace import TOL
from mallowmix.typing import Array

_VARIANCES = (0.1, 0.3, 1.0, 3.0, 10.0)
_START_PART = 1 / 3  # of the best variance: factors take their part of it
_TRIED_USERS = 200
_FACTOR_PART = 1 / 6  # of the variance: the mean square of the first factor's loadings


class InitialUtilities(NamedTuple):
    """What EM begins with, for any number of components and factors.

    Attributes
    ----------
    scores : (Q,) array
        Bradley–Terry scores of all users.
    variance : float
        Of every item.
    loadings : (Q, Q) array
        The first r columns are the loadings of r factors.
    """

    scores: Array
    variance: float
    loadings: Array

    def parameters(self, means: Array, n_factors: int) -> UtilitiesParameters:
        """Return the parameters for these means (`initial_means`) and so many factors."""
        K, Q = means.shape
        loadings = np.ascontiguousarray(self.loadings[:, :n_factors])
        shares = np.full(K, -np.log(K))
        return UtilitiesParameters(means, loadings, np.full(Q, self.variance), shares)


def initial_utilities(blocks: Sequence[Block], n_items: int, engine: Engine) -> InitialUtilities:
    """Find what EM begins with.

    Parameters
    ----------
    blocks : sequence of Block
        The users.
    n_items : int
        Q.
    engine : Engine
        Where passes over users run.

    Returns
    -------
    InitialUtilities
    """
    scores = initial_means(list(blocks), n_items, 1, 0)
    variance = _best_variance(blocks, scores, engine) * _START_PART
    sent = scores[0], np.full(n_items, variance)
    parts = engine.map(_moments_step, blocks, sent)
    moments, item_users = (np.sum([part[n] for part in parts], axis=0) for n in (0, 1))
    loadings = _leading(moments, item_users) * np.sqrt(_FACTOR_PART * variance)
    return InitialUtilities(scores[0], variance, loadings)


def _best_variance(blocks: Sequence[Block], means: Array, engine: Engine) -> float:
    """The variance of independent utilities that explains some users best."""
    some = some_users(blocks, _TRIED_USERS)
    Q = means.shape[1]

    def evidence(variance: float) -> float:
        tried = UtilitiesParameters(means, np.zeros((Q, 0)), np.full(Q, variance), np.zeros(1))
        sums, _ = engine.reduce(utilities_pass, some, tried, None)
        return UtilitiesSums(*sums).evidence

    return max(_VARIANCES, key=evidence)


def _leading(moments: Array, item_users: Array) -> Array:
    """(Q, r) eigenvectors of the scaled moments; those without a positive eigenvalue are 0."""
    scale = 1 / np.sqrt(item_users + 1)
    scaled = (moments - np.diag(np.diag(moments))) * scale[:, None] * scale
    values, vectors = np.linalg.eigh(scaled)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(values))])
    return vectors * signs * np.sqrt(len(values) * values / max(values[0], 1e-300))


@map_step("moments of utilities")
def _moments_step(block: Block, broadcast: tuple[Array, Array]) -> tuple[Array, Array]:
    """(Q, Q) the sum of E[d dᵀ] over users, and (Q,) how many compared each item."""
    (mean, variances), Q = broadcast, block.n_items
    one = UtilitiesParameters(mean[None], np.zeros((Q, 0)), variances, np.zeros(1))
    total = np.zeros((Q, Q))
    sums, _ = sums_of_users(block, one, None, TOL, total)
    return total, sums.item_users
