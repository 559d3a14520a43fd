"""The users of MovieLens for Figure 4: those to learn from, and the held-out ones.

Learnt from are the users numbered up to 4000, at most 300 comparisons of each, on the 200 most
rated films; held out are the others.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.thinning import thinned
from mallowmix.data.comparisons import Comparisons
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.movielens_files import read_films
from mallowmix.readers.movielens import first_users, movielens_comparisons
from mallowmix.readers.rating_forms import capped

_N_ITEMS, _N_FIRST = 200, 4000
# users for left-to-right, of those with at most so many comparisons
_N_SUBSET, _MOST_COMPARISONS = (200, 600)
_QUICK_SUBSET, _QUICK_LEARNT = 60, 1500
_USER_CAP = 20.0  # the most that a user counts for in learning, in independent comparisons
# comparisons of a user that are learnt from: with that weight, more take longer and add little
_LEARNT_PER_USER = 300


class MovielensSplit(NamedTuple):
    """The users to learn from, the held-out ones, and a subset of these for left-to-right."""

    learnt: Comparisons
    held_out: Comparisons
    subset: Comparisons


def read_movielens_split(data: Path | None, *, quick: bool) -> MovielensSplit:
    """The paper's split of the users.

    Parameters
    ----------
    data : Path, optional
        The folder with MovieLens.
    quick : bool
        Whether to learn from some of the users only, and to have a smaller subset.

    Returns
    -------
    MovielensSplit
        The comparisons of the three groups of users.
    """
    comparisons = movielens_comparisons(read_films(data), _N_ITEMS)
    first, held_out = first_users(comparisons, _N_FIRST)
    learnt = thinned(first, _LEARNT_PER_USER, "train", 0, np.arange(first.n_users)).kept
    if quick:
        learnt = _some(learnt, np.arange(learnt.n_users), _QUICK_LEARNT)
    n = held_out.per_user()
    among = np.flatnonzero((n > 0) & (n <= _MOST_COMPARISONS))
    subset = _some(held_out, among, _QUICK_SUBSET if quick else _N_SUBSET)
    return MovielensSplit(capped(learnt, _USER_CAP), held_out, subset)


def _some(comparisons: Comparisons, among: NDArray[np.int64], most: int) -> Comparisons:
    """At most so many of these users, drawn at random."""
    if len(among) > most:
        among = generator(0, Step.FIGURE_4).choice(among, most, replace=False)
    return comparisons.take_users(np.sort(among))
