"""At most so many comparisons of each user, drawn at random by the seed and the user alone."""

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import take
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key
from mallowmix.numerics.token_gibbs import token_count


def limit_rows(
    comparisons: Comparisons,
    most: int,
    step: Step,
    seed: int,
    people: NDArray[np.int64] | None = None,
) -> Comparisons:
    """Keep at most so many comparisons of each user.

    Parameters
    ----------
    comparisons : Comparisons
        A row of weight w is w comparisons; the fraction left over counts as one more.
    most : int
        How many.
    step : Step
        Which draws.
    seed : int
        Of the draws.
    people : (M,) array of int, optional
        The numbers that identify the users' draws; their positions unless given.

    Returns
    -------
    Comparisons
    """
    if not len(comparisons):
        return comparisons
    people = np.arange(comparisons.n_users) if people is None else people
    kept = _kept(comparisons.starts(), comparisons.weight, people, most, as_key(seed), int(step))
    same = np.array_equal(kept, comparisons.weight)
    return comparisons if same else comparisons.with_weights(kept)


@compiled
def _kept(starts, weight, people, most, key, step):
    """How much of each row's weight is kept: of a user's whole comparisons at most so many."""
    kept = np.zeros(len(weight))
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        n = token_count(weight[rows])
        take(weight[rows], n, min(n, most), kept[rows], key, step, people[m])
    return kept
