"""Statistics of pairs, and leading eigenvectors by a block Krylov method; numpy alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array

_PRIOR = 0.5  # counts added to each direction of a pair
_FLOOR = 0.01  # least share of a pair, in units of the mean share
_ROUNDING = 1e-12  # of the largest eigenvalue: residuals below say nothing
_DEPENDENT = 1e-10  # squared length, of 1, of what a vector adds: below it is mere rounding


class PairStatistics(NamedTuple):
    """Statistics of each pair, and values of tokens; codes are ordered pairs, p unordered ones."""

    index: NDArray[np.int32]  # (Q²,) code → p
    value: Array  # (Q²,) code → x, signed
    win: Array  # (P,) q: how often the lower-numbered item wins, shrunk to ½
    share: Array  # (P,) μ
    count: Array  # (P,)


class Subspace(NamedTuple):
    """The leading eigenpairs of the signed moment."""

    values: Array  # (b,) Ritz values, largest first
    vectors: Array  # (P, b)
    passes: int
    converged: bool

    def leading(self, n_vectors: int) -> "Subspace":
        """The first eigenpairs alone."""
        return self._replace(values=self.values[:n_vectors], vectors=self.vectors[:, :n_vectors])


def pair_statistics(counts: Array, n_items: int, prior: float = _PRIOR) -> PairStatistics:
    """Compute the statistics from counts of ordered pairs.

    Parameters
    ----------
    counts : (Q²,) array
        How often each ordered pair was seen.
    n_items : int
        Q.
    prior : float
        Counts added to each direction of a pair.
    """
    low, high = np.triu_indices(n_items, 1)
    forward, backward = counts[low * n_items + high], counts[high * n_items + low]
    total = forward + backward
    win = (forward + prior) / (total + 2 * prior)
    share = np.maximum(total / total.sum(), _FLOOR / len(total))
    index, value = np.zeros(n_items**2, np.int32), np.zeros(n_items**2)
    index[low * n_items + high] = index[high * n_items + low] = np.arange(len(low))
    value[low * n_items + high] = np.sqrt((1 - win) / win / share)
    value[high * n_items + low] = -np.sqrt(win / (1 - win) / share)
    return PairStatistics(index, value, win, share, total)


def iterate_subspace(
    apply: Callable[[Array], Array], V: Array, rank: int, *, max_passes: int = 15, tol: float = 1e-3
) -> Subspace:
    """Leading eigenpairs of a symmetric matrix A, from all products with A so far.

    Each pass adds to a basis the residuals A x − λ x of its leading Ritz pairs (λ, x): a block
    Krylov space, which needs about half the passes of iterating the last block alone. Of a basis
    that would become larger than three blocks, only the leading Ritz vectors stay.

    Parameters
    ----------
    apply : callable
        From V to A V.
    V : (P, b) array
        Vectors to begin with, a few more than `rank`.
    rank : int
        How many eigenpairs must converge.
    max_passes : int
        Products with A at most.
    tol : float
        How far Ritz values may still move, relative to the largest.
    """
    P, b = V.shape
    most = 3 * b
    basis, image = np.empty((P, most), order="F"), np.empty((P, most), order="F")
    new, n = _beyond(basis[:, :0], V), 0  # n columns are filled
    before, passes = np.full(rank, np.inf), 0
    while True:
        fresh, n = slice(n, n + new.shape[1]), n + new.shape[1]
        basis[:, fresh], image[:, fresh] = new, apply(new)
        passes += 1
        values, U = _leading(basis[:, :n].T @ image[:, :n], b)
        vectors = basis[:, :n] @ U
        moved = np.abs(values[:rank] - before)
        before, largest = values[:rank], max(abs(values[0]), 1e-300)
        if np.all(moved <= tol * largest):
            return Subspace(values, vectors, passes, converged=True)
        if passes >= max_passes:
            return Subspace(values, vectors, passes, converged=False)
        A_vectors = image[:, :n] @ U
        if n + b > most:
            n = vectors.shape[1]
            basis[:, :n], image[:, :n] = vectors, A_vectors
        A_vectors -= vectors * values
        far = np.linalg.norm(A_vectors, axis=0) > _ROUNDING * largest
        new = _beyond(basis[:, :n], A_vectors[:, far])
        if new.shape[1] == 0:  # the basis is an invariant subspace
            return Subspace(values, vectors, passes, converged=True)


def _leading(H: Array, b: int) -> tuple[Array, Array]:
    """The b largest eigenvalues of a symmetric matrix, largest first, and their vectors."""
    values, U = np.linalg.eigh((H + H.T) / 2)
    return values[: -b - 1 : -1], U[:, : -b - 1 : -1]


def _beyond(basis: Array, X: Array) -> Array:
    """(P, ≤ b) an orthonormal basis of what X adds to one; columns that add nothing are dropped.

    By eigenvectors of XᵀX, for a tall matrix in less time and memory than Householder's method.
    """
    new = X[:, : basis.shape[0] - basis.shape[1]]
    new = new / np.maximum(np.linalg.norm(new, axis=0), 1e-300)
    for _ in range(2):  # once leaves rounding errors as large as small residuals
        new -= basis @ (basis.T @ new)
        squares, U = np.linalg.eigh(new.T @ new)
        kept = squares > _DEPENDENT
        new = new @ (U[:, kept] / np.sqrt(squares[kept]))
    return new
