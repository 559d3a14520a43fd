"""Members of an ensemble: other fits of the same data, to average predictions over.

One fit is one of many local optima that are nearly as good. Each member is learnt from a random
half of every user's comparisons (all of theirs where they have few), with a number of components
near the one given.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.model.fitted_model import FittedModel
from mallowmix.numerics.randomness import Step, generator

_PART, _FEW = 0.5, 20  # half of a user's comparisons, but no fewer than this many
_NEIGHBOURS = (0, -1, 1, 0, -2, 2)  # of the given number of components, in turn


def member_fits(
    comparisons: Any,
    n_components: int,
    n_members: int,
    fit_one: Callable[[Comparisons, int, int], FittedModel],
    seed: int,
) -> list[FittedModel]:
    """Fit the members of an ensemble, each to its own part of the data.

    Parameters
    ----------
    comparisons : Comparisons
        All the data.
    n_components : int
        K of the first model; members have K or a number near it.
    n_members : int
        How many members.
    fit_one : callable
        Called as ``fit_one(comparisons, n_components, number)`` with numbers from 1.
    seed : int
        Which parts are taken.
    """
    fits = []
    for number in range(1, n_members + 1):
        K = max(1, n_components + _NEIGHBOURS[number % len(_NEIGHBOURS)])
        fits.append(fit_one(part_of(comparisons, seed, number), K, number))
    return fits


def part_of(comparisons: Comparisons, seed: int, number: int) -> Comparisons:
    """A random part of every user's comparisons, of which a row of weight w holds w."""
    per_user = np.maximum(comparisons.per_user(), 1)
    share = np.maximum(_PART, np.minimum(1.0, _FEW / per_user))[comparisons.user]
    whole = np.floor(comparisons.weight)
    random = generator(seed, Step.MEMBERS, number)
    kept = random.binomial(whole.astype(np.int64), share)
    rest = (comparisons.weight - whole) * (random.random(len(share)) < share)
    return comparisons.with_weights(kept + rest)
