"""Algorithm 3: estimate the ranking matrix B by regressing every pair on the novel pairs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.learn.paper.pair_moments import Moments
from mallowmix.numerics.simplex_regression import clip_to_psd, simplex_least_squares


class RankingMatrix(NamedTuple):
    """The estimate of B, and the prior's moments from the same regression."""

    B: NDArray[np.float64]  # (Q², K), columns sum to one
    a: NDArray[np.float64]  # (K,) mean weights: the first moment of θ
    R: NDArray[np.float64]  # (K, K) second moment of θ


def estimate_ranking_matrix(
    E: Moments, novel: NDArray[np.int64], *, tol: float = 1e-4
) -> RankingMatrix:
    """Write each row of E as a mixture of the novel rows, and scale it by its count.

    The objective M (X̃_i − bY)(X̃'_i − bY')ᵀ is E_ii − 2 b·E_iS + b E_SS bᵀ: a quadratic form in K
    + K² entries of E. With finite data the printed form is neither symmetric nor convex; here E_iS
    is symmetrised and E_SS clipped to be positive semi-definite.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    novel : (K,) array of int
        Codes of the novel pairs.
    tol : float
        Of the regression (`simplex_least_squares`).

    Returns
    -------
    RankingMatrix
        B, its columns summing to one, and the moments of the weights.
    """
    rows = E.rows(novel)  # (K, Q²)
    G = clip_to_psd(rows[:, novel])  # E_SS
    seen = np.flatnonzero(E.counts > 0)
    return from_mixtures(E.counts, seen, simplex_least_squares(G, rows[:, seen].T, tol=tol), G)


def from_mixtures(
    counts: NDArray[np.float64],
    seen: NDArray[np.int64],
    mixtures: NDArray[np.float64],
    G: NDArray[np.float64],
) -> RankingMatrix:
    """B, a and R from mixtures of the novel rows.

    Parameters
    ----------
    counts : (Q²,) array
        How often each ordered pair was seen.
    seen : (n,) array of int
        Codes of the pairs that were.
    mixtures : (n, K) array
        Each seen row as a mixture of the novel rows.
    G : (K, K) array
        E_SS, the moments among the novel pairs.
    """
    share = counts / counts.sum()
    B = np.zeros((len(counts), len(G)))
    B[seen] = share[seen, None] * mixtures  # p_i b_i → B_ik a_k
    a = B.sum(axis=0)
    R = G * np.outer(a, a)  # E_SS = R̄ where the novel pairs are pure
    return RankingMatrix(B / np.maximum(a, 1e-300), a, R / max(R.sum(), 1e-300))
