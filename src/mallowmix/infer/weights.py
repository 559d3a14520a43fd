"""How much of each component a person follows: the posterior mean of θ, by variational fixed point."""

from typing import Any, Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.comparisons import Comparisons
from mallowmix.engine import Block, LocalEngine, make_blocks
from mallowmix.errors import check_at_least
from mallowmix.model import M4

_FLOOR = 1e-12  # a comparison that every component rules out says nothing of which one was followed
Array = NDArray[np.float64]


def weights(
    model: M4,
    comparisons: Comparisons,
    *,
    unknown_items: Literal["error", "drop"] = "error",
    max_iter: int = 200,
    tol: float = 1e-6,
    jobs: int | None = None,
) -> Array:
    """(M, K) the weights of known or new people, one row a user of `comparisons.users`; rows sum to one.

    γ_k = α_k + Σ_n weight_n r_nk with r_nk ∝ β_(w_n),k exp ψ(γ_k), repeated until no γ moves by more than `tol` of their sum; θ = γ / Σγ.
    Someone without comparisons gets the prior mean.
    """
    check_at_least("max_iter", max_iter, 1)
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    beta = np.ascontiguousarray(np.maximum(model.beta(), _FLOOR).reshape(model.n_components, -1).T)  # (Q², K)
    _, theta = LocalEngine(jobs).reduce(_weights, make_blocks(comparisons), (beta, model.alpha, max_iter, tol))
    return np.concatenate(theta)


def _weights(block: Block, broadcast: tuple[Array, Array, int, float], _: Any) -> tuple[None, Array]:
    beta, alpha, max_iter, tol = broadcast
    gamma = _fold_in(block.starts, block.pair, block.weight, beta, alpha, max_iter, tol)
    return None, gamma / gamma.sum(axis=1, keepdims=True)


@nb.njit(cache=True, nogil=True)
def digamma(x):
    """ψ(x) for x > 0: recurrence up to 6, then the asymptotic series."""
    shift = 0.0
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return shift + np.log(x) - 0.5 / x - series


@nb.njit(cache=True, nogil=True)
def _fold_in(starts, pair, weight, beta, alpha, max_iter, tol):
    M, K = len(starts) - 1, len(alpha)
    gammas = np.empty((M, K))
    scale, part = np.empty(K), np.empty(K)
    for m in range(M):
        n = weight[starts[m] : starts[m + 1]].sum()
        gamma = alpha + n / K
        for _ in range(max_iter):
            for k in range(K):
                scale[k] = np.exp(digamma(gamma[k]))
            new = alpha.copy()
            for row in range(starts[m], starts[m + 1]):
                total = 0.0
                for k in range(K):
                    part[k] = beta[pair[row], k] * scale[k]
                    total += part[k]
                if total > 0:
                    for k in range(K):
                        new[k] += weight[row] * part[k] / total
            moved = np.abs(new - gamma).max()
            gamma = new
            if moved <= tol * gamma.sum():
                break
        gammas[m] = gamma
    return gammas
