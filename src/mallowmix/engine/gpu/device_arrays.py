"""The passes over users as array programs, the same for numpy on a processor and CuPy on a GPU.

Users times ordered pairs is a sparse matrix N (row m counts what user m chose), so a pass is a
product with it. On a GPU each of them is one fused kernel instead (`engine.gpu.kernels`), which the
benchmark of the GPU compares with the array program.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mallowmix.data.tie_halves import rows_users, tie_halves
from mallowmix.engine.gpu.kernels import MOST_LANES, DeviceArray, Kernels


@dataclass(frozen=True)
class Arrays:
    """The array modules of a device: numpy and SciPy, or CuPy and its SciPy, with kernels."""

    xp: Any
    sparse: Any
    special: Any
    kernels: Kernels | None = None

    def take(self, array: DeviceArray, dtype: Any = None) -> DeviceArray:
        """A numpy array as an array of this device."""
        return self.xp.asarray(array, dtype)

    def give(self, array: DeviceArray) -> np.ndarray:
        """An array of this device as a numpy array."""
        return np.asarray(array.get() if hasattr(array, "get") else array)


class Batch(NamedTuple):
    """Consecutive users as arrays of one device: rows of the m-th are starts[m]:starts[m+1].

    Weights that are None are all 1.
    """

    n_items: int
    starts: DeviceArray  # (M + 1,) int64
    pair: DeviceArray  # (rows,) int32
    weight: DeviceArray = None  # (rows,) float32
    user_weight: DeviceArray = None  # (M,) float32


class Scale(NamedTuple):
    """What the signed moment needs of a batch, computed once."""

    mass: float  # Σ u_m n_m over users with two tokens
    users: DeviceArray  # (M,) u_m c_m, c_m = n_m / (n_m² − Σ squares)
    # (Q²,) Σ u_m c_m (squares of a row's tokens): what a token's product with itself would add
    squares: DeviceArray
    # (Q²,) Σ u_m c_m ¼ over halves of ties: what the products of the two halves would add
    ties: DeviceArray = None


def on_processor() -> Arrays:
    """Arrays of numpy and SciPy."""
    import scipy.sparse
    import scipy.special

    return Arrays(np, scipy.sparse, scipy.special)


def on_gpu(*, fused: bool = True) -> Arrays:
    """Arrays of CuPy; without `fused` the array programs alone.

    Raises
    ------
    ImportError
        Without CuPy; without a GPU, CuPy's own error.
    """
    import cupy  # type: ignore[import-not-found]
    import cupyx.scipy.sparse  # type: ignore[import-not-found]
    import cupyx.scipy.special  # type: ignore[import-not-found]

    cupy.cuda.runtime.getDeviceCount()
    return Arrays(cupy, cupyx.scipy.sparse, cupyx.scipy.special, Kernels(cupy) if fused else None)


def batch_pair_counts(on: Arrays, batch: Batch) -> DeviceArray:
    """(Q²,) how often each ordered pair was seen, users weighted by `user_weight`."""
    n_codes, counts = batch.n_items**2, None
    if on.kernels and batch.weight is None and batch.user_weight is None:
        counts = on.kernels.count_pairs(batch.pair, n_codes)
    if counts is None:
        counts = on.xp.bincount(batch.pair, _row_weights(on, batch), n_codes)
    return counts.astype(np.float64)


def user_scale(on: Arrays, batch: Batch) -> Scale:
    """Each user's c_m, which is 0 for those without two distinct tokens."""
    xp, weight = on.xp, batch.weight
    n = on.xp.diff(batch.starts).astype(np.float64)
    squares, row_squares, ties = n, None, None
    if weight is not None:
        whole = xp.floor(weight)
        row_squares, ties = whole + (weight - whole) ** 2, half_ties(on, batch)
        n = _by_user(on, batch, weight)
        squares = _by_user(on, batch, row_squares if ties is None else row_squares + ties)
    products = n**2 - squares  # n (n − 1) where all tokens are whole
    some = (n > 1) & (products > 1e-9 * n**2)
    u = 1.0 if batch.user_weight is None else batch.user_weight
    c = xp.where(some, n / xp.where(some, products, 1.0), 0.0) * u
    mass = float((xp.where(some, n, 0.0) * u).sum())

    def by_pair(rows: DeviceArray) -> DeviceArray:
        return xp.bincount(
            batch.pair,
            _row_weights(on, batch._replace(weight=rows, user_weight=c)),
            batch.n_items**2,
        )

    return Scale(
        mass, c.astype(np.float32), by_pair(row_squares), None if ties is None else by_pair(ties)
    )


def half_ties(on: Arrays, batch: Batch) -> DeviceArray:
    """(rows,) ¼ for halves of a tie; None where there are none (`data.tie_halves`)."""
    return tie_halves(batch.starts, batch.pair, batch.weight, batch.n_items, on.xp)


def signed_apply(
    on: Arrays, batch: Batch, scale: Scale, index: DeviceArray, value: DeviceArray, V: DeviceArray
) -> DeviceArray:
    """(P, b) the batch's part of A V before normalisation: Xᵀ (Nᵀ C N) X V − D V.

    X goes from unordered pairs to signed codes.

    Parameters
    ----------
    on : Arrays
        The device.
    batch : Batch
        The users.
    scale : Scale
        From `user_scale`.
    index, value : (Q²,) arrays
        Of `PairStatistics`.
    V : (P, b) array
        The vectors.
    """
    W = value[:, None] * V[index]  # X V
    out = _user_product(on, batch, scale.users, W)
    ahead, behind = _both_ways(on, batch.n_items)
    own = value[ahead] ** 2 * scale.squares[ahead] + value[behind] ** 2 * scale.squares[behind]
    if scale.ties is not None:
        own = own + value[ahead] * value[behind] * (scale.ties[ahead] + scale.ties[behind])
    return value[ahead, None] * out[ahead] + value[behind, None] * out[behind] - own[:, None] * V


