"""One Mallows component: p(σ) ∝ φ^d(σ, σ₀), its pairwise probabilities, its sampling.

Every sum here has only non-negative terms and no division by 1 − φ, so it is exact from φ = 0 to
φ → 1.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError, OptionError, check_at_least
from mallowmix.model.permutations import as_permutations, discordant_pairs
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, uniforms

_RANKINGS = int(Step.RANKINGS)
_EVEN = np.array([0.5])  # β at gap 0
MAX_PHI = 1 - 1e-6  # φ → 1 is the uniform distribution, whose reference ranking cannot be known


class GapProbabilities(NamedTuple):
    """β by gap g: the probability that the item g positions higher wins, and that it loses."""

    win: NDArray[np.float64]
    lose: NDArray[np.float64]


def check_phi(phi: float) -> float:
    """A dispersion: 0 ≤ φ ≤ 1."""
    if not 0 <= phi <= 1:
        raise OptionError(
            option="phi", value=phi, expected="between 0 (everyone agrees) and 1 (pure chance)"
        )
    return float(phi)


def gap_probabilities(n_items: int, phi: float) -> GapProbabilities:
    """β(g), that the higher of two items g positions apart wins, and 1 − β(g), for g = 0 … Q−1.

    The complement comes from its own sum: `1 - win` would lose all its digits where it is small.
    The arrays cannot be written: they are kept for the next calls.
    """
    return _gap_probabilities(n_items, float(phi))


@lru_cache(maxsize=64)  # a search asks for the same few φ again and again
def _gap_probabilities(n_items: int, phi: float) -> GapProbabilities:
    win, lose = _gap_sums(n_items, phi)
    lose = phi ** np.arange(1, n_items) * lose
    both = GapProbabilities(np.concatenate([_EVEN, win]), np.concatenate([_EVEN, lose]))
    for each in both:
        each.setflags(write=False)
    return both


def log_gap_probabilities(n_items: int, phi: float) -> GapProbabilities:
    """The logarithms of `gap_probabilities` for φ > 0, also where β underflows."""
    win, lose = _gap_sums(n_items, phi)
    log_lose = np.arange(1, n_items) * math.log(phi) + np.log(lose)
    return GapProbabilities(np.log(np.r_[0.5, win]), np.r_[math.log(0.5), log_lose])


def _gap_sums(n_items: int, phi: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """β(g) and (1 − β(g)) / φ^g for g = 1 … Q−1."""
    powers = check_phi(phi) ** np.arange(n_items)  # φ⁰ … φ^{Q−1}
    S = np.cumsum(powers)  # S_g = 1 + φ + … + φ^{g−1}, g = 1 … Q
    up = np.cumsum(np.arange(1, n_items) * powers[:-1])  # Σ_{l<g} (l+1) φ^l
    down = np.cumsum(S[:-1])  # Σ_{l<g} (g−l) φ^l
    both = S[:-1] * S[1:]  # S_g S_{g+1}
    return up / both, down / both


def beta_matrix(sigma: ArrayLike, phi: float) -> NDArray[np.float64]:
    """β[i, j]: the probability that i is preferred to j; β + βᵀ = 1, ½ on the diagonal."""
    sigma = np.asarray(sigma, np.int64)
    win, lose = gap_probabilities(len(sigma), phi)
    gap = sigma[None, :] - sigma[:, None]  # > 0 where i is above j
    return np.where(gap >= 0, win[np.abs(gap)], lose[np.abs(gap)])


def log_z(n_items: int, phi: float) -> float:
    """The normaliser: log Z = Σ_g log(1 + φ + … + φ^{g−1})."""
    return float(np.log(np.cumsum(check_phi(phi) ** np.arange(n_items))).sum())


def log_pmf(sigma: ArrayLike, reference: ArrayLike, phi: float) -> float:
    """The log-probability log p(σ) = d(σ, σ₀) log φ − log Z of a ranking; both as positions."""
    distance, phi = discordant_pairs(sigma, reference), check_phi(phi)
    if distance and not phi:  # 0 log 0 = 0 below
        return -math.inf
    return (distance * math.log(phi) if distance else 0.0) - log_z(len(np.asarray(sigma)), phi)


def pmf(sigma: ArrayLike, reference: ArrayLike, phi: float) -> float:
    """p(σ) = φ^d(σ, σ₀) / Z."""
    return math.exp(log_pmf(sigma, reference, phi))


def expected_distance(n_items: int, phi: float) -> float:
    """E d(σ, σ₀): the g-th insertion displaces l < g items with probability φ^l / S_g."""
    powers = check_phi(phi) ** np.arange(n_items)
    return float((np.cumsum(np.arange(n_items) * powers) / np.cumsum(powers)).sum())


def sample_orders(
    reference: ArrayLike, phi: float, size: int, *, seed: int = 0
) -> NDArray[np.int32]:
    """Draw rankings by repeated insertion (RIM).

    Parameters
    ----------
    reference : (Q,) array of int
        The reference ranking as an order, best item first.
    phi : float
        The dispersion.
    size : int
        How many rankings to draw.
    seed : int
        The same seed gives the same rankings.

    Returns
    -------
    (size, Q) array of int
        Orders, best item first.
    """
    order = as_permutations(reference, "reference")
    if order.ndim != 1:
        raise DataError(f"reference must be one ranking; got the shape {order.shape}.")
    check_at_least("size", size, 0)
    cumulative = np.cumsum(check_phi(phi) ** np.arange(len(order)))
    return _insert_repeatedly(order, cumulative, size, as_key(seed))


@compiled
def _insert_repeatedly(order, cumulative, size, key):
    """Insert the i-th reference item l positions above the end with probability φ^l / S_{i+1}."""
    n_items = len(order)
    orders = np.empty((size, n_items), np.int32)
    for n in range(size):
        for i in range(n_items):
            u, _ = uniforms(key, _RANKINGS, n, i, 0)
            displaced = min(
                np.searchsorted(cumulative[: i + 1], u * cumulative[i], side="right"), i
            )
            for r in range(i, i - displaced, -1):
                orders[n, r] = orders[n, r - 1]
            orders[n, i - displaced] = order[i]
    return orders
