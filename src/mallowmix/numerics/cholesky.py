"""Cholesky factors of small matrices, for kernels that work through many users.

A = Uᵀ U with U upper triangular, by rows: every inner loop runs over neighbours in memory, which a
compiler turns into vector instructions. For matrices of some tens of rows this is faster than a
library call, and it gives log-determinant, solution and inverse from one factor.

These kernels, and those that call them, are written in plain loops: Numba takes a second or two to
compile an assignment of one slice to another, a product of matrices or an array picked by another.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled


@compiled
def factorise(A):
    """Replace the upper triangle of a positive definite matrix by U; the rest is not used."""
    n = len(A)
    for k in range(n):
        root = np.sqrt(A[k, k])
        for x in range(k, n):
            A[k, x] /= root
        for i in range(k + 1, n):
            f = A[k, i]
            for x in range(i, n):
                A[i, x] -= f * A[k, x]


@compiled
def log_determinant(U):
    """Return log det A = 2 Σ log U_kk."""
    total = 0.0
    for k in range(len(U)):
        total += np.log(U[k, k])
    return 2 * total


@compiled
def solve(U, b):
    """The x of Uᵀ U x = b."""
    n = len(U)
    x = np.empty(n)
    for k in range(n):
        x[k] = b[k]
    for k in range(n):
        x[k] /= U[k, k]
        for i in range(k + 1, n):
            x[i] -= x[k] * U[k, i]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            x[k] -= U[k, i] * x[i]
        x[k] /= U[k, k]
    return x


@compiled
def inverse(U):
    """A⁻¹ = Wᵀ W, where W = U⁻ᵀ is lower triangular."""
    n = len(U)
    W, out = np.zeros((n, n)), np.zeros((n, n))
    for k in range(n):
        W[k, k] = 1.0
    for k in range(n):
        for x in range(k + 1):
            W[k, x] /= U[k, k]
        for i in range(k + 1, n):
            f = U[k, i]
            for x in range(k + 1):
                W[i, x] -= f * W[k, x]
    for k in range(n):
        for i in range(k + 1):
            f = W[k, i]
            for x in range(i + 1):
                out[i, x] += f * W[k, x]
    for i in range(n):
        for x in range(i):
            out[x, i] = out[i, x]
    return out
