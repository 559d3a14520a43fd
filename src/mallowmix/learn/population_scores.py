"""Bradley–Terry scores of the whole population, and how they vary over samples of users.

    s maximises Σ w_ij log σ(s_i − s_j) − ridge/2 |s|²
    cov(s) = H⁻¹ (Σ_m g_m g_mᵀ) H⁻¹ · M/(M − 1)

with g_m the gradient of user m's answers at s, and H the information. The covariance is the
sandwich estimator with users as the units, because a user's answers are not independent.
"""

from collections.abc import Sequence

import numpy as np

from mallowmix.engine import Block, Engine, reduce_step
from mallowmix.engine.blocks import StoredBlock
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.laplace import logistic
from mallowmix.numerics.randomness import Step, generator
from mallowmix.numerics.work_arrays import empty_integers, minus_ones, zero_rows, zeros
from mallowmix.typing import Array

N_DRAWS = 400
RIDGE = 1.0


def win_rate_draws(
    blocks: Sequence[Block | StoredBlock], n_items: int, engine: Engine, seed: int
) -> Array:
    """Draw the population's win rates from their sampling distribution.

    Parameters
    ----------
    blocks : sequence of Block
        The users.
    n_items : int
        Q.
    engine : Engine
        Where passes over users run.
    seed : int
        Of the draws.

    Returns
    -------
    (S + 1, Q) array
        Win rates of the scores themselves, then of S draws of the scores.
    """
    Q = n_items
    wins, _ = engine.reduce(_wins, blocks, None)
    table = wins.reshape(Q, Q)
    scores = best_scores(table, RIDGE)
    (outer, n_users), _ = engine.reduce(_gradients, blocks, scores)
    p = 1 / (1 + np.exp(scores[None] - scores[:, None]))
    h = (table + table.T) * p * (1 - p)
    inverse = np.linalg.inv(np.diag(h.sum(axis=1) + RIDGE) - h)
    covariance = inverse @ outer @ inverse * n_users / max(n_users - 1, 1)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = generator(seed, Step.LEADERBOARD).standard_normal((N_DRAWS, Q))
    return _rates(np.vstack([scores, scores + noise @ root.T]))


def _rates(scores: Array) -> Array:
    """(S, Q) the mean over the others of σ(s_i − s_j)."""
    Q = scores.shape[1]
    return np.array(
        [(1 / (1 + np.exp(s[None] - s[:, None]))).sum(axis=1) - 0.5 for s in scores]
    ) / max(Q - 1, 1)


@reduce_step("wins of the population")
def _wins(block: Block, _: None, __: None) -> tuple[Array, None]:
    weight = block.weight * block.user_weight[block.users_of_rows()]
    return np.bincount(block.pair, weight, block.n_items**2).astype(np.float64), None


@reduce_step("gradients of the population")
def _gradients(block: Block, scores: Array, _: None) -> tuple[tuple[Array, float], None]:
    starts = block.starts - block.starts[0]
    return _outer(starts, block.pair, block.weight, block.user_weight, scores), None


@compiled
def _outer(starts, pair, weight, user_weight, scores):
    """Σ_m g_m g_mᵀ, and how many users answered anything."""
    Q, n_users = len(scores), 0.0
    total, g = zero_rows(Q, Q), zeros(Q)
    items, seen = empty_integers(Q), minus_ones(Q)
    for m in range(len(starts) - 1):
        n = 0
        for row in range(starts[m], starts[m + 1]):
            i, j = pair[row] // Q, pair[row] % Q
            for item in (i, j):
                if seen[item] != m:
                    seen[item], items[n], g[item] = m, item, 0.0
                    n += 1
            e = user_weight[m] * weight[row] * (1 - logistic(scores[i] - scores[j]))
            g[i] += e
            g[j] -= e
        n_users += n > 0
        for x in range(n):
            for y in range(n):
                total[items[x], items[y]] += g[items[x]] * g[items[y]]
    return total, n_users
