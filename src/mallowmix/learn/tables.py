"""The direct likelihood of a component, tabulated: for every pair, the log-likelihood as a function of that component's β alone.

With θ given, a comparison of pair p by person m has the probability base + θ_mk b, where b = β_p,k and base = Σ_{l≠k} θ_ml β_p,l.
So L_pk(b) = Σ log(base + θ_mk b) over its comparisons is a smooth function of one number: it is evaluated at a few nodes, and
splines through them give it for every gap that a ranking could put between the two items, and for every φ.
"""

from functools import lru_cache

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from mallowmix.mallows import gap_probabilities

Array = NDArray[np.float64]
N_NODES = 15
_EDGE = 7.0  # nodes reach from β = 9e-4 to 1 − 9e-4
LOGITS = np.linspace(-_EDGE, _EDGE, N_NODES)
NODES = 1 / (1 + np.exp(-LOGITS))
PHI_GRID = np.r_[0.005, np.linspace(0.01, 0.99, 99)]
SKIP = 0.005  # someone who follows a component less than this says nothing about it


def gap_reach(n_items: int, phi: float) -> int:
    """The gap D beyond which a longer one changes nothing: β is as good as 0 or 1 there."""
    lose = gap_probabilities(n_items, phi).lose
    beyond = np.flatnonzero(lose < 1 - NODES[-1])
    return int(min(beyond[0] if len(beyond) else n_items - 1, n_items - 1))


def by_gap(table: Array, n_items: int, phi: float) -> Array:
    """(P, 2D+1) from the (P, nodes) table: each pair's log-likelihood when its second item is placed g = −D … D below."""
    D = gap_reach(n_items, phi)
    win, lose = gap_probabilities(n_items, phi)
    beta = np.concatenate([lose[D:0:-1], win[: D + 1]])
    return table @ _spline_weights(beta).T


def likelihood_by_phi(table: Array, gaps: NDArray[np.int64], n_items: int) -> tuple[Array, Array]:
    """A grid of φ, and Σ_p L_p(β(gap_p; φ)) for each, the ranking held fixed; gap_p = σ(high) − σ(low)."""
    gap_sums = np.zeros((2 * n_items - 1, N_NODES))
    for c in range(N_NODES):
        gap_sums[:, c] = np.bincount(gaps + n_items - 1, table[:, c], 2 * n_items - 1)
    grid, weights = _weights_by_phi(n_items)
    return grid, weights @ gap_sums.ravel()


@lru_cache(maxsize=4)
def _weights_by_phi(n_items: int) -> tuple[Array, Array]:
    """(grid,) φ and (grid, (2Q−1)·nodes) spline weights of every gap."""
    rows = []
    for phi in PHI_GRID:
        win, lose = gap_probabilities(n_items, phi)
        rows.append(_spline_weights(np.concatenate([lose[:0:-1], win])).ravel())
    return PHI_GRID, np.array(rows)


def _spline_weights(beta: Array) -> Array:
    """(len(beta), nodes): the spline's value at β is this matrix times its values at the nodes."""
    beta = np.clip(beta, NODES[0], NODES[-1])
    return _BASIS(np.log(beta) - np.log1p(-beta))


_BASIS = CubicSpline(LOGITS, np.eye(N_NODES))


def by_pair(pair: NDArray[np.int32], index: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows of a block in the order of their unordered pairs."""
    keys = index[pair]
    short = keys.astype(np.uint16) if len(keys) and keys.max() < 1 << 16 else keys  # numpy sorts 16-bit keys in linear time
    return np.argsort(short, kind="stable").astype(np.int32)


def tabulate(rows, user, pair, weight, user_weight, index, forward, beta, theta) -> Array:
    """(K, P, nodes) tables of L_pk for a block, its rows taken pair by pair (`by_pair`)."""
    products, logs = _multiply_up(rows, user, pair, weight, user_weight, index, forward, beta, theta, NODES)
    np.log(products, out=products)
    products += logs
    return products


@nb.njit(cache=True, nogil=True, fastmath=True)
def _multiply_up(rows, user, pair, weight, user_weight, index, forward, beta, theta, nodes):
    """Factors of unit weight are multiplied up, to be logged once a pair: a product is many times cheaper than a logarithm."""
    K, C = beta.shape[1], len(nodes)
    P = index.max() + 1
    products, logs = np.ones((K, P, C)), np.zeros((K, P, C))
    mirrored = 1.0 - nodes
    for row in rows:
        code, m = pair[row], user[row]
        p = index[code]
        total = 0.0
        for k in range(K):
            total += theta[m, k] * beta[code, k]
        w = weight[row] * user_weight[m]
        at = nodes if forward[code] else mirrored
        for k in range(K):
            t = theta[m, k]
            if t < SKIP:
                continue
            base = max(total - t * beta[code, k], 0.0)
            if w == 1.0:
                for c in range(C):
                    products[k, p, c] *= base + t * at[c]
                if products[k, p, 0] < 1e-250 or products[k, p, C - 1] < 1e-250:
                    for c in range(C):
                        logs[k, p, c] += np.log(products[k, p, c])
                        products[k, p, c] = 1.0
            else:
                for c in range(C):
                    logs[k, p, c] += w * np.log(base + t * at[c])
    return products, logs


def pair_codes(n_items: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """(Q²,) the number of each ordered pair's unordered one, and whether its lower-numbered item won."""
    low, high = np.triu_indices(n_items, 1)
    index, forward = np.zeros(n_items**2, np.int32), np.zeros(n_items**2, bool)
    index[low * n_items + high] = index[high * n_items + low] = np.arange(len(low))
    forward[low * n_items + high] = True
    return index, forward


def gaps_of(sigma: NDArray[np.int32]) -> NDArray[np.int64]:
    """(P,) σ(high) − σ(low) for every unordered pair: positive where the lower-numbered item is placed higher."""
    low, high = np.triu_indices(len(sigma), 1)
    return (sigma[high] - sigma[low]).astype(np.int64)


def square(values: Array, n_items: int) -> Array:
    """(Q, Q, 2D+1) from (P, 2D+1): [i, j, D + g] is the log-likelihood of the pair when j is placed g below i."""
    low, high = np.triu_indices(n_items, 1)
    full = np.zeros((n_items, n_items, values.shape[1]))
    full[low, high] = values
    full[high, low] = values[:, ::-1]
    return full
