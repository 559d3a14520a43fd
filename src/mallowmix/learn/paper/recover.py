"""RecoverL2 and RecoverKL (Arora et al., ICML 2013): rows of Q̄ as mixtures of the anchor rows.

Q̄ = E diag(p), rows made to sum to one: how likely each other choice is beside this one. Where
Algorithm 3 uses K² + K entries of E, these use whole rows.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.learn.paper.pair_moments import Moments
from mallowmix.learn.paper.ranking_matrix import RankingMatrix, from_mixtures
from mallowmix.numerics.simplex_regression import clip_to_psd, simplex_least_squares
from mallowmix.typing import Array

Divergence = Literal["l2", "kl"]
_ROWS = 256  # rows of E held at a time
_LEAST = 1e-9  # added to what the anchors expect, so that nothing is impossible


def recover(
    E: Moments,
    anchors: NDArray[np.int64],
    divergence: Divergence = "l2",
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> RankingMatrix:
    """Estimate B, a and R from anchor pairs.

    c_i = argmin over the simplex of D(Q̄_i, Σ_k c_k Q̄_k), then B ∝ p_i c_ik.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    anchors : (K,) array of int
        Codes of the anchor pairs.
    divergence : {"l2", "kl"}
        D: squared distance, or Kullback–Leibler.
    tol, max_iter
        When an iteration ends.

    Returns
    -------
    RankingMatrix
        B, its columns summing to one, and the moments of the weights.
    """
    rows = E.rows(anchors)
    p = E.counts / E.counts.sum()
    A = _stochastic(rows * p)  # (K, Q²) Q̄ of the anchors
    seen = np.flatnonzero(E.counts > 0)
    c = _l2(E, A, p, seen, tol) if divergence == "l2" else _kl(E, A, p, seen, tol, max_iter)
    return from_mixtures(E.counts, seen, c, clip_to_psd(rows[:, anchors]))


def _l2(E: Moments, A: Array, p: Array, seen: NDArray[np.int64], tol: float) -> Array:
    """‖Q̄_i − cA‖² needs A Aᵀ and Q̄_i Aᵀ alone; the row sums of Q̄ come from the same pass."""
    D = p[:, None] * np.column_stack([A.T, np.ones(A.shape[1])])
    products = E.apply(D)[seen]
    total = products[:, -1:]
    right = np.divide(products[:, :-1], total, out=np.zeros_like(products[:, :-1]), where=total > 0)
    return simplex_least_squares(A @ A.T, right, tol=tol)


def _kl(
    E: Moments, A: Array, p: Array, seen: NDArray[np.int64], tol: float, max_iter: int
) -> Array:
    """KL(Q̄_i ‖ cA), 256 rows at a time: the Q² × Q² matrix is never held."""
    parts = np.array_split(seen, max(1, -(-len(seen) // _ROWS)))
    return np.concatenate(
        [
            mixture_weights(_stochastic(E.rows(part) * p), A, tol=tol, max_iter=max_iter)
            for part in parts
        ]
    )


def mixture_weights(rows: Array, A: Array, *, tol: float = 1e-4, max_iter: int = 500) -> Array:
    """The c that minimise KL(q ‖ cA) for every row q, by EM: c_k ← c_k Σ_j q_j A_kj / (cA)_j.

    ratio_k = Σ_j q_j A_kj / (cA)_j is minus the gradient. A row has converged when its duality gap,
    max ratio − c·ratio, is below tol: KL is then that close to its least value. (c·ratio is 1, or
    less where a row has mass that no anchor expects.)

    Parameters
    ----------
    rows : (n, W) array
        The rows q, each summing to one.
    A : (K, W) array
        The anchor rows.
    tol : float
        The duality gap.
    max_iter : int
        Steps at most.

    Returns
    -------
    (n, K) array
        c, a row each.
    """
    K = len(A)
    c, open_rows = np.full((len(rows), K), 1 / K), np.arange(len(rows))
    for _ in range(max_iter):
        ratio = (rows[open_rows] / (c[open_rows] @ A + _LEAST)) @ A.T
        moved = c[open_rows] * ratio
        total = moved.sum(axis=1)
        rest = ratio.max(axis=1) - total > tol
        open_rows = open_rows[rest]
        if not len(open_rows):
            break
        c[open_rows] = moved[rest] / total[rest, None]
    return c


def _stochastic(rows: Array) -> Array:
    """Rows without negative entries that sum to one; those of zeros stay."""
    rows = np.maximum(rows, 0)
    total = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
