"""Where disagreement comes from: noise within a taste, tastes mixed within a person, differences between people; what polarises.

A comparison of the pair {i, j} is a coin with the probability p = Σ_k θ_k β_(i,j),k that depends on the person. Over people and
answers its variance q (1 − q), q = E p, is the sum of three parts, with a = E θ and R = E θθᵀ:

    noise within a taste      Σ_k a_k β_k (1 − β_k)        a taste followed by a person still answers at random
    tastes within a person    Σ_k a_k β_k² − βᵀ R β        a person follows now one taste, now another
    between people            βᵀ R β − q²                  people differ in p
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.model.fitted_model import AnyModel
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.typing import Array


@dataclass(frozen=True)
class Disagreement:
    """The variance of an answer, averaged over pairs as often as they were asked, and the parts of it, which sum to one."""

    variance: float
    within_taste: float
    within_person: float
    between_people: float


@dataclass(frozen=True)
class PolarisingPair:
    """A pair on which people differ: how often the population prefers `item`, and the standard deviation over people."""

    item: str
    other: str
    win_rate: float
    spread: float


@dataclass(frozen=True)
class PolarisingItem:
    """An item on which people differ: the root mean square, over its pairs, of the standard deviation over people."""

    item: str
    spread: float


class Parts(NamedTuple):
    """(Q, Q) matrices, each symmetric but the first: q, and the three parts of q (1 − q)."""

    win_rate: Array
    within_taste: Array
    within_person: Array
    between_people: Array


def variance_parts(model: AnyModel) -> Parts:
    """The three parts for every pair of items."""
    beta = model.beta()  # (K, Q, Q)
    a, R = dirichlet_moments(model.alpha)
    win_rate = np.einsum("k,kij->ij", a, beta)
    squares = np.einsum("k,kij->ij", a, beta**2)
    together = np.einsum("kij,kij->ij", beta, np.tensordot(R, beta, axes=1))  # βᵀ R β
    return Parts(
        win_rate, win_rate - squares, squares - together, np.maximum(together - win_rate**2, 0)
    )


def disagreement(model: AnyModel, comparisons: Comparisons) -> Disagreement:
    """The parts over all comparisons that were made, people counting as much as their user_weight says."""
    votes, parts = comparisons.with_items(model.items), variance_parts(model)
    weight = votes.weight * votes.user_weight[votes.user]
    means = [
        float(np.average(part[votes.winner, votes.loser], weights=weight)) for part in parts[1:]
    ]
    total = sum(means)
    return Disagreement(total, *(part / total if total > 0 else 0.0 for part in means))


def polarising(
    model: AnyModel, n_top: int = 5
) -> tuple[tuple[PolarisingPair, ...], tuple[PolarisingItem, ...]]:
    """The pairs and the items on which people differ most, most first; a pair begins with the one preferred."""
    parts, names = variance_parts(model), [str(item) for item in model.items.tolist()]
    low, high = np.triu_indices(model.n_items, 1)
    most = np.argsort(-parts.between_people[low, high], kind="stable")[:n_top]
    pairs = []
    for i, j in zip(low[most], high[most], strict=True):
        i, j = (i, j) if parts.win_rate[i, j] >= 0.5 else (j, i)
        spread = float(np.sqrt(parts.between_people[i, j]))
        pairs.append(PolarisingPair(names[i], names[j], float(parts.win_rate[i, j]), spread))
    # 0 on the diagonal: β_ii = ½ for all
    spreads = np.sqrt(parts.between_people.sum(axis=1) / max(model.n_items - 1, 1))
    items = [
        PolarisingItem(names[i], float(spreads[i]))
        for i in np.argsort(-spreads, kind="stable")[:n_top]
    ]
    return tuple(pairs), tuple(items)
