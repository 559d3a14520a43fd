"""The direct likelihood of a component, tabulated: for every pair, the log-likelihood as a function of that component's β alone.

With θ given, a comparison of pair p by person m has the probability base + θ_mk b, where b = β_p,k and base = Σ_{l≠k} θ_ml β_p,l.
So L_pk(b) = Σ log(base + θ_mk b) over its comparisons is a smooth function of one number: it is evaluated at a few nodes, and
splines through them give it for every gap that a ranking could put between the two items, and for every φ.
"""


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
SKIP = 0.005  # someone who follows a component less than this says nothing about it


def gap_reach(n_items: int, phi: float) -> int:
    """The gap D beyond which a longer one changes nothing: β is as good as 0 or 1 there."""
    lose = gap_probabilities(n_items, phi).lose
    beyond = np.flatnonzero(lose < 1 - NODES[-1])
    return int(min(beyond[0] if len(beyond) else n_items - 1, n_items - 1))


def by_gap(table: Array, n_items: int, phi: float) -> Array:
    """(P, 2D+1) from the (P, nodes) table: the log-likelihood of each pair when its higher-numbered item is placed g = −D … D below."""
    D = gap_reach(n_items, phi)
    win, lose = gap_probabilities(n_items, phi)
    beta = np.concatenate([lose[D:0:-1], win[: D + 1]])
    return table @ _spline_weights(beta).T


def likelihood_by_phi(table: Array, gaps: NDArray[np.int64], n_items: int, grid: Array) -> Array:
    """(grid,) Σ_p L_p(β(gap_p; φ)) for each φ of a grid, the ranking held fixed; gap_p = σ(high) − σ(low)."""
    sums = np.zeros((2 * n_items - 1, N_NODES))
    np.add.at(sums, gaps + n_items - 1, table)
    values = np.empty(len(grid))
    for g, phi in enumerate(grid):
        win, lose = gap_probabilities(n_items, phi)
        values[g] = np.sum(_spline_weights(np.concatenate([lose[:0:-1], win])) * sums)
    return values


def _spline_weights(beta: Array) -> Array:
    """(len(beta), nodes): the spline's value at β is this matrix times its values at the nodes."""
    beta = np.clip(beta, NODES[0], NODES[-1])
    return _BASIS(np.log(beta) - np.log1p(-beta))


_BASIS = CubicSpline(LOGITS, np.eye(N_NODES))


@nb.njit(cache=True, nogil=True, fastmath=True)
def tabulate(starts, pair, weight, user_weight, index, forward, beta, theta, nodes):
    """(K, P, nodes) tables of L_pk for a block. Factors of unit weight are multiplied up and logged once in a while: a product is
    several times cheaper than a logarithm."""
    K = beta.shape[1]
    P = index.max() + 1
    C = len(nodes)
    logs, product = np.zeros((K, P, C)), np.ones((K, P, C))
    mirrored = 1.0 - nodes
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            code = pair[row]
            p = index[code]
            total = 0.0
            for k in range(K):
                total += theta[m, k] * beta[code, k]
            w = weight[row] * user_weight[m]
            for k in range(K):
                t = theta[m, k]
                if t < SKIP:
                    continue
                base = total - t * beta[code, k]
                if base < 0.0:
                    base = 0.0
                cells = product[k, p]
                at = nodes if forward[code] else mirrored
                if w == 1.0:
                    for c in range(C):
                        cells[c] *= base + t * at[c]
                    if cells[0] < 1e-250 or cells[C - 1] < 1e-250:
                        for c in range(C):
                            logs[k, p, c] += np.log(cells[c])
                            cells[c] = 1.0
                else:
                    for c in range(C):
                        logs[k, p, c] += w * np.log(base + t * at[c])
    for k in range(K):
        for p in range(P):
            for c in range(C):
                if product[k, p, c] != 1.0:
                    logs[k, p, c] += np.log(product[k, p, c])
    return logs


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


