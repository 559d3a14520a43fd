"""What components have in common and what separates them.

Pairs that all components order alike, and pairs that one component alone orders as it does.
"""

from dataclasses import dataclass

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.permutations import kendall
from mallowmix.numerics.clustered_error import wilson_interval
from mallowmix.typing import Array

_LEAST_LEAD = 0.05  # over the other components; a smaller one is not reported
_SURE = 1.645  # standard errors: a bound that holds with 95%


@dataclass(frozen=True)
class Telling:
    """The pair that separates a component (numbered from 1) from the others.

    Attributes
    ----------
    here : float
        How often the winner is preferred in this component.
    elsewhere : float
        How often at most in any other.
    """

    component: int
    winner: str
    loser: str
    here: float
    elsewhere: float


@dataclass(frozen=True)
class Contrast:
    """How far the comparisons bear out what separates a component from the others.

    Attributes
    ----------
    telling : Telling or None
        The pair with the largest lead.
    here_low, elsewhere_high : float
        Bounds of `here` and `elsewhere`, each at 95%, by how many comparisons of the pair fall to
        this component and to the others.
    items : tuple of str
        Up to three items whose positions differ most from those in the other components.
    """

    telling: Telling | None
    here_low: float
    elsewhere_high: float
    items: tuple[str, ...]

    @property
    def clear(self) -> bool:
        """Whether the bounds leave a lead."""
        return self.telling is not None and self.here_low - self.elsewhere_high >= _LEAST_LEAD


@dataclass(frozen=True)
class Agreed:
    """A pair that all components order alike: its least β, and its win rate in the population."""

    winner: str
    loser: str
    least: float
    win_rate: float


def tellings(model: AnyModel) -> tuple[Telling | None, ...]:
    """Find for each component the pair with the largest lead, β_k − max over the others of β.

    Parameters
    ----------
    model : AnyModel

    Returns
    -------
    tuple of Telling or None
        One for each component; None where the lead is below 0.05.
    """
    if model.n_components < 2 or model.n_items < 2:
        return (None,) * model.n_components
    beta, names = model.beta(), text_of(model.items)
    return tuple(_telling(beta, k, names) for k in range(model.n_components))


def _telling(beta: Array, k: int, names: list[str]) -> Telling | None:
    others = np.delete(beta, k, axis=0).max(axis=0)
    i, j = np.unravel_index(np.argmax(beta[k] - others), others.shape)
    here, elsewhere = float(beta[k, i, j]), float(others[i, j])
    return (
        Telling(k + 1, names[i], names[j], here, elsewhere)
        if here - elsewhere >= _LEAST_LEAD
        else None
    )


def contrasts(model: AnyModel, comparisons: Comparisons, theta: Array) -> tuple[Contrast, ...]:
    """Find what separates each component, with bounds by the comparisons that speak of it.

    Of the comparisons of a pair, θ_mk of user m's count for component k; a probability that rests
    on n of them is bounded as a proportion of n independent answers is (Wilson).

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons
        Those that the model was learnt from, of its items.
    theta : (M, K) array
        The users' weights.

    Returns
    -------
    tuple of Contrast
        One for each component.
    """
    found = tellings(model)
    return tuple(_contrast(model, comparisons, theta, k, each) for k, each in enumerate(found))


def _contrast(
    model: AnyModel, comparisons: Comparisons, theta: Array, k: int, telling: Telling | None
) -> Contrast:
    if telling is None:
        return Contrast(None, 0.0, 1.0, differing_items(model, k))
    i, j = (text_of(model.items).index(name) for name in (telling.winner, telling.loser))
    Q = model.n_items
    rows = np.isin(comparisons.pair, [i * Q + j, j * Q + i])
    user = comparisons.user[rows]
    n = (comparisons.weight[rows] * comparisons.user_weight[user]) @ theta[user]  # (K,)
    ends = [
        wilson_interval(float(p), float(each), _SURE)
        for p, each in zip(model.beta()[:, i, j], n, strict=True)
    ]
    elsewhere = max(high for other, (_, high) in enumerate(ends) if other != k)
    return Contrast(telling, ends[k][0], elsewhere, differing_items(model, k))


def differing_items(model: AnyModel, k: int, n_top: int = 3) -> tuple[str, ...]:
    """The items that component k (from 0) puts most unlike the others, on average by share."""
    if model.n_components < 2:
        return ()
    share = np.delete(model.share, k)
    others = np.average(np.delete(model.sigma, k, axis=0), axis=0, weights=share)
    apart = np.abs(model.sigma[k] - others)
    names = text_of(model.items)
    most = np.argsort(-apart, kind="stable")[:n_top]
    return tuple(names[i] for i in most if apart[i] > 0)


def agreed(model: AnyModel, n_top: int = 5) -> tuple[Agreed, ...]:
    """Find the pairs on which all components agree most, largest min_k β_(i,j),k first.

    Parameters
    ----------
    model : AnyModel
    n_top : int
        How many pairs at most; every item is in one of them at most.

    Returns
    -------
    tuple of Agreed
    """
    beta, names = model.beta(), text_of(model.items)
    least = beta.min(axis=0)  # (Q, Q)
    winner, loser = np.nonzero(least > 0.5)
    found, used = [], set()
    for n in np.argsort(-least[winner, loser], kind="stable"):
        i, j = int(winner[n]), int(loser[n])
        if not {i, j} & used and len(found) < n_top:
            used |= {i, j}
            found.append(
                Agreed(names[i], names[j], float(least[i, j]), float(model.share @ beta[:, i, j]))
            )
    return tuple(found)


def distances(model: AnyModel) -> Array:
    """(K, K) the fraction of pairs of items that two components put in different orders."""
    K = model.n_components
    return np.array(
        [[kendall(model.sigma[k], model.sigma[other]) for other in range(K)] for k in range(K)]
    ).reshape(K, K)
