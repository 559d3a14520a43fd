"""Arrays of zeros, and sums, for kernels: each is compiled once.

Numba compiles `np.zeros` and `x.sum()`, three functions each, anew for every kernel in which they
stand.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled


@compiled
def zeros(n):
    """N zeros."""
    out = np.empty(n)
    for i in range(n):
        out[i] = 0.0
    return out


@compiled
def zero_rows(n, m):
    """(n, m) zeros."""
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = 0.0
    return out


@compiled
def sum_of(x):
    """The sum of an array's numbers, from first to last."""
    out = 0.0
    for i in range(len(x)):
        out += x[i]
    return out
