"""Tables of the direct likelihood: of every pair, the log-likelihood as a function of one β.

With θ given, a comparison of pair p by user m has the probability base + θ_mk b, where b = β_p,k
and base = Σ_{l≠k} θ_ml β_p,l. So L_pk(b) = Σ log(base + θ_mk b) over its comparisons is a smooth
function of one number: it is evaluated at a few nodes, and splines through them give it for every
gap that a ranking could put between the two items, and for every φ.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from mallowmix.engine import parallel_map
from mallowmix.learn.spectral.pair_rows import PairRows
from mallowmix.learn.spectral.pair_rows import by_pair as by_pair
from mallowmix.model.dispersion import TABLE_GRID
from mallowmix.model.mallows import gap_probabilities
from mallowmix.numerics.compiled import compiled
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


def gap_reach(n_items: int, phi: float) -> int:
    """The gap D beyond which β is as good as 0 or 1, so that a longer one changes nothing."""
    lose = gap_probabilities(n_items, phi).lose
    beyond = np.flatnonzero(lose < 1 - NODES[-1])
    return int(min(beyond[0] if len(beyond) else n_items - 1, n_items - 1))


def by_gap(table: NDArray[np.floating], n_items: int, phi: float) -> NDArray[np.float32]:
    """(Q, Q, 2D+1) log-likelihoods by gap, for `insertion_search.insert_by_gap`.

    Parameters
    ----------
    table : (P, nodes) array
        Of one component.
    n_items : int
        Q.
    phi : float
        φ.

    Returns
    -------
    (Q, Q, 2D + 1) array of float32
        [i, j, D + g] is the log-likelihood of the pair when i is g positions below j.
    """
    D = gap_reach(n_items, phi)
    win, lose = gap_probabilities(n_items, phi)
    beta = np.concatenate([win[D:0:-1], lose[: D + 1]])
    return _by_gap(table, np.ascontiguousarray(_spline_weights(beta).T), n_items)


@compiled(fastmath=True)
def _by_gap(table, weights, n_items):
    C, n_gaps = weights.shape
    out, value, p = np.zeros((n_items, n_items, n_gaps), np.float32), np.empty(n_gaps), 0
    for low in range(n_items):
        for high in range(low + 1, n_items):
            value[:] = 0.0
            for c in range(C):
                for g in range(n_gaps):
                    value[g] += table[p, c] * weights[c, g]
            for g in range(n_gaps):
                out[low, high, g] = out[high, low, n_gaps - 1 - g] = value[g]
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
    sums = np.zeros((Q, C))
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
    return float(np.sum(_spline_weights(gap_probabilities(len(sums), phi).win) * sums))


def likelihood_by_phi(sums: Array) -> tuple[Array, Array]:
    """A grid of φ, and the likelihood for each, the ranking held fixed."""
    return TABLE_GRID, _weights_by_phi(len(sums)) @ sums.ravel()


@lru_cache(maxsize=4)
def _weights_by_phi(n_items: int) -> Array:
    """(grid, Q · nodes) spline weights of every gap."""
    weights = np.empty((len(TABLE_GRID), n_items * N_NODES))
    for i, phi in enumerate(TABLE_GRID):
        weights[i] = _spline_weights(gap_probabilities(n_items, phi).win).ravel()
    return weights


def _spline_weights(beta: Array) -> Array:
    """(len(beta), nodes): the spline's value at β is this matrix times its values at the nodes."""
    beta = np.clip(beta, NODES[0], NODES[-1])
    return _BASIS(np.log(beta) - np.log1p(-beta))


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
        The old tables.
    which : iterable of int, optional
        Components whose tables change; all unless given.
    gain : float
        The result is old + gain · (new − old).
    n_jobs : int
        How many blocks of pairs at the same time.

    Returns
    -------
    (K, P, nodes) array of float32
        The new tables.
    """
    chosen = np.arange(len(tables)) if which is None else np.array(which)
    narrow = theta.astype(np.float32)

    def part(block: PairRows) -> Tables:
        new = tables[:, block.first : block.first + len(block.codes) // 2].copy()
        rows = (block.codes, block.starts, block.user, block.weight)
        _tabulate(*rows, beta, narrow, chosen, gain, NODES, new)
        return new

    return np.concatenate(parallel_map(part, pairs, n_jobs), axis=1)


@compiled(fastmath=True)
def _tabulate(codes, starts, user, weight, beta, theta, chosen, gain, nodes, out):
    """Tabulate one block of pairs into `out`; the logarithm of a product replaces a sum of them."""
    # Every factor is rest + slope · b, b the probability that the lower-numbered item wins; where
    # the other one won, base + θ (1 − b) is rewritten so. Factors are held until there are `_HELD`
    # of a component, then multiplied: a product is cheaper than logarithms.
    G, K = len(chosen), beta.shape[1]
    rest, slope, held = np.empty((G, _HELD)), np.empty((G, _HELD)), np.zeros(G, np.int64)
    table = np.zeros((G, len(nodes)))
    for s in range(len(codes)):
        code, lower_won = codes[s], s % 2 == 0
        for row in range(starts[s], starts[s + 1]):
            m, w = user[row], weight[row]
            copies = int(w) if w == int(w) and w <= _COPIES else 0
            total = 0.0
            for k in range(K):
                total += theta[m, k] * beta[code, k]
            for g in range(G):
                t = theta[m, chosen[g]]
                base = max(total - t * beta[code, chosen[g]], 0.0)
                a, b = (base, t) if lower_won else (base + t, -t)
                for _ in range(copies):
                    rest[g, held[g]], slope[g, held[g]] = a, b
                    held[g] += t >= SKIP
                    if held[g] == _HELD:
                        _multiply_up(rest[g], slope[g], nodes, table[g])
                        held[g] = 0
                if copies == 0 and t >= SKIP:
                    for c in range(len(nodes)):
                        table[g, c] += w * np.log(a + b * nodes[c])
        if not lower_won:
            for g in range(G):
                _multiply_up(rest[g, : held[g]], slope[g, : held[g]], nodes, table[g])
                for c in range(len(nodes)):
                    old = out[chosen[g], s // 2, c]
                    out[chosen[g], s // 2, c] = old + gain * (table[g, c] - old)
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
