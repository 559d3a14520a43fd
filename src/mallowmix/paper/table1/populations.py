"""A population drawn from the model of each system of Table 1.

It has users to learn from, and new users of whose comparisons some are given and some held out.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels
from mallowmix.data.rankings import Rankings
from mallowmix.data.splits import split_comparisons
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.m4 import M4
from mallowmix.model.mallows import sample_orders
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array, Positions

_N_NEW = 2000  # new users


class DrawnPopulation(NamedTuple):
    """A population of one model.

    Parameters
    ----------
    train : Comparisons or Rankings
        What to learn from.
    given, held_out : Comparisons
        Of the new users.
    sigma : (K, Q) array of int
        The planted rankings, as positions.
    """

    train: Comparisons | Rankings
    given: Comparisons
    held_out: Comparisons
    sigma: Positions


def population_of_model(name: str, size: str, seed: int) -> DrawnPopulation:
    """Draw the population of one model.

    Parameters
    ----------
    name : str
        A key of `PLANTED_MODELS`.
    size : {"quick", "whole"}
        "quick" has fewer users to learn from.
    seed : int
        Of the draw.

    Returns
    -------
    DrawnPopulation
        Users to learn from, and new ones.
    """
    random = generator(seed, Step.TABLE_1, list(PLANTED_MODELS).index(name))
    users, sigma = PLANTED_MODELS[name](2 if size == "quick" else 5, random, seed)
    M = users.n_users
    new = users.take_users(np.arange(M - _N_NEW, M))
    comparisons = new.comparisons() if isinstance(new, Rankings) else new
    given, held_out = split_comparisons(comparisons, "auto", 0.5, seed)
    return DrawnPopulation(users.take_users(np.arange(M - _N_NEW)), given, held_out, sigma)


def _references(Q: int, K: int, random: np.random.Generator) -> Positions:
    """(K, Q) random reference rankings, as positions."""
    return np.stack([random.permutation(Q) for _ in range(K)]).astype(np.int32)


def _items(Q: int) -> Labels:
    return as_labels([f"i{i:02d}" for i in range(Q)])


def _users(M: int) -> list[str]:
    return [f"u{m:06d}" for m in range(M)]


def _m4(
    scale: int, random: np.random.Generator, seed: int, phi: float = 0.3
) -> tuple[Comparisons, Positions]:
    """Mixed membership, Mallows components: Q = 12, K = 3, 40 comparisons a user."""
    model = M4(_references(12, 3, random), np.full(3, phi), np.full(3, 0.2), _items(12))
    return model.sample(600 * scale + _N_NEW, 40, seed=seed).comparisons, model.sigma


def _tm(scale: int, random: np.random.Generator, seed: int) -> tuple[Comparisons, Positions]:
    """Mixed membership, single rankings: the same at φ = 0."""
    return _m4(scale, random, seed, 0.0)


def _grade_of_membership(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Rankings, Positions]:
    """Mixed membership, Plackett–Luce: full rankings of 8 items, K = 2, a component a choice."""
    Q, M = 8, 250 * scale + _N_NEW
    scores = _scores(Q, 2, random)
    theta = random.dirichlet([0.3, 0.3], M)
    left, sigma = np.ones((M, Q), bool), np.zeros((M, Q), np.int32)
    for position in range(Q):
        z = (random.random(M) > theta[:, 0]).astype(int)
        # the largest: P ∝ exp(score)
        noisy = np.where(left, scores[z] + random.gumbel(size=(M, Q)), -np.inf)
        chosen = noisy.argmax(axis=1)
        sigma[np.arange(M), chosen] = position
        left[np.arange(M), chosen] = False
    return Rankings.from_sigma(sigma, _items(Q), _users(M)), sigma_of(np.argsort(-scores, axis=1))


def _sparse(scale: int, random: np.random.Generator, seed: int) -> tuple[Rankings, Positions]:
    """Three rankings of 10 items, without noise, of .55, .3 and .15 of those to learn from."""
    M, sigma = 300 * scale, _references(10, 3, random)
    share = np.array([0.55, 0.3, 0.15])
    old = np.repeat([0, 1, 2], np.rint(share * M).astype(int))
    component = np.r_[old, random.choice(3, _N_NEW, p=share)]
    users = _users(len(component))
    return Rankings.from_sigma(sigma[component], _items(10), users), sigma


def _mallows_rankings(
    Q: int, share: list[float], phi: float, M: int, random: np.random.Generator
) -> tuple[Rankings, Positions]:
    """Full rankings of users who have one Mallows component each."""
    sigma = _references(Q, len(share), random)
    component = random.choice(len(share), M, p=share)
    drawn = np.empty((M, Q), np.int32)
    for k, row in enumerate(sigma):
        mine = component == k
        orders = sample_orders(
            np.argsort(row), phi, int(mine.sum()), seed=int(random.integers(2**31))
        )
        drawn[mine] = sigma_of(orders)
    return Rankings.from_sigma(drawn, _items(Q), _users(M)), sigma


def _mallows_pairs(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Comparisons, Positions]:
    """A third of the 66 pairs of one ranking a user, of three Mallows components (φ = .5)."""
    rankings, sigma = _mallows_rankings(12, [0.4, 0.35, 0.25], 0.5, 600 * scale + _N_NEW, random)
    pairs = rankings.comparisons()
    keep = random.random(len(pairs)) < 1 / 3
    rows = (pairs.user[keep], pairs.winner[keep], pairs.loser[keep])
    return Comparisons.from_codes(*rows, None, pairs.items, pairs.users), sigma


def _two_mallows(scale: int, random: np.random.Generator, seed: int) -> tuple[Rankings, Positions]:
    """Full rankings from two Mallows components (Q = 10, φ = .6), .6 and .4 of the users."""
    return _mallows_rankings(10, [0.6, 0.4], 0.6, 2500 * scale + _N_NEW, random)


def _scores(Q: int, K: int, random: np.random.Generator) -> Array:
    """(K, Q) the same scores from 2 to −2 in random orders."""
    return np.stack([random.permutation(np.linspace(2, -2, Q)) for _ in range(K)])


def _btl(scale: int, random: np.random.Generator, seed: int) -> tuple[Comparisons, Positions]:
    """Every user has one of two Bradley–Terry components (Q = 8) and makes 20 comparisons."""
    model = BradleyTerryModel(_scores(8, 2, random), np.ones(2), _items(8))
    drawn = model.sample(1000 * scale + _N_NEW, 20, prior="vertices", seed=seed)
    return drawn.comparisons, model.sigma


def _pl(scale: int, random: np.random.Generator, seed: int) -> tuple[Rankings, Positions]:
    """Every user has one of three Plackett–Luce models of 8 items and gives one full ranking."""
    scores, M = _scores(8, 3, random), 500 * scale + _N_NEW
    noisy = scores[random.integers(0, 3, M)] + random.gumbel(size=(M, 8))
    rankings = Rankings.from_sigma(sigma_of(np.argsort(-noisy, axis=1)), _items(8), _users(M))
    return rankings, sigma_of(np.argsort(-scores, axis=1))


def _mpm(scale: int, random: np.random.Generator, seed: int) -> tuple[Comparisons, Positions]:
    """One consensus of 10 items, adherence log γ ~ N(0, ¼), 30 comparisons a user.

    A user's comparisons come from one multinomial over all ordered pairs.
    """
    Q, M, v = 10, 150 * scale + _N_NEW, random.permutation(np.linspace(1, -1, 10))
    gamma = np.exp(0.5 * random.standard_normal(M))
    pairs = np.empty((M, 30), np.int64)
    for m in range(M):
        p = np.exp(gamma[m] * (v[:, None] - v)) * ~np.eye(Q, dtype=bool)
        pairs[m] = random.choice(Q * Q, 30, p=(p / p.sum()).ravel())
    rows = (np.repeat(np.arange(M), 30), *np.divmod(pairs.ravel(), Q))
    comparisons = Comparisons.from_codes(*rows, None, _items(Q), _users(M))
    return comparisons, sigma_of(np.argsort(-v))[None]


_Draw = Callable[[int, np.random.Generator, int], tuple[Comparisons | Rankings, Positions]]
PLANTED_MODELS: dict[str, _Draw] = {
    "M4": _m4,
    "TM": _tm,
    "grade of membership PL": _grade_of_membership,
    "sparse choice": _sparse,
    "Mallows, pairs": _mallows_pairs,
    "two Mallows": _two_mallows,
    "BTL": _btl,
    "PL": _pl,
    "MPM": _mpm,
}
