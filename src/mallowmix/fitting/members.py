"""Members of an ensemble: further fits of the same data, to average predictions over.

One fit is one of many local optima that are nearly as good. Each member is learnt from a random
half of every user's comparisons (all of theirs where they have few), with a number of components
near the wanted one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import with_weights
from mallowmix.model.fitted_model import FittedModel
from mallowmix.numerics.randomness import Step, generator

_PART, _FEW = 0.5, 20  # half of a user's comparisons, but no fewer than this many
_NEIGHBOURS = (0, -1, 1, 0, -2, 2)  # of the wanted number of components, in turn


def member_fits(
    comparisons: Any,
    n_components: int,
    n_members: int,
    fit_one: Callable[[Comparisons, int, int], FittedModel],
    seed: int,
) -> list[FittedModel]:
    """Fits number 1 to `n_members`, each `fit_one(comparisons, n_components, number)` of its own part of the data."""
    fits = []
    for number in range(1, n_members + 1):
        K = max(1, n_components + _NEIGHBOURS[number % len(_NEIGHBOURS)])
        fits.append(fit_one(part_of(comparisons, seed, number), K, number))
    return fits


def part_of(comparisons: Comparisons, seed: int, number: int) -> Comparisons:
    """A random part of every user's comparisons, one by one: a row of weight w stands for w of them. Nobody is left out."""
    per_user = np.maximum(comparisons.per_user(), 1)
    share = np.maximum(_PART, np.minimum(1.0, _FEW / per_user))[comparisons.user]
    whole = np.floor(comparisons.weight)
    random = generator(seed, Step.MEMBERS, number)
    kept = random.binomial(whole.astype(np.int64), share)
    rest = (comparisons.weight - whole) * (random.random(len(share)) < share)
    return with_weights(comparisons, kept + rest)
