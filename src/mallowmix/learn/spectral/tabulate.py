"""Fill the tables of `likelihood_tables` from comparisons and drawn weights."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import parallel_map
from mallowmix.learn.spectral.likelihood_tables import N_NODES, NODES, Tables
from mallowmix.learn.spectral.pair_rows import PairRows
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.vector_logarithms import LANES, add_logarithms
from mallowmix.typing import Array

SKIP = 0.005  # a user with a smaller weight of a component is left out of its table
_HELD = 48  # a factor is at least SKIP · 9e-4, so a product of 48 does not underflow
LANE_NODES = np.append(NODES, NODES[-1])  # the nodes, one for each lane


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
    active, n_active = _active(narrow, wanted)

    def part(block: PairRows) -> None:
        rows = (block.codes, block.starts, block.user, block.weight)
        out = (gain, LANES, block.first, *_work_arrays(len(tables)), tables)
        _tabulate(*rows, beta, narrow, active, n_active, wanted, *out)

    parallel_map(part, pairs, n_jobs)
    return tables


def _work_arrays(K: int) -> tuple[NDArray[Any], ...]:
    """Every component; products and factors at the nodes, with weights and bits; a pair's table."""
    ones, weights, (product, factor) = np.ones(K), np.empty(K), np.ones((2, K, LANES))
    every, bits = np.arange(K, dtype=np.uint16), (product.view(np.uint64), factor.view(np.uint64))
    return every, ones, weights, product, factor, *bits, np.zeros((K, LANES))


@compiled
def _active(theta, wanted):
    """(M, K) the components whose tables each user enters, first; and (M,) how many they are."""
    active = np.empty(theta.shape, np.uint16)
    n_active = np.empty(len(theta), np.uint16)
    for m in range(len(theta)):
        n = 0
        for k in range(len(wanted)):
            if wanted[k] and theta[m, k] >= SKIP:
                active[m, n] = k
                n += 1
        n_active[m] = n
    return active, n_active


@compiled(fastmath=True)
def _tabulate(
    codes,
    starts,
    user,
    weight,
    beta,
    theta,
    active,
    n_active,
    wanted,
    gain,
    lanes,
    first,
    every,
    ones,
    same,
    product,
    factor,
    product_bits,
    factor_bits,
    table,
    out,
):
    """Tabulate pairs from number `first` on; the logarithm of a product replaces a sum of them."""
    # Every factor is rest + slope · b, b the probability that the lower-numbered item wins; where
    # the other one won, base + θ (1 − b) is rewritten so. A component's factors are multiplied at
    # all nodes side by side, in the lanes of vector registers, `_HELD` rows at a time.
    K = beta.shape[1]
    for n in range(len(codes) // 2):
        held, stop = 0, starts[2 * n + 2]
        for row in range(starts[2 * n], stop):
            lower_won = row < starts[2 * n + 1]
            b = beta[codes[2 * n + (0 if lower_won else 1)]]
            m, w = np.uint64(user[row]), np.float64(weight[row])  # unsigned: no check for a sign
            n_own = np.int64(n_active[m])
            share, total = theta[m], 0.0
            for k in range(K):
                total += share[k] * b[k]
            for j in range(n_own):
                k = np.uint64(active[m, j])
                t = share[k]
                rest = total - t * b[k]
                rest = (rest if rest > 0.0 else 0.0) + (0.0 if lower_won else t)
                slope = t if lower_won else -t
                if w == 1.0:
                    for c in range(lanes):
                        product[k, c] *= rest + slope * LANE_NODES[c]
                else:
                    for c in range(lanes):
                        factor[j, c] = rest + slope * LANE_NODES[c]
                    same[j] = w
            if w != 1.0:
                add_logarithms(factor, factor_bits, same, active[m], n_own, table, lanes)
            held += 1
            if held == _HELD or row + 1 == stop:
                add_logarithms(product, product_bits, ones, every, K, table, lanes)
                held = 0
        for k in range(K):
            if wanted[k]:
                for c in range(N_NODES):
                    old = out[k, first + n, c]
                    out[k, first + n, c] = old + gain * (table[k, c] - old)
            for c in range(lanes):
                table[k, c] = 0.0
