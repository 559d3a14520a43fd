"""What components have in common and what separates them.

Pairs that all components order alike, and pairs that one component alone orders as it does.
"""

from dataclasses import dataclass

import numpy as np

from mallowmix.data.labels import text_of
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.permutations import kendall
from mallowmix.typing import Array

_LEAST_LEAD = 0.05  # over the other components; a smaller one is not reported


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
