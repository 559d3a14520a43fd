"""Arrays of zeros, and sums, for kernels: each is compiled once.

Numba compiles `np.empty`, `np.zeros`, `np.full` and `x.sum()`, up to three functions each, anew for
every kernel in which they stand.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled


@compiled
def empty(n):
    """Room for N numbers."""
    return np.empty(n)


@compiled
def empty_rows(n, m):
    """Room for (n, m) numbers."""
    return np.empty((n, m))


@compiled
def empty_integers(n):
    """Room for N whole numbers."""
    return np.empty(n, np.int64)


@compiled
def zero_integers(n):
    """N times 0."""
    out = empty_integers(n)
    for i in range(n):
        out[i] = 0
    return out


@compiled
def minus_ones(n):
    """N times −1."""
    out = empty_integers(n)
    for i in range(n):
        out[i] = -1
    return out


@compiled
def zeros(n):
    """N zeros."""
    out = empty(n)
    for i in range(n):
        out[i] = 0.0
    return out


@compiled
def zero_rows(n, m):
    """(n, m) zeros."""
    out = empty_rows(n, m)
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
