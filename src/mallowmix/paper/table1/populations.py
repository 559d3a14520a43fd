"""A population from the model of each system of Table 1: to learn from, and new people of whom some is told and some is asked."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels
from mallowmix.data.rankings import Rankings
from mallowmix.data.splits import split_comparisons
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.m4 import M4
from mallowmix.model.mallows import sample_orders
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_STEP = Step.TABLE_1
NEW = 2000  # people who are asked


class Population(NamedTuple):
    """What to learn from (comparisons or rankings), what is told and asked of new people, and the rankings behind it all."""

    train: Comparisons | Rankings
    given: Comparisons
    held_out: Comparisons
    sigma: NDArray[np.int32]  # (K, Q)


def population(name: str, size: str, seed: int) -> Population:
    """The population of one model; "quick" has fewer people."""
    random = generator(seed, _STEP, list(MODELS).index(name))
    everybody, sigma = MODELS[name](2 if size == "quick" else 5, random, seed)
    M = everybody.n_users
    new = everybody.take_users(np.arange(M - NEW, M))
    given, held_out = split_comparisons(
        new.comparisons() if isinstance(new, Rankings) else new, "auto", 0.5, seed
    )
    return Population(everybody.take_users(np.arange(M - NEW)), given, held_out, sigma)


def _references(Q: int, K: int, random: np.random.Generator) -> NDArray[np.int32]:
    """(K, Q) random reference rankings, as positions."""
    return np.stack([random.permutation(Q) for _ in range(K)]).astype(np.int32)


def _labels(Q: int) -> Labels:
    return as_labels([f"i{i:02d}" for i in range(Q)])


def _users(M: int) -> list[str]:
    return [f"u{m:06d}" for m in range(M)]


def _m4(
    scale: int, random: np.random.Generator, seed: int, phi: float = 0.3
) -> tuple[Comparisons, NDArray[np.int32]]:
    """Mixed membership, Mallows components: Q = 12, K = 3, 40 comparisons a person."""
    model = M4(_references(12, 3, random), np.full(3, phi), np.full(3, 0.2), _labels(12))
    return model.sample(600 * scale + NEW, 40, seed=seed).comparisons, model.sigma


def _tm(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Comparisons, NDArray[np.int32]]:
    """Mixed membership, single rankings: the same at φ = 0."""
    return _m4(scale, random, seed, 0.0)


def _gom(scale: int, random: np.random.Generator, seed: int) -> tuple[Rankings, NDArray[np.int32]]:
    """Mixed membership, Plackett–Luce: full rankings of 8 items, K = 2, a component drawn anew for every choice."""
    Q, M = 8, 250 * scale + NEW
    scores = _scores(Q, 2, random)
    theta = random.dirichlet([0.3, 0.3], M)
    left, sigma = np.ones((M, Q), bool), np.zeros((M, Q), np.int32)
    for place in range(Q):
        z = (random.random(M) > theta[:, 0]).astype(int)
        # the largest: P ∝ exp(score)
        noisy = np.where(left, scores[z] + random.gumbel(size=(M, Q)), -np.inf)
        chosen = noisy.argmax(axis=1)
        sigma[np.arange(M), chosen] = place
        left[np.arange(M), chosen] = False
    return Rankings.from_sigma(sigma, _labels(Q), _users(M)), sigma_of(np.argsort(-scores, axis=1))


def _sparse(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Rankings, NDArray[np.int32]]:
    """Three rankings of 10 items, followed to the letter by exactly .55, .3 and .15 of those to learn from."""
    M, sigma = 300 * scale, _references(10, 3, random)
    share = np.array([0.55, 0.3, 0.15])
    held = np.r_[
        np.repeat([0, 1, 2], np.rint(share * M).astype(int)), random.choice(3, NEW, p=share)
    ]
    return Rankings.from_sigma(sigma[held], _labels(10), _users(len(held))), sigma


def _mallows_rankings(
    Q: int, share: list[float], phi: float, M: int, random: np.random.Generator
) -> tuple[Rankings, NDArray[np.int32]]:
    """Full rankings of people who hold one Mallows component each."""
    sigma = _references(Q, len(share), random)
    held = random.choice(len(share), M, p=share)
    drawn = np.empty((M, Q), np.int32)
    for k, row in enumerate(sigma):
        mine = held == k
        drawn[mine] = sigma_of(
            sample_orders(np.argsort(row), phi, int(mine.sum()), seed=int(random.integers(2**31)))
        )
    return Rankings.from_sigma(drawn, _labels(Q), _users(M)), sigma


def _mallows_pairs(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Comparisons, NDArray[np.int32]]:
    """One ranking each from one of three Mallows components (Q = 12, φ = .5), seen through a third of its 66 pairs."""
    rankings, sigma = _mallows_rankings(12, [0.4, 0.35, 0.25], 0.5, 600 * scale + NEW, random)
    votes = rankings.comparisons()
    keep = random.random(len(votes)) < 1 / 3
    columns = (
        votes.user[keep],
        votes.winner[keep],
        votes.loser[keep],
        None,
        votes.items,
        votes.users,
    )
    return Comparisons.from_codes(*columns), sigma


def _top_three(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Rankings, NDArray[np.int32]]:
    """Full rankings from two Mallows components (Q = 10, φ = .6), .6 and .4 of the people."""
    return _mallows_rankings(10, [0.6, 0.4], 0.6, 2500 * scale + NEW, random)


def _scores(Q: int, K: int, random: np.random.Generator) -> Array:
    """(K, Q) the same scores from 2 to −2 in random orders."""
    return np.stack([random.permutation(np.linspace(2, -2, Q)) for _ in range(K)])


def _btl(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Comparisons, NDArray[np.int32]]:
    """Everybody holds one of two Bradley–Terry columns (Q = 8) and makes 20 comparisons."""
    scores = _scores(8, 2, random)
    model = BradleyTerryModel(scores, np.ones(2), _labels(8))
    drawn = model.sample(1000 * scale + NEW, 20, prior="vertices", seed=seed)
    return drawn.comparisons, model.sigma


def _pl(scale: int, random: np.random.Generator, seed: int) -> tuple[Rankings, NDArray[np.int32]]:
    """Everybody holds one of three Plackett–Luce models of 8 items and gives one full ranking."""
    scores, M = _scores(8, 3, random), 500 * scale + NEW
    noisy = scores[random.integers(0, 3, M)] + random.gumbel(size=(M, 8))
    return Rankings.from_sigma(
        sigma_of(np.argsort(-noisy, axis=1)), _labels(8), _users(M)
    ), sigma_of(np.argsort(-scores, axis=1))


def _mpm(
    scale: int, random: np.random.Generator, seed: int
) -> tuple[Comparisons, NDArray[np.int32]]:
    """One consensus of 10 items, adherence log γ ~ N(0, ¼), 30 comparisons a person from one multinomial over all ordered
    pairs.
    """
    Q, M, v = 10, 150 * scale + NEW, random.permutation(np.linspace(1, -1, 10))
    gamma = np.exp(0.5 * random.standard_normal(M))
    pairs = np.empty((M, 30), np.int64)
    for m in range(M):
        p = np.exp(gamma[m] * (v[:, None] - v)) * ~np.eye(Q, dtype=bool)
        pairs[m] = random.choice(Q * Q, 30, p=(p / p.sum()).ravel())
    winner, loser = np.divmod(pairs.ravel(), Q)
    votes = Comparisons.from_codes(
        np.repeat(np.arange(M), 30), winner, loser, None, _labels(Q), _users(M)
    )
    return votes, sigma_of(np.argsort(-v))[None]


Drawn = Callable[[int, np.random.Generator, int], tuple[Comparisons | Rankings, NDArray[np.int32]]]
MODELS: dict[str, Drawn] = {
    "M4": _m4,
    "TM": _tm,
    "grade of membership PL": _gom,
    "sparse choice": _sparse,
    "Mallows, pairs": _mallows_pairs,
    "two Mallows": _top_three,
    "BTL": _btl,
    "PL": _pl,
    "MPM": _mpm,
}
