"""Users' utilities, given their answers, under a mixture of Gaussian utilities.

One kernel finds Laplace's approximation (`numerics.laplace`) for each user and component; what is
asked of it (probabilities of pairs, covariances) is computed by NumPy, for many users at once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.learn.utilities.laplace_arrays import condition_arrays
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.cholesky import elimination, inverse
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.laplace import (
    TOL,
    newton_room,
    posterior_mode,
)
from mallowmix.numerics.own_items import local_items, local_prior
from mallowmix.numerics.small_work import is_small
from mallowmix.typing import Array

_ROOM = 1 << 18  # numbers held for the users of one piece


class Conditioned(NamedTuple):
    """Some consecutive users' utilities, given the users' answers.

    Attributes
    ----------
    users : slice
        Which users of the block.
    at : (M, Q) array of int
        Numbers the items that a user compared from 0; −1 for the others.
    log_joint : (M, K) array
        log π_k + log evidence.
    mean : (M, K, Q) array
        Of all utilities.
    C : (M, K, q, q) array
        Covariance of the items compared; q is the largest number of them.
    CR : (M, K, q, r) array
        Their covariance with the factors.
    T : (M, K, r, r) array
        Cov z.
    """

    users: slice
    at: NDArray[np.int64]
    log_joint: Array
    mean: Array
    C: Array
    CR: Array
    T: Array

    def shares(self) -> Array:
        """(M, K) the posterior probabilities of the components."""
        r = np.exp(self.log_joint - self.log_joint.max(axis=1, keepdims=True))
        return r / r.sum(axis=1, keepdims=True)


def condition(block: Block, model: UtilitiesModel) -> Iterator[Conditioned]:
    """Condition on users' answers, a piece of the block at a time, to save memory.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : UtilitiesModel
        The model.

    Yields
    ------
    Conditioned
    """
    (K, Q), r = model.means.shape, model.loadings.shape[1]
    starts = block.starts - block.starts[0]
    longest = int(np.diff(starts).max(initial=0))
    q = min(Q, 2 * longest)
    piece = max(1, _ROOM // (K * (Q + q * q)))
    parameters = tuple(map(unwritable, (model.means, model.loadings, model.variances)))
    for first in range(0, block.n_users, piece):
        users = slice(first, min(first + piece, block.n_users))
        own = starts[first : users.stop + 1]
        rows, M = slice(int(own[0]), int(own[-1])), users.stop - first
        if is_small(M * K * q * max(q, longest)):
            data = own - own[0], block.pair[rows], block.weight[rows]
            yield Conditioned(users, *condition_arrays(*data, model))
            continue
        found = Conditioned(
            users,
            np.full((M, Q), -1),
            np.tile(np.log(model.shares), (M, 1)),
            np.tile(model.means, (M, 1, 1)),
            np.zeros((M, K, q, q)),
            np.zeros((M, K, q, r)),
            np.tile(np.eye(r), (M, K, 1, 1)),
        )
        sent = own - own[0], block.pair[rows], block.weight[rows], *parameters, np.full(Q, -1)
        _condition(*sent, *found[1:])
        yield found


@compiled
def _condition(
    starts, pair, weight, means, loadings, variances, number,
    at, log_joint, mean, C, CR, T,
):  # fmt: skip
    (K, Q), r = means.shape, loadings.shape[1]
    for m in range(len(starts) - 1):
        rows, n = slice(starts[m], starts[m + 1]), starts[m + 1] - starts[m]
        if n == 0:
            continue
        items, winner, loser = local_items(pair[rows], Q, number)
        q, prior = len(items), local_prior(loadings, variances, items)
        offset, U = np.empty(n), np.empty((q + r, q + r + 1))
        pattern, room = elimination(winner, loser, q, q + r), newton_room(n, q + r)
        for k in range(K):
            for row in range(n):
                offset[row] = means[k, items[winner[row]]] - means[k, items[loser[row]]]
            d = np.zeros(q + r)
            log_joint[m, k] += posterior_mode(
                winner, loser, weight[rows], offset, prior, pattern, d, U, room, TOL, -np.inf
            )
            covariance, z = inverse(U, *pattern), d[q:]
            for i in range(Q):
                for a in range(r):
                    mean[m, k, i] += loadings[i, a] * z[a]
            for x in range(q):
                at[m, items[x]] = x
                mean[m, k, items[x]] = means[k, items[x]] + d[x]
                for y in range(q):
                    C[m, k, x, y] = covariance[x, y]
                for a in range(r):
                    CR[m, k, x, a] = covariance[x, q + a]
            for a in range(r):
                for b in range(r):
                    T[m, k, a, b] = covariance[q + a, q + b]
