"""Further fits of the same data, to average predictions over: one fit is one of many optima that are nearly as good.

Each is learnt from a random half of everybody's comparisons (all of theirs where they have few), with a number of components near
the wanted one. Where the fits agree, the average is what each says; where they do not, it is less sure.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import generator

_STEP = 36
_PART, _FEW = 0.5, 20  # half of a person's comparisons, but no fewer than this many
_NEIGHBOURS = (0, -1, 1, 0, -2, 2)  # of the wanted number of components, in turn


def further_fits(
    comparisons: Comparisons,
    n_components: int,
    n_further: int,
    fit_one: Callable[[Comparisons, int, int], M4],
    seed: int,
) -> list[M4]:
    """Fits number 1 to `n_further`, each `fit_one(comparisons, n_components, number)` of its own part of the data."""
    fits = []
    for number in range(1, n_further + 1):
        K = max(1, n_components + _NEIGHBOURS[number % len(_NEIGHBOURS)])
        fits.append(fit_one(part_of(comparisons, seed, number), K, number))
    return fits


def part_of(comparisons: Comparisons, seed: int, number: int) -> Comparisons:
    """A random part of everybody's comparisons, one by one: a row of weight w stands for w of them. Nobody is left out."""
    share = np.maximum(_PART, np.minimum(1.0, _FEW / np.maximum(comparisons.per_user(), 1)))[
        comparisons.user
    ]
    whole = np.floor(comparisons.weight)
    random = generator(seed, _STEP, number)
    kept = random.binomial(whole.astype(np.int64), share) + (comparisons.weight - whole) * (
        random.random(len(share)) < share
    )
    return _rows(comparisons, kept)


def _rows(comparisons: Comparisons, weight: NDArray[np.float64]) -> Comparisons:
    """The same people with these weights of their rows; rows of weight 0 go."""
    keep = weight > 0
    columns = {name: getattr(comparisons, name)[keep] for name in ("user", "winner", "loser")}
    return replace(comparisons, **columns, weight=weight[keep])
