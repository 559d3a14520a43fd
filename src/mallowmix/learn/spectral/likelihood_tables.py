"""Tables of the direct likelihood: of every pair, the log-likelihood as a function of one β.

With θ given, a comparison of pair p by user m has the probability base + θ_mk b, where b = β_p,k
and base = Σ_{l≠k} θ_ml β_p,l. So L_pk(b) = Σ log(base + θ_mk b) over its comparisons is a smooth
function of one number: it is evaluated at a few nodes, and splines through them give it for every
gap that a ranking could put between the two items, and for every φ.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from mallowmix.engine import parallel_map
from mallowmix.learn.spectral.pair_rows import PairRows
from mallowmix.learn.spectral.pair_rows import by_pair as by_pair
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
SKIP = 0.005  # a user with a smaller weight of a component is left out of its table
_HELD = 48  # a factor is at least SKIP · 9e-4, so a product of 48 does not underflow
# up to this whole weight a factor is multiplied so often; otherwise its logarithm is weighted
_COPIES = 8
_USERS_AT_ONCE = 4096  # whose components are listed
_PAIRS_AT_ONCE = 1000  # whose values by gap stay in the cache until they are written


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
    numbers: NDArray[np.int32] | None = None,
    memory: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """(Q, Q, 2D+1) log-likelihoods by gap, for `insertion_search.insert_by_gap`.

    Parameters
    ----------
    table : (P, nodes) array
        Of one component.
    n_items : int
        Q.
    phi : float
        φ.
    numbers : (Q,) array of int32, optional
        Other numbers for the items, in the answer alone.
    memory : (n,) array of float32, optional
        Where to put the answer, if it is large enough: new memory of this size costs as much time
        as what is written into it.

    Returns
    -------
    (Q, Q, 2D + 1) array of float32
        [i, j, D + g] is the log-likelihood of the pair when i is g positions below j; 0 for i = j.
    """
    numbers = np.arange(n_items, dtype=np.int32) if numbers is None else numbers
    D, (win, lose) = gap_reach(n_items, phi), gap_probabilities(n_items, phi)
    # the spline's value at every gap is this matrix times its values at the nodes
    weights = _BASIS(_logit(np.concatenate([win[D:0:-1], lose[: D + 1]]))).T
    weights = np.ascontiguousarray(weights, np.float32)  # as exact as what is kept of the product
    shape = (n_items, n_items, 2 * D + 1)
    size = math.prod(shape)
    if memory is None or len(memory) < size:
        memory = np.empty(size, np.float32)
    out = memory[:size].reshape(shape)
    out[np.arange(n_items), np.arange(n_items)] = 0
    for first in range(0, len(table), _PAIRS_AT_ONCE):
        values = table[first : first + _PAIRS_AT_ONCE].astype(np.float32, copy=False) @ weights
        _put_pairs(values, first, numbers, out)
    return out


@compiled
def _put_pairs(values, first, numbers, out):
    """Write the values of pairs from number `first` on, as either of its two items has them."""
    n_items, n_gaps, low = len(numbers), values.shape[1], 0
    while first >= n_items - 1 - low:  # pairs (0, 1), (0, 2), …, (1, 2), …
        first -= n_items - 1 - low
        low += 1
    high = low + 1 + first
    for n in range(len(values)):
        upper, lower = out[numbers[low], numbers[high]], out[numbers[high], numbers[low]]
        for g in range(n_gaps):
            upper[g] = values[n, g]
        for g in range(n_gaps):
            lower[g] = values[n, n_gaps - 1 - g]
        high += 1
        if high == n_items:
            low += 1
            high = low + 1


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


def tabulate(
    pairs: list[PairRows],
    beta: Array,
    theta: Array,
    tables: Tables,
    *,
    which: Iterable[int] | None = None,
    gain: float = 1.0,
    n_jobs: int = 1,
) -> Tables:
    """Tabulate L_pk for all components or for some, averaged with old tables.

    Parameters
    ----------
    pairs : list of PairRows
        From `by_pair`.
    beta : (Q², K) array
        β of every ordered pair.
    theta : (M, K) array
        The weights of all users.
    tables : (K, P, nodes) array
        The old tables; the new ones are written over them.
    which : iterable of int, optional
        Components whose tables change; all unless given.
    gain : float
        The result is old + gain · (new − old).
    n_jobs : int
        How many blocks of pairs at the same time.

    Returns
    -------
    (K, P, nodes) array of float32
        The same memory, with the new tables.
    """
    wanted = np.zeros(len(tables), np.bool_)
    wanted[slice(None) if which is None else list(which)] = True
    narrow = theta.astype(np.float32)

    def listed(first: int) -> tuple[Any, Any]:
        return _active(narrow[first : first + _USERS_AT_ONCE], wanted)

    lists = parallel_map(listed, range(0, len(narrow), _USERS_AT_ONCE), n_jobs)
    active, n_active = (np.concatenate(each) for each in zip(*lists, strict=True))

    def part(block: PairRows) -> None:
        rows = (block.codes, block.starts, block.user, block.weight)
        _tabulate(*rows, beta, narrow, active, n_active, wanted, gain, NODES, block.first, tables)

    parallel_map(part, pairs, n_jobs)
    return tables


def _active(
    theta: NDArray[np.float32], wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """(M, K) the components whose tables each user enters, first; and (M,) how many they are."""
    active, n_active = np.zeros(theta.shape, np.uint16), np.zeros(len(theta), np.uint16)
    for k in np.flatnonzero(wanted):
        users = np.flatnonzero(theta[:, k] >= SKIP)
        active[users, n_active[users]] = k
        n_active[users] += 1
    return active, n_active


@compiled(fastmath=True)
def _tabulate(
    codes, starts, user, weight, beta, theta, active, n_active, wanted, gain, nodes, first, out
):
    """Tabulate pairs from number `first` on; the logarithm of a product replaces a sum of them."""
    # Every factor is rest + slope · b, b the probability that the lower-numbered item wins; where
    # the other one won, base + θ (1 − b) is rewritten so. Factors are held until there are `_HELD`
    # of a component, then multiplied: a product is cheaper than logarithms.
    K, one = beta.shape[1], np.uint64(1)  # an unsigned index is not checked for being negative
    rest, slope, held = np.empty((K, _HELD)), np.empty((K, _HELD)), np.zeros(K, np.uint64)
    table = zero_rows(K, len(nodes))
    for s in range(len(codes)):
        b, lower_won = beta[codes[s]], s % 2 == 0
        sign = 1.0 if lower_won else -1.0
        for row in range(starts[s], starts[s + 1]):
            m, w = np.uint64(user[row]), weight[row]
            copies = int(w) if w == int(w) and w <= _COPIES else 0
            share, total = theta[m], 0.0
            for k in range(K):
                total += share[k] * b[k]
            for j in range(n_active[m]):
                k = active[m, j]
                t = share[k]
                base = max(total - t * b[k], 0.0) + (0.0 if lower_won else t)
                for _ in range(copies):
                    rest[k, held[k]], slope[k, held[k]] = base, sign * t
                    held[k] += one
                    if held[k] == _HELD:
                        _multiply_up(rest[k], slope[k], nodes, table[k])
                        held[k] = 0
                if copies == 0:
                    for c in range(len(nodes)):
                        table[k, c] += w * np.log(base + sign * t * nodes[c])
        if not lower_won:
            for k in range(K):
                if wanted[k]:
                    _multiply_up(rest[k, : held[k]], slope[k, : held[k]], nodes, table[k])
                    for c in range(len(nodes)):
                        old = out[k, first + s // 2, c]
                        out[k, first + s // 2, c] = old + gain * (table[k, c] - old)
            held[:], table[:] = 0, 0.0


@compiled(fastmath=True)
def _multiply_up(rest, slope, nodes, table):
    if len(rest) == 0:
        return
    for c in range(len(nodes)):
        product = 1.0
        for i in range(len(rest)):
            product *= rest[i] + slope[i] * nodes[c]
        table[c] += np.log(product)
