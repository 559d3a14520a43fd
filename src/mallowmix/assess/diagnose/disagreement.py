"""Where disagreement comes from, and which pairs and items polarise.

A comparison of the pair {i, j} is a coin with the probability p = Σ_k θ_k β_(i,j),k that depends on
the user. Over users and choices its variance q (1 − q), q = E p, is the sum of three parts, with
a = E θ and R = E θθᵀ:

    noise within a component     Σ_k a_k β_k (1 − β_k)   choices are random given the component
    components within a user     Σ_k a_k β_k² − βᵀ R β   a user follows one component or another
    between users                βᵀ R β − q²             users differ in p
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, make_blocks
from mallowmix.engine.selection import EngineName, using
from mallowmix.learn.spectral.signed_moment import count_all_pairs
from mallowmix.model.fitted_model import AnyModel
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.typing import Array


@dataclass(frozen=True)
class Disagreement:
    """The variance of a choice, and the fractions of it that come from three sources.

    Attributes
    ----------
    variance : float
        Averaged over pairs, by how often they were compared.
    within_component, within_person, between_people : float
        Noise within a component, components mixed within a user, differences between users; they
        sum to one.
    """

    variance: float
    within_component: float
    within_person: float
    between_people: float


@dataclass(frozen=True)
class PolarisingPair:
    """A pair on which users differ.

    `win_rate` is how often the population prefers `item`, `spread` the standard deviation over
    users.
    """

    item: str
    other: str
    win_rate: float
    spread: float


@dataclass(frozen=True)
class PolarisingItem:
    """An item on which users differ: the root mean square of `spread` over its pairs."""

    item: str
    spread: float


class Parts(NamedTuple):
    """(Q, Q) matrices, each symmetric but the first: q, and the three parts of q (1 − q)."""

    win_rate: Array
    within_component: Array
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


def disagreement(
    model: AnyModel, comparisons: Comparisons, engine: EngineName | Engine | None = None
) -> Disagreement:
    """Split the variance of all comparisons that were made into its three sources.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons
        Users count by their `user_weight`.
    engine : str or Engine, optional
        As in `fit`.

    Returns
    -------
    Disagreement
    """
    data, parts = comparisons.with_items(model.items), variance_parts(model)
    with using(engine) as run:
        weight = count_all_pairs(make_blocks(data), run).reshape(data.n_items, data.n_items)
    means = [float(np.average(part, weights=weight)) for part in parts[1:]]
    total = sum(means)
    return Disagreement(total, *(part / total if total > 0 else 0.0 for part in means))


def polarising(
    model: AnyModel, n_top: int = 5
) -> tuple[tuple[PolarisingPair, ...], tuple[PolarisingItem, ...]]:
    """Find the pairs and the items on which users differ most.

    Parameters
    ----------
    model : AnyModel
    n_top : int
        How many of each.

    Returns
    -------
    pairs : tuple of PolarisingPair
        Largest spread first; a pair begins with the item that is preferred.
    items : tuple of PolarisingItem
    """
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
