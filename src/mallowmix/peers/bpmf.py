"""BPMF: Bayesian probabilistic matrix factorisation by Gibbs sampling.

Salakhutdinov and Mnih (2008). Users' factors u and items' factors v are normal around means of
their own with precisions of their own, which have a normal-Wishart prior. A rating is normal around
mean + u·v with precision `noise_precision`. Predictions are averaged over draws.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wishart

from mallowmix.data.ratings import RatingTable, Scale, rating_table
from mallowmix.errors import check_at_least
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.interface import FittedRatings, fitted_ratings
from mallowmix.peers.pmf import PMF
from mallowmix.typing import Array

_HYPER, _ITEMS, _USERS = Step.BPMF_HYPER, Step.BPMF_ITEMS, Step.BPMF_USERS


class Side(NamedTuple):
    """Ratings sorted by one side (users or items).

    Rows of its m-th are starts[m]:starts[m + 1]; `other` is the index on the other side.
    """

    starts: NDArray[np.int64]
    other: NDArray[np.int32]
    residual: Array


@dataclass(frozen=True)
class BPMF:
    """Bayesian probabilistic matrix factorisation.

    Needs ratings by known users; assumes that ratings are numbers with normal noise, and that
    factors are normal around their mean. The defaults are those of the published code: it starts
    from PMF, and an epoch is a draw of the means and precisions and then two sweeps over items and
    users. All draws count from the first on, the PMF solution among them.

    Parameters
    ----------
    n_epochs, n_sweeps : int
        Epochs, and sweeps in each.
    noise_precision : float
        β.
    prior_strength : float
        b₀ of the means; the Wishart has W₀ = I and K degrees of freedom.
    start : PMF
        The initialisation.
    scale : Scale
        Of the ratings.
    """

    n_epochs: int = 50
    n_sweeps: int = 2
    noise_precision: float = 2.0  # β
    prior_strength: float = 2.0  # b₀ of the means; the Wishart has W₀ = I and K degrees of freedom
    start: PMF = field(default_factory=PMF)
    scale: Scale = None
    name: str = "BPMF"
    needs: Literal["comparisons", "ratings"] = "ratings"

    def fit(self, data: Any, n_components: int, *, seed: int = 0) -> FittedRatings:
        """Learn from ratings; all draws of the factors are kept for predictions."""
        check_at_least("n_components", n_components, 1)
        check_at_least("n_epochs", self.n_epochs, 1)
        table = rating_table(data, scale=self.scale)
        mean = float(table.rating.mean())
        people, things = _sides(table, mean)
        sizes = (table.n_users, table.n_items, n_components)
        U, V = self.start.factors(table.user, table.item, table.rating - mean, sizes, seed)
        draws = [(_with_row(U, U.mean(axis=0)), _with_row(V, V.mean(axis=0)))]
        for epoch in range(self.n_epochs):
            random = generator(seed, _HYPER, epoch)
            prior_V, prior_U = self.draw_prior(V, random), self.draw_prior(U, random)
            for sweep in range(epoch * self.n_sweeps, (epoch + 1) * self.n_sweeps):
                V = self.draw_factors(
                    things, U, *prior_V, generator(seed, _ITEMS, sweep).standard_normal(V.shape)
                )
                U = self.draw_factors(
                    people, V, *prior_U, generator(seed, _USERS, sweep).standard_normal(U.shape)
                )
            draws.append((_with_row(U, prior_U[0]), _with_row(V, prior_V[0])))
        users, items = (np.stack(scores) for scores in zip(*draws, strict=True))
        return fitted_ratings(table, users, items, mean, self.noise_precision**-0.5)

    def draw_prior(self, X: Array, random: np.random.Generator) -> tuple[Array, Array]:
        """Draw μ and Λ given the factors.

        Λ ~ Wishart, μ ~ N((b₀ μ₀ + N x̄) / (b₀ + N), ((b₀ + N) Λ)⁻¹) with μ₀ = 0.
        """
        scale, freedom, center, strength = self.prior_parameters(X)
        K = X.shape[1]
        precision = np.reshape(wishart.rvs(freedom, scale, random_state=random), (K, K))
        L = np.linalg.cholesky(strength * precision)
        return center + np.linalg.solve(L.T, random.standard_normal(K)), precision

    def prior_parameters(self, X: Array) -> tuple[Array, int, Array, float]:
        """Of the normal-Wishart given factors: its scale, degrees of freedom, centre and strength.

        W⁻¹ = W₀⁻¹ + N S + N b₀ / (b₀ + N) x̄ x̄ᵀ, with S divided by N − 1 as in the published code.
        """
        N, K = X.shape
        center, b0 = X.mean(axis=0), self.prior_strength
        S = np.atleast_2d(np.cov(X, rowvar=False)) if N > 1 else np.zeros((K, K))
        inverse = np.eye(K) + N * S + N * b0 / (b0 + N) * np.outer(center, center)
        scale = np.linalg.inv(inverse)
        return (scale + scale.T) / 2, K + N, N * center / (b0 + N), b0 + N

    def draw_factors(
        self, side: Side, other: Array, mu: Array, precision: Array, normals: Array
    ) -> Array:
        """All factors of a side given the other's; with `normals` of 0, their conditional means."""
        return _draw_rows(*side, other, precision, precision @ mu, self.noise_precision, normals)


def _with_row(X: Array, row: Array) -> Array:
    """The factors and, last, those of an unknown user or item: the population's mean."""
    return np.vstack([X, row])


def _sides(table: RatingTable, mean: float) -> tuple[Side, Side]:
    """The ratings by users (as the table is sorted) and by items."""
    residual = table.rating - mean
    order = np.argsort(table.item, kind="stable")
    item_starts = np.searchsorted(table.item[order], np.arange(table.n_items + 1)).astype(np.int64)
    return Side(table.starts(), table.item, residual), Side(
        item_starts, table.user[order], residual[order]
    )


@compiled
def _draw_rows(starts, other, residual, factors, precision, prior, beta, normals):
    """Draw x ~ N(P⁻¹ h, P⁻¹), P = Λ + β Σ v vᵀ = L Lᵀ, h = Λ μ + β Σ r v: x = L⁻ᵀ (L⁻¹ h + z)."""
    M, K = normals.shape
    out, P, h = np.empty((M, K)), np.empty((K, K)), np.empty(K)
    for m in range(M):
        P[:], h[:] = precision, prior
        for row in range(starts[m], starts[m + 1]):
            v, r = factors[other[row]], residual[row]
            for i in range(K):
                h[i] += beta * r * v[i]
                for j in range(i + 1):
                    P[i, j] += beta * v[i] * v[j]
        for i in range(K):  # Cholesky, in the lower half of P, and L⁻¹ h on the way
            for j in range(i + 1):
                s = P[i, j]
                for k in range(j):
                    s -= P[i, k] * P[j, k]
                P[i, j] = np.sqrt(s) if i == j else s / P[j, j]
            for k in range(i):
                h[i] -= P[i, k] * h[k]
            h[i] /= P[i, i]
        for i in range(K - 1, -1, -1):
            s = h[i] + normals[m, i]
            for k in range(i + 1, K):
                s -= P[k, i] * out[m, k]
            out[m, i] = s / P[i, i]
    return out
