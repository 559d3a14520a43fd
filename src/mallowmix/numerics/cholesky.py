"""Cholesky factors of small matrices, for kernels that work through many users.

A = Uᵀ U with U upper triangular, by rows: every inner loop runs over neighbours in memory, which a
compiler turns into vector instructions. For matrices of some tens of rows this is faster than a
library call, and it gives log-determinant, solution and inverse from one factor. Zeros of U are
passed over: where the first rows of A have few other numbers, U has few, and the work is less by
far.

These kernels, and those that call them, are written in plain loops: Numba takes a second or two to
compile an assignment of one slice to another, a product of matrices or an array picked by another.
Where a loop does not begin at 0 its index is unsigned: an index that might be negative would count
from an array's end, and a loop that has to ask is not turned into vector instructions.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import zero_rows


@compiled
def factorise(A):
    """Replace the upper triangle of a positive definite matrix by U; the rest is not used."""
    n = len(A)
    for k in range(n):
        f = 1 / np.sqrt(A[k, k])
        for x in range(np.uint64(k), np.uint64(n)):
            A[k, x] *= f
        for i in range(np.uint64(k + 1), np.uint64(n)):
            f = A[k, i]
            if f != 0:
                for x in range(i, np.uint64(n)):
                    A[i, x] -= f * A[k, x]


@compiled
def log_determinant(U):
    """Return log det A = 2 Σ log U_kk."""
    total = 0.0
    for k in range(len(U)):
        total += np.log(U[k, k])
    return 2 * total


@compiled(fastmath={"reassoc", "contract"})  # sums over neighbours by vector instructions
def solve(U, b):
    """The x of Uᵀ U x = b."""
    n = len(U)
    x = np.empty(n)
    for k in range(n):
        x[k] = b[k]
    for k in range(n):
        f = x[k] / U[k, k]
        x[k] = f
        for i in range(np.uint64(k + 1), np.uint64(n)):
            x[i] -= f * U[k, i]
    for k in range(n - 1, -1, -1):
        total = 0.0
        for i in range(np.uint64(k + 1), np.uint64(n)):
            total += U[k, i] * x[i]
        x[k] = (x[k] - total) / U[k, k]
    return x


@compiled
def inverse_root(U):
    """W = U⁻ᵀ, lower triangular, with A⁻¹ = Wᵀ W."""
    n = len(U)
    W = zero_rows(n, n)
    for k in range(n):
        W[k, k] = 1.0
    for k in range(n):
        f = 1 / U[k, k]
        for x in range(k + 1):
            W[k, x] *= f
        for i in range(np.uint64(k + 1), np.uint64(n)):
            f = U[k, i]
            if f != 0:
                for x in range(k + 1):
                    W[i, x] -= f * W[k, x]
    return W


@compiled
def inverse(U):
    """A⁻¹ = Wᵀ W."""
    W, n = inverse_root(U), len(U)
    out = zero_rows(n, n)
    for k in range(n):
        for i in range(k + 1):
            f = W[k, i]
            if f != 0:
                for x in range(i + 1):
                    out[i, x] += f * W[k, x]
    for i in range(n):
        for x in range(i):
            out[x, i] = out[i, x]
    return out
