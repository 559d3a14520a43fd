"""The users of MovieLens for Figure 4: those to learn from, and the held-out ones.

Learnt from are the users numbered up to 4000, at most 300 comparisons of each, on the 200 most
rated films; held out are the others. In full, nothing is thinned, and left-to-right scores all
held-out users.
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
_MOST_JUDGES, _JUDGES = 600, 1 / 7  # training users by whom settings are chosen: so many at most
_JUDGES_SUBSET = 60  # of these for left-to-right


class ScoredUsers(NamedTuple):
    """Users with all their comparisons, and a subset of them for left-to-right."""

    users: Comparisons
    subset: Comparisons


class MovielensSplit(NamedTuple):
    """The training users and the held-out ones.

    Attributes
    ----------
    training : Comparisons
        What is learnt from; users count alike.
    training_whole : Comparisons
        All comparisons of the same users.
    held_out : ScoredUsers
        The others.
    """

    training: Comparisons
    training_whole: Comparisons
    held_out: ScoredUsers

    @property
    def learnt(self) -> Comparisons:
        """What is learnt from, nobody counting for more than 20 comparisons."""
        return with_cap(self.training)


class SettingsTrial(NamedTuple):
    """Training users to learn from, and others by whom settings are chosen.

    The latter have all their comparisons, as the held-out users have when they are scored.
    """

    training: Comparisons
    judges: ScoredUsers


def with_cap(comparisons: Comparisons) -> Comparisons:
    """The same, nobody counting for more than 20 comparisons."""
    return capped(comparisons, _USER_CAP)


def read_movielens_split(data: Path | None, size: str) -> MovielensSplit:
    """The paper's split of the users.

    Parameters
    ----------
    data : Path, optional
        The folder with MovieLens.
    size : {"quick", "whole", "full"}
        Quick: some of the users only, and a smaller subset. Full: all comparisons, all users.

    Returns
    -------
    MovielensSplit
        The two groups of users.
    """
    comparisons = movielens_comparisons(read_films(data), _N_ITEMS)
    first, others = first_users(comparisons, _N_FIRST)
    most = None if size == "full" else _LEARNT_PER_USER
    training = thinned(first, most, "train", 0, np.arange(first.n_users)).kept
    if size == "quick":
        users = _some(first.n_users, _QUICK_LEARNT)
        first, training = first.take_users(users), training.take_users(users)
    n_subset = {"quick": _QUICK_SUBSET, "whole": _N_SUBSET}.get(size)
    return MovielensSplit(training, first, _scored(others, n_subset))


def settings_trial(split: MovielensSplit) -> SettingsTrial:
    """Part of the training users for the choice of settings.

    Parameters
    ----------
    split : MovielensSplit
        Its training users.

    Returns
    -------
    SettingsTrial
        A seventh of them, at most 600, judge; the others are learnt from.
    """
    n = split.training.n_users
    judges = np.zeros(n, bool)
    judges[_some(n, max(1, min(_MOST_JUDGES, int(n * _JUDGES))))] = True
    whole = split.training_whole.take_users(judges)
    return SettingsTrial(split.training.take_users(~judges), _scored(whole, _JUDGES_SUBSET))


def _scored(comparisons: Comparisons, n_subset: int | None) -> ScoredUsers:
    """Users, and so many of them with few comparisons; all users where the number is None."""
    if n_subset is None:
        return ScoredUsers(comparisons, comparisons)
    n = comparisons.per_user()
    among = np.flatnonzero((n > 0) & (n <= _MOST_COMPARISONS))
    return ScoredUsers(comparisons, comparisons.take_users(among[_some(len(among), n_subset)]))


def _some(n: int, most: int) -> NDArray[np.int64]:
    """At most so many numbers below n, drawn at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(generator(0, Step.FIGURE_4).choice(n, most, replace=False))
