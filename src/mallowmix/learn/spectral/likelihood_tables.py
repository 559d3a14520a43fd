"""Tables of the direct likelihood: of every pair, the log-likelihood as a function of one β.

With θ given, a comparison of pair p by user m has the probability base + θ_mk b, where b = β_p,k
and base = Σ_{l≠k} θ_ml β_p,l. So L_pk(b) = Σ log(base + θ_mk b) over its comparisons is a smooth
function of one number: it is evaluated at a few nodes, and splines through them give it for every
gap that a ranking could put between the two items, and for every φ.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from mallowmix.model.dispersion import TABLE_GRID
from mallowmix.model.mallows import gap_probabilities
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import zero_rows
from mallowmix.typing import Array

Tables = NDArray[np.float32]  # (K, P, nodes)
N_NODES = 15
_EDGE = 7.0  # nodes reach from β = 9e-4 to 1 − 9e-4
LOGITS = np.linspace(-_EDGE, _EDGE, N_NODES)
NODES = 1 / (1 + np.exp(-LOGITS))


@lru_cache(maxsize=32)
def gap_reach(n_items: int, phi: float) -> int:
    """The gap D beyond which β is as good as 0 or 1, so that a longer one changes nothing."""
    lose = gap_probabilities(n_items, phi).lose
    beyond = np.flatnonzero(lose < 1 - NODES[-1])
    return int(min(beyond[0] if len(beyond) else n_items - 1, n_items - 1))


def by_gap(
    table: NDArray[np.floating],
    n_items: int,
    phi: float,
    *,
    order: NDArray[np.int32] | None = None,
    memory: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """(P, 2D+1) log-likelihoods by gap, for `insertion_search.insert_by_gap`.

    Parameters
    ----------
    table : (P, nodes) array
        Of one component.
    n_items : int
        Q.
    phi : float
        φ.
    order : (Q,) array of int32, optional
        The item of each number in the answer, where items have other numbers there.
    memory : (n,) array of float32, optional
        Where to put the answer, if it is large enough: new memory of this size costs as much time
        as what is written into it.

    Returns
    -------
    (P, 2D + 1) array of float32
        [p, D + g] is the log-likelihood of pair p = (i, j), i < j, when i is g positions below j.
    """
    D, (win, lose) = gap_reach(n_items, phi), gap_probabilities(n_items, phi)
    # the spline's value at every gap is this matrix times its values at the nodes
    weights = _BASIS(_logit(np.concatenate([win[D:0:-1], lose[: D + 1]]))).T
    weights = np.ascontiguousarray(weights, np.float32)  # as exact as what is kept of the product
    size = len(table) * (2 * D + 1)
    if memory is None or len(memory) < size:
        memory = np.empty(size, np.float32)
    table = table.astype(np.float32, copy=False)
    if order is not None:
        table = _renumbered(table, order, np.empty_like(table))
    return np.matmul(table, weights, out=memory[:size].reshape(len(table), 2 * D + 1))


@compiled
def _renumbered(table, order, out):
    """The table with the items order[0], order[1], … as numbers 0, 1, …"""
    Q, C, p = len(order), table.shape[1], 0
    for a in range(Q):
        for b in range(a + 1, Q):
            low, high = min(order[a], order[b]), max(order[a], order[b])
            row = table[low * (2 * Q - low - 1) // 2 + high - low - 1]
            for c in range(C):  # nodes are symmetric: 1 − β is β read backwards
                out[p, c] = row[c if low == order[a] else C - 1 - c]
            p += 1
    return out


def gap_sums(table: NDArray[np.floating], sigma: NDArray[np.int32]) -> Array:
    """(Q, nodes) Σ L_p over the pairs that σ puts g positions apart, β that of the upper item.

    Parameters
    ----------
    table : (P, nodes) array
        Of one component.
    sigma : (Q,) array of int32
        Positions of the items.
    """
    return _gap_sums(table, sigma)


@compiled
def _gap_sums(table, sigma):
    Q, C, p = len(sigma), table.shape[1], 0
    sums = zero_rows(Q, C)
    for low in range(Q):
        for high in range(low + 1, Q):
            gap = sigma[high] - sigma[low]
            for c in range(C):
                # nodes are symmetric: 1 − β is β read backwards
                sums[abs(gap), c] += table[p, c if gap > 0 else C - 1 - c]
            p += 1
    return sums


def likelihood(sums: Array, phi: float) -> float:
    """Σ_p L_p(β(gap_p; φ)) from `gap_sums`: the tabulated log-likelihood of one component."""
    return float(np.sum(_kept_weights(len(sums), phi) * sums))


def likelihood_by_phi(sums: Array) -> tuple[Array, Array]:
    """A grid of φ, and the likelihood for each, the ranking held fixed."""
    return TABLE_GRID, _weights_by_phi(len(sums)) @ sums.ravel()


@lru_cache(maxsize=4)
def _weights_by_phi(n_items: int) -> Array:
    """(grid, Q · nodes) spline weights of every gap."""
    weights = np.empty((len(TABLE_GRID), n_items * N_NODES))
    for i, phi in enumerate(TABLE_GRID):
        weights[i] = _spline_weights(n_items, phi).ravel()
    weights.setflags(write=False)  # kept for the next call
    return weights


def _spline_weights(n_items: int, phi: float) -> Array:
    """(Q, nodes): the spline's value at every gap is this matrix times its values at the nodes."""
    return _BASIS(_logit(gap_probabilities(n_items, phi).win))


@lru_cache(maxsize=32)
def _kept_weights(n_items: int, phi: float) -> Array:
    """The same, kept: a cycle asks for the same ones repeatedly."""
    weights = _spline_weights(n_items, phi)
    weights.setflags(write=False)
    return weights


def _logit(beta: Array) -> Array:
    beta = np.clip(beta, NODES[0], NODES[-1])
    return np.log(beta) - np.log1p(-beta)


_BASIS = CubicSpline(LOGITS, np.eye(N_NODES))


def new_tables(n_components: int, n_items: int) -> Tables:
    """(K, P, nodes) of zeros."""
    return np.zeros((n_components, n_items * (n_items - 1) // 2, N_NODES), np.float32)
