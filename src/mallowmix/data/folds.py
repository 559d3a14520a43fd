"""People dealt out at random: into folds, each held out once, and into two halves."""

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.numerics.randomness import generator

_STEP = 100


def deal_people(n_people: int, n_parts: int, *, seed: int, draw: int = 0) -> NDArray[np.int64]:
    """The part of each person, 0 … n_parts − 1, a function of the seed and the sizes; parts differ by one person at most."""
    part = np.empty(n_people, np.int64)
    part[generator(seed, _STEP, draw).permutation(n_people)] = np.arange(n_people) % n_parts
    return part


def counted_people(comparisons: Comparisons) -> Comparisons:
    """Without the people who say nothing or whose weight is 0: they would make folds look larger than they are."""
    counts = (comparisons.user_weight > 0) & (comparisons.per_user() > 0)
    return comparisons if counts.all() else comparisons.take_users(counts)
