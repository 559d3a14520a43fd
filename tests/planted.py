"""Planted models and populations that several tests share, and how far a fitted model is from what
was planted.
"""

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.subspace import PairStatistics
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components


def planted(Q: int, K: int, phi=0.2, alpha=0.1, seed: int = 0) -> M4:
    """K random reference rankings of Q items."""
    random = np.random.default_rng(seed)
    sigma = [random.permutation(Q) for _ in range(K)]
    return M4(
        sigma, np.broadcast_to(phi, K), np.broadcast_to(alpha, K), [f"i{i:03d}" for i in range(Q)]
    )


def error(model: M4, truth: M4) -> float:
    """The mean fraction of discordant pairs after matching."""
    return float(match_components(model.sigma, truth.sigma).kendall.mean())


def blocks_of(comparisons: Comparisons):
    return make_blocks(comparisons), ThreadEngine(2)


def tiny_population(
    seed: int, Q: int = 4, M: int = 5, *, fractions: bool = False, people: bool = False
) -> Comparisons:
    """A few people with a few comparisons each, repeated rows, and, if asked, weights like 2.5 and
    unequal people.
    """
    random = np.random.default_rng(seed)
    n = 8 * M
    user, winner = random.integers(0, M, n), random.integers(0, Q, n)
    loser = (winner + random.integers(1, Q, n)) % Q
    weight = random.choice([0.5, 1.0, 2.0, 2.5] if fractions else [1.0, 1.0, 2.0], n)
    user_weight = random.choice([0.0, 0.5, 1.0, 3.0], M) if people else None
    return Comparisons.from_codes(
        user, winner, loser, weight, list("abcdefgh")[:Q], range(M), user_weight
    )


def exact_pairs(beta: np.ndarray, a: np.ndarray, mu: np.ndarray) -> PairStatistics:
    """What the counts of infinitely many comparisons would say: β of the pairs (P, K), mean weights
    a, shares μ.
    """
    P = len(beta)
    Q = int((1 + np.sqrt(1 + 8 * P)) / 2)
    win = np.clip(beta @ a, 1e-9, 1 - 1e-9)
    index, value = np.zeros((Q, Q), np.int32), np.zeros((Q, Q))
    p = 0
    for i in range(Q):
        for j in range(i + 1, Q):
            index[i, j] = index[j, i] = p
            value[i, j], value[j, i] = (
                ((1 - win[p]) / win[p] / mu[p]) ** 0.5,
                -((win[p] / (1 - win[p]) / mu[p]) ** 0.5),
            )
            p += 1
    return PairStatistics(index.ravel(), value.ravel(), win, mu, 1e6 * mu)


def exact_moment(beta: np.ndarray, alpha: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The limit of the signed moment: D Cov(β θ) D with D = √μ / √(q(1−q)) and the covariance of a
    Dirichlet.
    """
    a0 = alpha.sum()
    a = alpha / a0
    covariance = (np.diag(a) - np.outer(a, a)) / (a0 + 1)
    q = np.clip(beta @ a, 1e-9, 1 - 1e-9)
    D = np.sqrt(mu / (q * (1 - q)))
    return D[:, None] * (beta @ covariance @ beta.T) * D
