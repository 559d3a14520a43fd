"""The population's win rates, with every item winning as often as it was seen to win.

M4 describes how one person's answers go together, and where people answer otherwise (each by one
ranking, say) the best M4 is off in how often the population prefers i to j, however many people
there are. So each item gets an offset b_i, and q_ij, the share of the population by a draw of M4,
becomes

    p_ij = σ(logit q_ij + b_i − b_j),   where   Σ_j (w_ij − n_ij p_ij) = λ b_i

with w_ij wins of i in n_ij comparisons with j: but for the weak pull λ each item wins as often as
seen. What M4 says then decides only about pairs that were compared seldom. The answers of person m
move the win rates W_i = mean_j p_ij in two ways. Through b, they do by

    J H⁻¹ g_m,   J = ∂W / ∂b,   H = λ I + Σ n p (1 − p) (e_i − e_j)(e_i − e_j)ᵀ,

where g_m is the sum of (e_i − e_j)(1 − p_ij) over the person's answers "i over j"; and through the
draws of M4 (`infer.posterior.person_spread`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.infer.posterior.component_labels import beta_tables
from mallowmix.infer.posterior.posterior_chain import ChainDraws
from mallowmix.infer.posterior.posterior_data import PosteriorData
from mallowmix.learn.utilities.laplace_arrays import logistic_of
from mallowmix.typing import Array

_PULL = 1.0  # λ, as if offsets were N(0, 1)
_STEPS, _LONGEST, _TOL = 50, 2.0, 1e-9  # of Newton's method
_LEAST = 1e-9  # a probability: logits stay finite
_ROOM = 1 << 20  # numbers of the pairs of some draws


class MatchedWinRates(NamedTuple):
    """Win rates by draw, and what each person adds to their mean.

    Attributes
    ----------
    draws : (C, D, Q) array
        W of each draw.
    influence : (M, Q) array
        What W gains, through the offsets, from one more person like this one.
    """

    draws: Array
    influence: Array


def matched_win_rates(
    data: PosteriorData, chains: list[ChainDraws], likelihood_weight: float
) -> MatchedWinRates:
    """Match the win rates of every draw to the observed wins.

    Parameters
    ----------
    data : PosteriorData
        The comparisons that the draws were made from.
    chains : list of ChainDraws
        The draws.
    likelihood_weight : float
        By which the powers of `data` were multiplied.

    Returns
    -------
    MatchedWinRates
    """
    Q, weight = data.n_items, data.power / likelihood_weight
    wins = np.bincount(data.pair, weight, Q * Q).astype(np.float64).reshape(Q, Q)
    draws, middle = [], np.zeros((Q, Q))
    for chain in chains:
        D = len(chain.phi)
        rates = np.empty((D, Q))
        for first in range(0, D, piece := max(1, _ROOM // Q**2)):
            some = slice(first, first + piece)
            logits = _population_logits(chain.sigma[some], chain.phi[some], chain.alpha[some])
            rates[some] = _win_rates(logits, _offsets(wins, logits))
            middle += logits.sum(axis=0) / (D * len(chains))
        draws.append(rates)
    return MatchedWinRates(np.stack(draws), _influence(data, weight, wins, middle))


def _population_logits(sigma: NDArray[np.int16], phi: Array, alpha: Array) -> Array:
    """(D, Q, Q) logit of the share of the population that prefers i to j, in each draw."""
    D, _, Q = sigma.shape
    share = alpha / alpha.sum(axis=1, keepdims=True)
    tables = [share[d] @ beta_tables(sigma[d], phi[d]) for d in range(D)]
    q = np.clip(np.array(tables).reshape(D, Q, Q), _LEAST, 1 - _LEAST)
    q[:, np.arange(Q), np.arange(Q)] = 0.5
    return np.log(q) - np.log1p(-q)


def _probabilities(logits: Array, b: Array) -> Array:
    return logistic_of(logits + b[:, :, None] - b[:, None, :])


def _information(n: Array, p: Array) -> Array:
    """(D, Q, Q) H."""
    h = n * p * (1 - p)
    h[:, *np.diag_indices(len(n))] = 0.0
    return (_PULL + h.sum(axis=2))[..., None] * np.eye(len(n)) - h


def _offsets(wins: Array, logits: Array) -> Array:
    """(D, Q) the offsets of each draw, by Newton's method with bounded steps."""
    n, b = wins + wins.T, np.zeros(logits.shape[:2])
    for _ in range(_STEPS):
        p = _probabilities(logits, b)
        gradient = (wins - n * p).sum(axis=2) - _PULL * b
        step = np.linalg.solve(_information(n, p), gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        b += step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))
        if longest.max() < _TOL:
            break
    return b


def _win_rates(logits: Array, b: Array) -> Array:
    """(D, Q) the mean over the other items of p."""
    return (_probabilities(logits, b).sum(axis=2) - 0.5) / max(b.shape[1] - 1, 1)


def _influence(data: PosteriorData, weight: Array, wins: Array, middle: Array) -> Array:
    """(M, Q) J H⁻¹ g_m, at the mean of the draws' logits."""
    Q, M = data.n_items, data.n_users
    b = _offsets(wins, middle[None])
    p = _probabilities(middle[None], b)
    slope = (p * (1 - p))[0] * (1 - np.eye(Q)) / max(Q - 1, 1)
    J = np.diag(slope.sum(axis=1)) - slope
    user, (i, j) = np.repeat(np.arange(M), np.diff(data.starts)), divmod(data.pair, Q)
    e = weight * (1 - p[0].ravel()[data.pair])
    g = np.bincount(user * Q + i, e, M * Q) - np.bincount(user * Q + j, e, M * Q)
    return np.linalg.solve(_information(wins + wins.T, p)[0], g.reshape(M, Q).T).T @ J.T
