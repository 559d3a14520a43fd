"""Sparse choice models: the sparsest distribution over rankings with given pairwise marginals.

Farias, Jagabathula and Shah (2009). y_ij = Σ_k w_k [ranking k has i above j]. Where every ranking
has a pair that it alone has in this order (a *signature*), and no two different sets of rankings
have the same sum of weights, the w_k and the rankings follow: of the y in ascending order, each is
a sum of weights already found (and so says which rankings have that pair in this order), or else a
weight of its own.

Exact sums are needed, so marginals without noise: the full rankings of all users, counted. Anything
else is an error that says why.
"""

from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError, FitError
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.peers.baselines import wins_of
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.mallows_mixture import at_vertices
from mallowmix.peers.required_data import need_comparisons
from mallowmix.typing import Array

_INSTEAD = "For noisy choices use M4, a mixture of Mallows (mixture-mallows) or TM."


class SparseFit(NamedTuple):
    """(K, Q) rankings as positions, heaviest first, and (K,) their weights."""

    sigma: NDArray[np.int32]
    weight: Array


@dataclass(frozen=True)
class SparseChoice:
    """A few rankings, each followed without noise by a part of the users.

    Needs pairwise marginals without noise: every pair compared in proportion to the rankings (full
    rankings of all users, say); assumes signatures and that no two sums of weights are equal. K is
    what it finds; more than `n_components` is an error.

    Parameters
    ----------
    tol : float
        How near two sums must be to count as equal.
    """

    tol: float = 1e-6
    name: str = "sparse choice"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(
        self, data: Comparisons | Rankings, n_components: int, *, seed: int = 0
    ) -> FittedMixture:
        """Learn from comparisons (or those that rankings imply)."""
        data = need_comparisons(self, data)
        found = sparsest_fit(marginals(data), most=n_components, tol=self.tol)
        m4 = M4(found.sigma, np.zeros(len(found.sigma)), found.weight, data.items)
        return of_model(at_vertices(FittedModel(m4, FitReport(method=self.name))))


def marginals(data: Comparisons) -> Array:
    """(Q, Q) the fraction of wins of i over j; every pair must have been compared."""
    wins = wins_of(data)
    games = wins + wins.T
    never = np.argwhere(np.triu(games == 0, 1))
    if len(never):
        i, j = (data.items.tolist()[n] for n in never[0])
        others = f" (and {len(never) - 1:,} other pairs)" if len(never) > 1 else ""
        raise DataError(
            f"Sparse choice needs the marginals of all pairs; {i!r} and {j!r}{others} "
            f"were never compared. {_INSTEAD}"
        )
    return np.divide(wins, games, out=np.zeros_like(wins), where=games > 0)


def sparsest_fit(y: ArrayLike, *, most: int = 12, tol: float = 1e-6) -> SparseFit:
    """Find rankings and weights from exact marginals.

    Parameters
    ----------
    y : array_like, shape (Q, Q)
        y[i, j] is the weight of the rankings with i above j.
    most : int
        Rankings at most.
    tol : float

    Returns
    -------
    SparseFit

    Raises
    ------
    FitError
        Says which condition fails.
    """
    y = np.asarray(y, np.float64)
    weights, members = _walk(y, most, tol)
    if abs(sum(weights) - 1) > tol * len(weights):
        raise FitError(
            f"Sparse choice: the weights found sum to {sum(weights):.4g} and not to 1, "
            "so the exactness conditions fail "
            f"(a ranking without a signature pair, or marginals with noise). {_INSTEAD}"
        )
    sigma = np.stack([_ranking(members[k], len(y)) for k in range(len(weights))])
    order = np.argsort(-np.array(weights), kind="stable")
    return SparseFit(sigma[order].astype(np.int32), np.array(weights)[order])


def _walk(y: Array, most: int, tol: float) -> tuple[list[float], list[NDArray[np.bool_]]]:
    """The weights, and for each the pairs (i above j) that its ranking has."""
    Q = len(y)
    pairs = [(i, j) for i in range(Q) for j in range(Q) if i != j and y[i, j] > tol]
    weights: list[float] = []
    members: list[NDArray[np.bool_]] = []
    for i, j in sorted(pairs, key=lambda pair: y[pair]):
        chosen = _subset(y[i, j], weights, tol)
        if chosen is None:
            if len(weights) == most:
                raise FitError(
                    f"Sparse choice: the marginals need more than {most} rankings. "
                    "With noise every one of them looks like a new weight, and the exactness "
                    "conditions fail. Ask for more components if there is no noise. "
                    f"{_INSTEAD}"
                )
            weights.append(float(y[i, j]))
            members.append(np.zeros((Q, Q), np.bool_))
            chosen = (*([False] * (len(weights) - 1)), True)
        for k in np.flatnonzero(chosen):
            members[k][i, j] = True
    return weights, members


def _subset(value: float, weights: list[float], tol: float) -> tuple[bool, ...] | None:
    """Which weights sum to the value; None where none do. Two ways fail the second condition."""
    choices = [
        bits
        for bits in product((False, True), repeat=len(weights))
        if abs(np.dot(bits, weights) - value) <= tol
    ]
    if len(choices) > 1:
        raise FitError(
            f"Sparse choice: {value:.4g} is a sum of the weights "
            f"{', '.join(f'{w:.4g}' for w in weights)} in {len(choices)} ways, so the "
            f"exactness conditions fail (equal sums, or marginals with noise). {_INSTEAD}"
        )
    return choices[0] if choices else None


def _ranking(above: NDArray[np.bool_], Q: int) -> NDArray[np.int32]:
    """The ranking with these pairs, if they make one: complete and without cycles."""
    wins = above.sum(axis=1)
    order = np.argsort(-wins, kind="stable")
    if not np.array_equal(above[np.ix_(order, order)], np.triu(np.ones((Q, Q), np.bool_), 1)):
        raise FitError(
            "Sparse choice: the pairs found for one of the weights do not make a ranking, "
            "so the exactness conditions fail (a ranking "
            f"without a signature pair, or marginals with noise). {_INSTEAD}"
        )
    return sigma_of(order)
