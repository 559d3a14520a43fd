"""How much of each component a person follows: the posterior mean of θ, by variational fixed point."""

import warnings
from typing import Any, Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.comparisons import Comparisons
from mallowmix.engine import Block, LocalEngine, make_blocks
from mallowmix.errors import FitWarning, check_at_least
from mallowmix.model import M4
from mallowmix.special import digamma

_FLOOR = 1e-12  # a comparison that every component rules out says nothing of which one was followed
Array = NDArray[np.float64]


def weights(
    model: M4,
    comparisons: Comparisons,
    *,
    unknown_items: Literal["error", "drop"] = "error",
    max_iter: int = 1000,
    tol: float = 1e-6,
    jobs: int | None = None,
) -> Array:
    """(M, K) the weights of known or new people, one row a user of `comparisons.users`; rows sum to one.

    γ_k = α_k + Σ_n weight_n r_nk with r_nk ∝ β_(w_n),k exp ψ(γ_k), repeated until no γ moves by more than `tol` of their sum;
    θ = γ / Σγ.
    Someone without comparisons gets the prior mean. `user_weight` plays no part: it says how much a person counts for others.
    """
    check_at_least("max_iter", max_iter, 1)
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    beta = np.ascontiguousarray(np.maximum(model.beta(), _FLOOR).reshape(model.n_components, -1).T)  # (Q², K)
    moving, theta = LocalEngine(jobs).reduce(_weights, make_blocks(comparisons), (beta, model.alpha, max_iter, tol))
    if moving:
        warnings.warn(
            f"The weights of {moving} of {comparisons.n_users} users still moved by more than tol={tol:g} after {max_iter} "
            "steps; raise max_iter or tol.",
            FitWarning,
            stacklevel=2,
        )
    return np.concatenate([np.empty((0, model.n_components)), *theta])


def _weights(block: Block, broadcast: tuple[Array, Array, int, float], _: Any) -> tuple[int, Array]:
    """How many users have not settled, and everybody's weights."""
    beta, alpha, max_iter, tol = broadcast
    gamma, moving = _fold_in(block.starts, block.pair, block.weight, beta, alpha, max_iter, tol)
    return moving, gamma / gamma.sum(axis=1, keepdims=True)


@nb.njit(cache=True, nogil=True)
def _fold_in(starts, pair, weight, beta, alpha, max_iter, tol):
    M, K = len(starts) - 1, len(alpha)
    gammas, n_moving = np.empty((M, K)), 0
    scale, part = np.empty(K), np.empty(K)
    for m in range(M):
        n = weight[starts[m] : starts[m + 1]].sum()
        gamma, moving = alpha + n / K, True
        for _ in range(max_iter):
            largest = digamma(gamma.max())
            for k in range(K):
                scale[k] = np.exp(digamma(gamma[k]) - largest)  # exp ψ(γ_k), up to a factor that cancels in r
            new = alpha.copy()
            for row in range(starts[m], starts[m + 1]):
                total = 0.0
                for k in range(K):
                    part[k] = beta[pair[row], k] * scale[k]
                    total += part[k]
                if total > 0:
                    for k in range(K):
                        new[k] += weight[row] * part[k] / total
            moving = np.abs(new - gamma).max() > tol * new.sum()
            gamma = new
            if not moving:
                break
        gammas[m] = gamma
        n_moving += moving
    return gammas, n_moving
