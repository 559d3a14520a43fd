"""What tastes have in common and what tells them apart: choices that all of them make, and choices that one makes alone."""

from dataclasses import dataclass

import numpy as np

from mallowmix.data.labels import text_of
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.permutations import kendall
from mallowmix.typing import Array

_TELLS = 0.05  # a lead over the other tastes below this tells nothing


@dataclass(frozen=True)
class Telling:
    """The choice that a component (numbered from 1) makes and the others do not: how often here, and at most elsewhere."""

    component: int
    winner: str
    loser: str
    here: float
    elsewhere: float


@dataclass(frozen=True)
class Agreed:
    """A choice that every component makes: how often at least, and how often the population does."""

    winner: str
    loser: str
    least: float
    win_rate: float


def tellings(model: AnyModel) -> tuple[Telling | None, ...]:
    """For each component the pair with the largest lead, β_k − max over the others of β; None where that is hardly any."""
    if model.n_components < 2 or model.n_items < 2:
        return (None,) * model.n_components
    beta, names = model.beta(), text_of(model.items)
    return tuple(_telling(beta, k, names) for k in range(model.n_components))


def _telling(beta: Array, k: int, names: list[str]) -> Telling | None:
    others = np.delete(beta, k, axis=0).max(axis=0)
    i, j = np.unravel_index(np.argmax(beta[k] - others), others.shape)
    here, elsewhere = float(beta[k, i, j]), float(others[i, j])
    return (
        Telling(k + 1, names[i], names[j], here, elsewhere) if here - elsewhere >= _TELLS else None
    )


def agreed(model: AnyModel, n_top: int = 5) -> tuple[Agreed, ...]:
    """The choices that all components make most surely, min_k β_(i,j),k largest first, every item in one of them at most."""
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
