"""Factors of small matrices, for kernels that work through many users.

A = Uᵀ D⁻¹ U with U upper triangular and D its diagonal: Gaussian elimination, without square roots,
by rows: every inner loop runs over neighbours in memory, which a compiler turns into vector
instructions. For matrices of some tens of rows this is faster than a library call, and it gives
log-determinant, solution and inverse from one factor.

Where the first rows of A have few numbers, U has few. Which they are, `elimination` finds out once
(George and Liu 1981: eliminating k puts numbers wherever two of its neighbours meet), for all
matrices with the same zeros: then nothing is tested, and the work is less by far.

These kernels, and those that call them, are written in plain loops: Numba takes a second or two to
compile an assignment of one slice to another, a product of matrices or an array picked by another.
Where a loop does not begin at 0 its index is unsigned: an index that might be negative would count
from an array's end, and a loop that has to ask is not turned into vector instructions.
"""

import numpy as np

from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import (
    empty,
    empty_integers,
    empty_rows,
    minus_ones,
    zero_integers,
    zero_rows,
)


@compiled
def elimination(first, second, q, n):
    """Find where U has numbers, if A has them on its diagonal, at pairs and in its last columns.

    One column of A more, b, is the right side of A x = b.

    Parameters
    ----------
    first, second : arrays of int
        The pairs, both below q.
    q, n : int
        Columns q to n of A are full; the n-th is b.

    Returns
    -------
    starts : (m + 1,) array of int
        The numbers of row k < m beside its diagonal are in the columns
        ``columns[starts[k] : starts[k + 1]]``, ascending; rows from m on are full.
    columns : array of int
    """
    starts, columns = (
        zero_integers(q + 1),
        empty_integers(q * (q - 1) // 2 + q * (n + 1 - q)),
    )
    head, chain = minus_ones(q), empty_integers(len(first))  # the pairs of an item
    child, sibling = minus_ones(q), empty_integers(q)  # rows whose first number is at k
    seen, m = minus_ones(q), 0
    for row in range(len(first)):
        k = min(first[row], second[row])
        chain[row], head[k] = head[k], row
    while m < q:
        begin = end = starts[m]
        row, below = head[m], child[m]
        while row >= 0:
            x = max(first[row], second[row])
            if seen[x] != m:
                seen[x], columns[end] = m, x
                end += 1
            row = chain[row]
        while below >= 0:
            for t in range(starts[below], starts[below + 1]):
                x = columns[t]
                if m < x < q and seen[x] != m:
                    seen[x], columns[end] = m, x
                    end += 1
            below = sibling[below]
        if end - begin == q - 1 - m:
            break
        for t in range(begin + 1, end):
            x, at = columns[t], t
            while at > begin and columns[at - 1] > x:
                columns[at] = columns[at - 1]
                at -= 1
            columns[at] = x
        if end > begin:
            above = columns[begin]
            sibling[m], child[above] = child[above], m
        for x in range(q, n + 1):
            columns[end] = x
            end += 1
        m += 1
        starts[m] = end
    return starts[: m + 1], columns


@compiled
def no_zeros():
    """What `elimination` gives for a full matrix."""
    return np.zeros(1, np.int64), np.empty(0, np.int64)


@compiled(fastmath={"contract"})
def factorise(A, starts, columns):
    """Replace the upper triangle of a positive definite matrix by U; the rest is not used.

    A may have one column more, b, which is replaced by U⁻ᵀ D b: what `back_substitute` begins with.
    """
    n, m, width = len(A), len(starts) - 1, A.shape[1]
    for k in range(np.uint64(m)):
        scale, end = 1 / A[k, k], np.uint64(starts[k + 1])
        for t in range(np.uint64(starts[k]), end - np.uint64(1)):
            i = np.uint64(columns[t])
            f = A[k, i] * scale
            for s in range(t, end):
                x = np.uint64(columns[s])
                A[i, x] -= f * A[k, x]
    for k in range(np.uint64(m), np.uint64(n)):
        scale = 1 / A[k, k]
        for i in range(k + np.uint64(1), np.uint64(n)):
            f = A[k, i] * scale
            for x in range(i, np.uint64(width)):
                A[i, x] -= f * A[k, x]


@compiled
def log_determinant(U):
    """Return log det A = Σ log U_kk."""
    total, product = 0.0, 1.0
    for k in range(len(U)):
        product *= U[k, k]
        if not 1e-100 < product < 1e100:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@compiled(fastmath={"reassoc", "contract"})  # sums over neighbours by vector instructions
def back_substitute(U, starts, columns, x):
    """Write the x of A x = b into x, where U has b as the last column of what was factorised."""
    n, m = len(U), len(starts) - 1
    for k in range(n - 1, m - 1, -1):
        total = U[k, n]
        for i in range(np.uint64(k + 1), np.uint64(n)):
            total -= U[k, i] * x[i]
        x[k] = total / U[k, k]
    for k in range(m - 1, -1, -1):
        total = U[k, n]
        for t in range(np.uint64(starts[k]), np.uint64(starts[k + 1] - 1)):
            i = np.uint64(columns[t])
            total -= U[k, i] * x[i]
        x[k] = total / U[k, k]


@compiled(fastmath={"contract"})
def solve_into(U, x, first):
    """Replace b, the numbers of x from `first` on, by the x of A x = b, with a full U."""
    n = len(U)
    for k in range(n):
        f = x[first + k] / U[k, k]
        for i in range(np.uint64(k + 1), np.uint64(n)):
            x[first + i] -= f * U[k, i]
    for k in range(n - 1, -1, -1):
        total = x[first + k]
        for i in range(np.uint64(k + 1), np.uint64(n)):
            total -= U[k, i] * x[first + i]
        x[first + k] = total / U[k, k]


@compiled
def solve(U, b):
    """The x of A x = b, with a full U."""
    x = empty(len(b))
    for k in range(len(b)):
        x[k] = b[k]
    solve_into(U, x, 0)
    return x


@compiled(fastmath={"contract"})
def inverse_root(U, starts, columns, W):
    """Write W = √D U⁻ᵀ, lower triangular, with A⁻¹ = Wᵀ W."""
    n, m = len(U), len(starts) - 1
    for k in range(n):
        for x in range(n):
            W[k, x] = 0.0
        W[k, k] = 1.0
    for k in range(np.uint64(m)):
        scale = 1 / U[k, k]
        for t in range(np.uint64(starts[k]), np.uint64(starts[k + 1] - 1)):
            i = np.uint64(columns[t])
            f = U[k, i] * scale
            for x in range(k + np.uint64(1)):
                W[i, x] -= f * W[k, x]
    for k in range(np.uint64(m), np.uint64(n)):
        scale = 1 / U[k, k]
        for i in range(k + np.uint64(1), np.uint64(n)):
            f = U[k, i] * scale
            for x in range(k + np.uint64(1)):
                W[i, x] -= f * W[k, x]
    for k in range(n):
        scale = 1 / np.sqrt(U[k, k])
        for x in range(k + 1):
            W[k, x] *= scale


@compiled
def inverse(U, starts, columns):
    """A⁻¹ = Wᵀ W."""
    W = empty_rows(len(U), len(U))
    inverse_root(U, starts, columns, W)
    return square(W)


@compiled
def square(W):
    """Wᵀ W, of a lower triangular W."""
    n = len(W)
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
