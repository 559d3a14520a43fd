"""How users mix components: the largest weight of each, and archetypes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.typing import Array

SOLO = 2 / 3  # a user with so much of one component follows it
DUO = 0.85  # a user with so much of two components together follows both
_BINS = 20


@dataclass(frozen=True)
class Archetype:
    """Users who follow the same one or two components.

    Attributes
    ----------
    components : tuple of int
        The components that they follow, numbered from 1; none: three or more.
    n_people : int
        How many they are.
    share : float
        Their fraction of all users.
    weights : tuple of float
        Their mean weights.
    """

    components: tuple[int, ...]
    n_people: int
    share: float
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Mixing:
    """How users mix components.

    Attributes
    ----------
    n_people : int
    edges, counts : ndarray
        The largest weight of each user, as a histogram from 0 to 1.
    mean_largest : float
        The mean of the largest weights.
    solo : float
        The fraction of users whose largest weight is two thirds or more.
    archetypes : tuple of Archetype
        The largest group first; their shares sum to one.
    """

    n_people: int
    edges: Array
    counts: Array
    mean_largest: float
    solo: float
    archetypes: tuple[Archetype, ...]


def mixing(theta: ArrayLike, people: ArrayLike | None = None) -> Mixing:
    """Summarise weights: archetypes, and the histogram of the largest weight.

    Parameters
    ----------
    theta : array_like, shape (M, K)
        Weights of users.
    people : array_like, shape (M,), optional
        User weights; 1 unless given.

    Returns
    -------
    Mixing
    """
    theta = np.asarray(theta, np.float64)
    counts = np.ones(len(theta)) if people is None else np.asarray(people, np.float64)
    largest = theta.max(axis=1, initial=0.0)
    heights, edges = np.histogram(largest, _BINS, (0.0, 1.0), weights=counts)
    total = max(float(counts.sum()), 1e-300)
    mean, solo = float(counts @ largest / total), float(counts[largest >= SOLO].sum() / total)
    return Mixing(
        len(theta), edges, heights.astype(np.float64), mean, solo, _archetypes(theta, counts)
    )


def _archetypes(theta: Array, people: Array) -> tuple[Archetype, ...]:
    followed = _followed(theta)
    groups, which = (
        np.unique(followed, axis=0, return_inverse=True)
        if len(theta)
        else (followed, np.zeros(0, np.int64))
    )
    found = [_archetype(group, which.ravel() == g, theta, people) for g, group in enumerate(groups)]
    return tuple(sorted(found, key=lambda group: (-group.share, group.components)))


def _followed(theta: Array) -> NDArray[np.int64]:
    """(M, 2) the one or two components (from 1, ascending) that each user follows; 0 is none."""
    if theta.shape[1] < 2:
        return np.column_stack([np.ones(len(theta), np.int64), np.zeros(len(theta), np.int64)])
    order = np.argsort(-theta, axis=1, kind="stable")[:, :2]
    first, second = np.take_along_axis(theta, order, axis=1).T
    pair = np.sort(order + 1, axis=1)
    solo = np.column_stack([order[:, 0] + 1, np.zeros(len(theta), np.int64)])
    many = np.zeros_like(pair)
    return np.where(
        (first >= SOLO)[:, None], solo, np.where((first + second >= DUO)[:, None], pair, many)
    )


def _archetype(
    group: Sequence[int], members: NDArray[np.bool_], theta: Array, people: Array
) -> Archetype:
    counts = people[members]
    total = max(float(counts.sum()), 1e-300)
    components = tuple(int(k) for k in group if k > 0)
    share = float(counts.sum() / max(float(people.sum()), 1e-300))
    return Archetype(
        components, int(members.sum()), share, tuple((counts @ theta[members] / total).tolist())
    )
