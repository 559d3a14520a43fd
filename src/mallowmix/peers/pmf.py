"""PMF: probabilistic matrix factorisation by mini-batch gradient with momentum.

Salakhutdinov and Mnih (2008).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.ratings import Scale, rating_table
from mallowmix.errors import check_at_least
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.interface import FittedRatings, fitted_ratings
from mallowmix.typing import Array

_START, _SHUFFLE = Step.PMF_START, Step.PMF_SHUFFLE


@dataclass(frozen=True)
class PMF:
    """Probabilistic matrix factorisation: r = mean + u·v + noise, with u and v near 0.

    Needs ratings by known users; has no biases of users or items. The defaults are those of the
    published code: the squared error plus ½ λ (|u|² + |v|²) at every rating, its mean over a batch,
    steps of 50 with momentum 0.8, the last epoch kept. On a small table it overfits, and its error
    depends on the seed.

    Parameters
    ----------
    learning_rate : float
        The length of a step.
    penalty : float
        λ.
    momentum : float
    n_epochs, n_batches : int
        Passes over the ratings, and batches in each.
    scale : Scale
        Of the ratings.
    """

    learning_rate: float = 50.0
    penalty: float = 0.01  # λ
    momentum: float = 0.8
    n_epochs: int = 50
    n_batches: int = 9
    scale: Scale = None
    name: str = "PMF"
    needs: Literal["comparisons", "ratings"] = "ratings"

    def fit(self, data: Any, n_components: int, *, seed: int = 0) -> FittedRatings:
        """Learn from ratings; the same bytes for the same seed, whatever the order of the rows."""
        check_at_least("n_components", n_components, 1)
        table = rating_table(data, scale=self.scale)
        mean = float(table.rating.mean())
        U, V = self.factors(
            table.user,
            table.item,
            table.rating - mean,
            (table.n_users, table.n_items, n_components),
            seed,
        )
        noise = np.sqrt(
            np.mean(
                (np.einsum("nk,nk->n", U[table.user], V[table.item]) + mean - table.rating) ** 2
            )
        )
        unknown = np.zeros((1, n_components))
        return fitted_ratings(
            table, np.vstack([U, unknown]), np.vstack([V, unknown]), mean, float(noise)
        )

    def factors(
        self,
        user: NDArray[np.int32],
        item: NDArray[np.int32],
        residual: Array,
        sizes: tuple[int, int, int],
        seed: int,
    ) -> tuple[Array, Array]:
        """(M, K) and (Q, K), from ratings without their mean.

        A step is as long as a row's part in its batch, and on tables much smaller than MovieLens it
        overshoots: a run that ends worse than it began is repeated with steps of half the length.
        """
        rate, most = self.learning_rate, 1.1 * np.mean(residual**2) + 1e-3 * sizes[2]
        while True:
            with np.errstate(over="ignore", invalid="ignore"):
                U, V = self._run(user, item, residual, sizes, seed, rate)
                error = np.mean((np.einsum("nk,nk->n", U[user], V[item]) - residual) ** 2)
            if error <= most:  # not so for NaN
                return U, V
            rate /= 2

    def _run(
        self, user, item, residual: Array, sizes: tuple[int, int, int], seed: int, rate: float
    ) -> tuple[Array, Array]:
        M, Q, K = sizes
        random = generator(seed, _START)
        V, U = 0.1 * random.standard_normal((Q, K)), 0.1 * random.standard_normal((M, K))
        step_U, step_V = np.zeros((M, K)), np.zeros((Q, K))
        for epoch in range(self.n_epochs):
            order = generator(seed, _SHUFFLE, epoch).permutation(len(residual))
            for rows in np.array_split(order, min(self.n_batches, len(order))):
                dU, dV = gradient(U, V, user[rows], item[rows], residual[rows], self.penalty)
                step_U = self.momentum * step_U + rate / len(rows) * dU
                step_V = self.momentum * step_V + rate / len(rows) * dV
                U, V = U - step_U, V - step_V
        return U, V


@compiled
def gradient(U, V, user, item, residual, penalty):
    """Of Σ (u·v − r)² + ½ λ (|u|² + |v|²): 2 (u·v − r) v + λ u, and with u and v exchanged."""
    dU, dV = np.zeros_like(U), np.zeros_like(V)
    for n in range(len(user)):
        u, v = U[user[n]], V[item[n]]
        error = -residual[n]
        for k in range(len(u)):
            error += u[k] * v[k]
        for k in range(len(u)):
            dU[user[n], k] += 2.0 * error * v[k] + penalty * u[k]
            dV[item[n], k] += 2.0 * error * u[k] + penalty * v[k]
    return dU, dV
