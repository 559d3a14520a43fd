"""Probabilities and sufficient statistics of Plackett–Luce choices."""

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.typing import Array


def normalised(scores: Array) -> Array:
    """(K, Q) p with Σ p = 1."""
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@compiled
def log_probabilities(starts, item, n_choices, p):
    """(N, K) log Π_choices p_chosen / Σ_left p."""
    N, K = len(n_choices), len(p)
    log_p = np.zeros((N, K))
    for n in range(N):
        first, last = starts[n], starts[n + 1]
        for k in range(K):
            left = 0.0
            for e in range(last - 1, first - 1, -1):
                left += p[k, item[e]]
                if e - first < n_choices[n]:
                    log_p[n, k] += np.log(p[k, item[e]] / left)
    return log_p


@compiled
def sums_of_choices(starts, item, n_choices, share, p):
    """Sufficient statistics of Plackett–Luce components.

    Ranking n counts `share[n, k]` for component k. Returns (K, Q) how often each item was chosen,
    and Σ 1 / Σ_left p over the choices that it was available for.
    """
    K, Q = p.shape
    chosen, rate, left = np.zeros((K, Q)), np.zeros((K, Q)), np.empty(Q + 1)
    for n in range(len(n_choices)):
        first, length = starts[n], starts[n + 1] - starts[n]
        for k in range(K):
            if share[n, k] <= 0.0:
                continue
            left[length], so_far = 0.0, 0.0
            for e in range(length - 1, -1, -1):
                left[e] = left[e + 1] + p[k, item[first + e]]
            for e in range(length):
                if e < n_choices[n]:
                    chosen[k, item[first + e]] += share[n, k]
                    so_far += share[n, k] / left[e]
                rate[k, item[first + e]] += so_far
    return chosen, rate
