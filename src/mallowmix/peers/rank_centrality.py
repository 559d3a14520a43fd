"""RankCentrality: scores as the stationary distribution of a walk from losers to winners.

The walk goes from i to j at the rate p(j over i). Where p is Bradley–Terry, p_i / (p_i + p_j), its
stationary distribution is proportional to p_i (detailed balance), so the scores are exact
(Negahban, Oh and Shah 2012).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import FitError


def rank_centrality(beta: ArrayLike) -> NDArray[np.float64]:
    """Scores log p from pairwise probabilities.

    Parameters
    ----------
    beta : array_like, shape (Q, Q)
        beta[i, j] is the probability that i beats j; 0 both ways for pairs never compared.

    Returns
    -------
    ndarray, shape (Q,)
        With mean 0.

    Raises
    ------
    FitError
        Where some item cannot be reached from another by wins.
    """
    rate = np.array(beta, np.float64).T  # from i to j where j beats i
    np.fill_diagonal(rate, 0.0)
    walk = rate - np.diag(rate.sum(axis=1))
    Q = len(walk)
    system = np.vstack([walk.T, np.ones(Q)])  # π (rate − diag) = 0, Σ π = 1
    stationary = np.linalg.lstsq(system, np.r_[np.zeros(Q), 1.0], rcond=None)[0]
    if np.linalg.matrix_rank(walk) < Q - 1 or not np.all(stationary > 0):
        raise FitError(
            "RankCentrality needs that every item can be reached from every other by wins; "
            "raise the smoothing."
        )
    scores = np.log(stationary)
    return scores - scores.mean()
