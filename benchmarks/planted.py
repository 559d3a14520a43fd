"""The populations that every benchmark fits.

Random reference rankings, one dispersion, and how far a fit is from them.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

import mallowmix as mm
from mallowmix.model.permutations import match_components


@dataclass(frozen=True)
class Setting:
    """What is planted: Q items, K components, N comparisons a person, one φ and one α for all
    components.
    """

    n_items: int = 100
    n_components: int = 10
    per_user: int = 300
    phi: float = 0.2
    alpha: float = 0.1
    seed: int = 0


def truth_of(setting: Setting) -> mm.M4:
    """The planted model."""
    random = np.random.default_rng(setting.seed)
    K = setting.n_components
    sigma = np.stack([random.permutation(setting.n_items) for _ in range(K)])
    return mm.M4(
        sigma, np.full(K, setting.phi), np.full(K, setting.alpha), np.arange(setting.n_items)
    )


def draw(setting: Setting, n_users: int, *, others: bool = False) -> mm.Comparisons:
    """The comparisons of `n_users` people of the planted model.

    `others` are people whom no fit has seen.
    """
    return (
        truth_of(setting)
        .sample(n_users, setting.per_user, seed=setting.seed + (1_000_003 if others else 0))
        .comparisons
    )


def count_matrix(comparisons: mm.Comparisons) -> sp.csr_array:
    """(users, Q²) how often each person made each choice, float64: documents by words."""
    shape = (comparisons.n_users, comparisons.n_items**2)
    return sp.csr_array((comparisons.weight, comparisons.pair, comparisons.starts()), shape=shape)


def error_of(sigma: ArrayLike, truth: mm.M4) -> float:
    """The fraction of pairs in the wrong order, mean over matched components.

    A random ranking has one half.
    """
    return float(match_components(sigma, truth.sigma).kendall.mean())
