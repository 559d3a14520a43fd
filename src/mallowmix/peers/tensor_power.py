"""Decompose a symmetric tensor with orthogonal terms, Σ_k λ_k v_k ⊗ v_k ⊗ v_k.

The robust power method (Anandkumar et al. 2014).
"""

import numpy as np

from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_STEP = Step.TENSOR_POWER


def tensor_power(
    tensor: Array, n_terms: int, *, n_starts: int = 30, n_iter: int = 50, seed: int = 0
) -> tuple[Array, Array]:
    """Find the terms one by one, subtracting each before the next.

    Parameters
    ----------
    tensor : ndarray, shape (K, K, K)
        Symmetric.
    n_terms, n_starts, n_iter : int
        Random initialisations, and iterations from each.
    seed : int

    Returns
    -------
    values : ndarray, shape (n,)
    vectors : ndarray, shape (n, K)
    """
    rest, random = np.array(tensor, np.float64), generator(seed, _STEP)
    values, vectors = np.empty(n_terms), np.empty((n_terms, len(rest)))
    for k in range(n_terms):
        runs = [
            _ascend(rest, start, n_iter) for start in random.standard_normal((n_starts, len(rest)))
        ]
        v = _ascend(rest, max(runs, key=lambda v: _value(rest, v)), n_iter)
        values[k], vectors[k] = _value(rest, v), v
        rest = rest - values[k] * np.einsum("a,b,c->abc", v, v, v)
    return values, vectors


def _value(tensor: Array, v: Array) -> float:
    return float(np.einsum("abc,a,b,c->", tensor, v, v, v))


def _ascend(tensor: Array, v: Array, n_iter: int) -> Array:
    v = v / np.linalg.norm(v)
    for _ in range(n_iter):
        w = np.einsum("abc,b,c->a", tensor, v, v)
        size = np.linalg.norm(w)
        if size < 1e-300:
            break
        v = w / size
    return v
