"""The second moment of pairs over users, completed to rank K and never formed.

With s_mp the mean sign of user m for pair p, 0 where they did not compare it, and o_mp = 1 where
they did, the sums over users and their numbers are

    signs = Σ_m s_m s_mᵀ,    counts = Σ_m o_m o_mᵀ,    off the diagonal.

Weighted least squares of signs / counts with the weights `counts` needs only signs · V and
counts · (V ⊗ V): products with two sparse matrices, so that the work is that of the comparisons and
not that of all Q⁴ / 4 pairs of pairs.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from mallowmix.engine import Block
from mallowmix.errors import FitError
from mallowmix.typing import Array

_SMALL = 60  # pairs for which the table is formed, to find where to begin


class SecondMoment(Protocol):
    """A symmetric table M2 of pairs by pairs, known with some weight; 0 on the diagonal."""

    @property
    def n_pairs(self) -> int:
        """P."""
        ...

    def weighted(self, V: Array) -> Array:
        """(weight · M2, entry by entry) @ V."""
        ...

    def weights(self, U: Array) -> Array:
        """Weight @ U."""
        ...


class UserMoments:
    """The second moment over the users of some blocks.

    Parameters
    ----------
    blocks : iterable of Block
        The comparisons.
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._users = [_user_pairs(block) for block in blocks]

    @property
    def n_pairs(self) -> int:
        """All unordered pairs of items."""
        return len(self._users[0].mean.diagonal)

    def weighted(self, V: Array) -> Array:
        """Sums of products of signs @ V."""
        return np.asarray(sum(u.mean.times(V) for u in self._users))

    def weights(self, U: Array) -> Array:
        """Numbers of users who compared both pairs @ U."""
        return np.asarray(sum(u.seen.times(U) for u in self._users))


class _UserPairs(NamedTuple):
    """What a block's users said of each pair, and which pairs they compared."""

    mean: "_Gram"
    seen: "_Gram"


class _Gram:
    """Xᵀ diag(weight) X without its diagonal, of a sparse (M, P) matrix X."""

    def __init__(self, X: csr_array, weight: Array) -> None:
        self.X, self.weight = X, weight
        self.diagonal = np.asarray(X.multiply(X).T @ weight)  # (P,)

    def times(self, V: Array) -> Array:
        """The table @ V."""
        product: Any = self.X.T @ (self.weight[:, None] * (self.X @ V))
        return product - self.diagonal[:, None] * V


def _user_pairs(block: Block) -> _UserPairs:
    mean, seen = person_means(block)
    return _UserPairs(_Gram(mean, block.user_weight), _Gram(seen, block.user_weight))


def pair_index(Q: int) -> NDArray[np.int64]:
    """(Q²,) the number of the unordered pair of each ordered one."""
    index = np.zeros((Q, Q), np.int64)
    index[np.triu_indices(Q, 1)] = np.arange(Q * (Q - 1) // 2)
    return (index + index.T).ravel()


def person_means(block: Block) -> tuple[csr_array, csr_array]:
    """(M, P) each user's mean sign for each pair that they compared, and 1 where they did."""
    Q = block.n_items
    winner, loser = np.divmod(block.pair.astype(np.int64), Q)
    sign, pair = np.where(winner < loser, 1.0, -1.0), pair_index(Q)[block.pair]
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))
    shape = (block.n_users, Q * (Q - 1) // 2)
    total: Any = csr_array((block.weight, (person, pair)), shape=shape)
    mean: Any = csr_array((block.weight * sign, (person, pair)), shape=shape)
    total.sum_duplicates()
    mean.sum_duplicates()
    mean.data = mean.data / total.data  # the same entries, sorted
    total.data = np.ones_like(total.data)
    return mean, total


def complete(moment: SecondMoment, K: int, instead: str, *, n_iter: int = 60) -> Array:
    """Complete a symmetric table to rank K by alternating least squares.

    Parameters
    ----------
    moment : SecondMoment
        The table and its weights.
    K : int
        The rank.
    instead : str
        What to use where the rank is lower, a sentence for the message.
    n_iter : int
        Half-steps.

    Returns
    -------
    ndarray, shape (P, K)
        B with B Bᵀ nearest to M2.

    Raises
    ------
    FitError
        Where the rank is below K.
    """
    fewer = FitError(
        f"The second moment shows fewer than {K} components. "
        f"Ask for fewer, or give more people. {instead}"
    )
    if moment.n_pairs < K:
        raise fewer
    B = V = _begin(moment, K)
    for _ in range(n_iter):
        B, V = V, _half_step(moment, V)
    # (B Vᵀ + V Bᵀ) / 2 = basis · small · basisᵀ
    basis, R = np.linalg.qr(np.hstack([B, V]))
    left, right = R[:, :K], R[:, K:]
    values, vectors = np.linalg.eigh((left @ right.T + right @ left.T) / 2)
    top = values[::-1][:K]
    if np.any(top <= max(1e-9 * np.abs(values).max(), 1e-30)):
        raise fewer
    return basis @ (vectors[:, ::-1][:, :K] * np.sqrt(top))


def _begin(moment: SecondMoment, K: int) -> Array:
    """(P, K) the largest eigenvectors of the sums, each as long as √ of its mean entry says."""
    P, share = moment.n_pairs, np.ones(moment.n_pairs)
    mean_weight = max(float(moment.weights(share[:, None]).mean()) / max(P - 1, 1), 1e-300)
    if max(_SMALL, 3 * K) >= P:
        values, vectors = np.linalg.eigh(moment.weighted(np.eye(P)))
    else:

        def product(v: Array) -> Array:
            return moment.weighted(np.reshape(v, (-1, 1)))[:, 0]

        make: Any = LinearOperator  # its stubs know fewer arguments
        table = make((P, P), matvec=product, dtype=float)
        values, vectors = eigsh(table, k=K, which="LA", v0=share / np.sqrt(P) + _ripple(P))
    top = np.argsort(values)[::-1][:K]
    return vectors[:, top] * np.sqrt(np.maximum(values[top] / mean_weight, 1e-12))


def _ripple(P: int) -> Array:
    """A fixed vector that is orthogonal to no simple one, so that Lanczos begins well."""
    return np.cos(np.arange(P) ** 2)


def _half_step(moment: SecondMoment, V: Array) -> Array:
    """For every row p: the least squares of M2[p, q] on V[q], weighted."""
    K = V.shape[1]
    outer = (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)
    normal = moment.weights(outer).reshape(-1, K, K)
    ridge = 1e-9 * max(float(np.abs(normal).max()), 1e-300) * np.eye(K)
    solved: Any = np.linalg.solve(normal + ridge, moment.weighted(V)[:, :, None])
    return solved[:, :, 0]