def _user_product(on: Arrays, batch: Batch, c: DeviceArray, W: DeviceArray) -> DeviceArray:
    """(Q², b) Nᵀ diag(c) N W."""
    if on.kernels:
        return on.kernels.signed_pass(batch.starts, batch.pair, batch.weight, c, W)
    weight = on.xp.ones(len(batch.pair), np.float32) if batch.weight is None else batch.weight
    N = on.sparse.csr_matrix(
        (weight, batch.pair, batch.starts), shape=(len(batch.starts) - 1, batch.n_items**2)
    )
    return N.T @ (c[:, None] * (N @ W))


def batch_e_step(
    on: Arrays,
    batch: Batch,
    table: DeviceArray,
    alpha: DeviceArray,
    gamma: DeviceArray = None,
    inner: int = 3,
) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
    """Do one variational E-step.

    r_k = β_k scale_k / Σ_l β_l scale_l is what a row gives component k, scale_k = exp E log θ_k.

    Parameters
    ----------
    on : Arrays
        The device.
    batch : Batch
        The users.
    table : (Q², K) array
        β of every ordered pair.
    alpha : (K,) array
        The prior.
    gamma : (M, K) array, optional
        Users' γ to begin with.
    inner : int
        Fixed-point steps of γ.

    Returns
    -------
    counts : (Q², K) array
        Expected counts.
    bound : float
        The ELBO without its prior normaliser.
    sums : (K + 1,) array
        Σ E log θ_k, and last Σ u_m.
    gamma : (M, K) array
        Users' γ.
    """
    K, fresh = table.shape[1], gamma is None
    if on.kernels and K <= 4 * MOST_LANES:
        gamma = on.xp.empty((len(batch.starts) - 1, K), np.float32) if fresh else gamma.copy()
        arguments = (batch.starts, batch.pair, batch.weight, batch.user_weight, table, alpha, gamma)
        counts, bound, sums = on.kernels.fold(*arguments, inner, fresh)
        return counts, bound[0], sums, gamma
    return _fold(on, batch, table, alpha, gamma, inner)


def _fold(
    on: Arrays, batch: Batch, table: DeviceArray, alpha: DeviceArray, gamma: DeviceArray, inner: int
) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
    xp, K = on.xp, table.shape[1]
    beta, user = table[batch.pair], user_of_row(on, batch)
    w = xp.ones(len(batch.pair), np.float32) if batch.weight is None else batch.weight
    u = xp.ones(len(batch.starts) - 1) if batch.user_weight is None else batch.user_weight
    if gamma is None:
        gamma = (alpha + _by_user(on, batch, w)[:, None] / K).astype(np.float32)
    for _ in range(inner):
        scale = xp.exp(_e_log(on, gamma)).astype(np.float32)
        total = (beta * scale[user]).sum(axis=1)
        gamma = (alpha + scale * _by_user(on, batch, beta * (w / total)[:, None])).astype(
            np.float32
        )
    e_log = _e_log(on, gamma)
    scale = xp.exp(e_log).astype(np.float32)
    given = beta * scale[user]
    total, w = given.sum(axis=1), w * u[user]
    given *= (w / total)[:, None]
    counts = xp.stack([xp.bincount(batch.pair, given[:, k], len(table)) for k in range(K)], axis=1)
    g = gamma.astype(np.float64)
    prior = ((alpha - g) * e_log + on.special.gammaln(g)).sum(axis=1) - on.special.gammaln(
        g.sum(axis=1)
    )
    bound = (w * xp.log(total.astype(np.float64))).sum() + u @ prior
    return counts, bound, xp.concatenate([u @ e_log, u.sum()[None]]), gamma


def _e_log(on: Arrays, gamma: DeviceArray) -> DeviceArray:
    """E log θ."""
    g = gamma.astype(np.float64)
    return on.special.psi(g) - on.special.psi(g.sum(axis=1, keepdims=True))


def user_of_row(on: Arrays, batch: Batch) -> DeviceArray:
    """(rows,) the user of each row."""
    return rows_users(batch.starts, len(batch.pair), on.xp)


def _row_weights(on: Arrays, batch: Batch) -> DeviceArray:
    """Each row's weight times that of its user, None where all are 1."""
    if batch.user_weight is None:
        return batch.weight
    u = batch.user_weight[user_of_row(on, batch)]
    return u if batch.weight is None else u * batch.weight


def _by_user(on: Arrays, batch: Batch, values: DeviceArray) -> DeviceArray:
    """Sums of the values of each user's rows."""
    n = len(batch.pair)
    ones = on.xp.ones(n, np.float64)
    S = on.sparse.csr_matrix(
        (ones, on.xp.arange(n), batch.starts), shape=(len(batch.starts) - 1, n)
    )
    return S @ values.astype(np.float64)


def _both_ways(on: Arrays, n_items: int) -> tuple[DeviceArray, DeviceArray]:
    """The codes of each unordered pair, the lower-numbered item as winner, and as loser."""
    low, high = np.triu_indices(n_items, 1)
    return on.take(low * n_items + high), on.take(high * n_items + low)
