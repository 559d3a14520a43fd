"""Statistics of pairs, and leading eigenvectors by block subspace iteration; numpy alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array

_PRIOR = 0.5  # counts added to each direction of a pair
_FLOOR = 0.01  # least share of a pair, in units of the mean share


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
    """Leading eigenpairs of a symmetric matrix A.

    A has negative eigenvalues too, so it is shifted by its most negative Ritz value.

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
    V = np.linalg.qr(V)[0]
    before, converged, values, vectors = np.full(rank, np.inf), False, np.zeros(V.shape[1]), V
    passes = 0
    while passes < max_passes and not converged:
        AV = apply(V)
        passes += 1
        ritz, U = np.linalg.eigh((H := V.T @ AV) / 2 + H.T / 2)
        values, U = ritz[::-1], U[:, ::-1]
        now = values[:rank]
        converged = bool(np.all(np.abs(now - before) <= tol * max(abs(values[0]), 1e-300)))
        before = now
        vectors = V @ U
        V = np.linalg.qr(AV @ U + max(0.0, -values[-1]) * vectors)[0]
    return Subspace(values, vectors, passes, converged)
