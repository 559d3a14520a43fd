"""Tables of the marginal likelihood: of every pair, as a function of one β, weights integrated out.

Let r be the posterior probability, given everything a user said, that a comparison followed
component k, whose β for this comparison is b₀. If b₀ became b, the user's marginal likelihood would
change by the factor E[p'(w | θ) / p(w | θ)] = 1 − r + r b / b₀, exactly, as long as no other
comparison of the user changes with it. So L_pk(b) = Σ log(1 − r + r b / b₀) over the comparisons of
a pair is what moving its two items is worth, where `likelihood_tables` has it for drawn weights.
Drawn weights know the component of a comparison too well where users say little, and hold the
rankings where they are.

What one component may gain by itself, several gain only once. If all move at the same time and far,
they overshoot. So r may be put a part of the way towards 1, ρ = r + caution · (1 − r): the function
(r / ρ) log(1 − ρ + ρ b / b₀) has the same slope at b₀ and is more curved; at ρ = 1 it is EM's
r log(b / b₀), with which any number of components may move.

Gibbs sweeps give r: the mean of p(z = k | rest) over them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine, reduce_step
from mallowmix.learn.spectral.gibbs_sweep import Chain
from mallowmix.learn.spectral.likelihood_tables import N_NODES
from mallowmix.learn.spectral.tabulate import LANE_NODES
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, splitmix
from mallowmix.numerics.token_gibbs import component_at, user_stream
from mallowmix.numerics.vector_logarithms import LANES, add_logarithms
from mallowmix.typing import Array

_STEP = int(Step.MARGINAL_TABLES)


def marginal_tables(
    blocks: list[Block],
    beta: Array,
    alpha: Array,
    chains: list[Chain],
    engine: Engine,
    *,
    sweeps: int,
    number: int,
    key: np.uint64,
    caution: float = 0.0,
    halves: bool = False,
) -> Array:
    """Tabulate the marginal likelihood over all users.

    Parameters
    ----------
    blocks : list of Block
        The users.
    beta : (Q², K) array
        β of every ordered pair, none of them 0.
    alpha : (K,) array
        The prior.
    chains : list of Chain
        Where the sweeps begin; they are not changed.
    engine : Engine
        Where the pass runs.
    sweeps : int
        Gibbs sweeps that r is the mean of.
    number : int
        Of the pass: each draws anew.
    key : uint64
        Of the random numbers (`as_key`).
    caution : float
        How far ρ lies from r, 0, to 1.
    halves : bool
        Whether users of even and of odd number have tables of their own.

    Returns
    -------
    (K, P, nodes) array, or (K, 2P, nodes)
        Of halves, the users of even number first, then those of odd number, as in `large_data`.
    """
    broadcast = (beta, alpha, sweeps, number, key, caution, halves)
    total = engine.reduce(_step, blocks, broadcast, chains)[0].astype(np.float64, copy=False)
    return total.transpose(1, 0, 2)[:, :, :N_NODES]


@reduce_step("tabulate the marginal likelihood")
def _step(block: Block, broadcast: Any, chain: Chain) -> tuple[NDArray[np.float32], Chain]:
    *draws, halves = broadcast
    table = zero_table(block.n_items, chain.theta.shape[1], halves=halves)
    add_block(table, block, chain, *draws, halves=halves)
    return table, chain


def zero_table(n_items: int, n_components: int, *, halves: bool) -> NDArray[np.float32]:
    """(P, K, lanes) zeros, or (2P, K, lanes); sums over many blocks are to be float64.

    A pair's rows lie together: those of all components change at a time. After the nodes is a
    number without a meaning, so that they fill vector registers.

    Parameters
    ----------
    n_items, n_components : int
        Q and K.
    halves : bool
        As in `marginal_tables`.
    """
    P = n_items * (n_items - 1) // 2
    return np.zeros((2 * P if halves else P, n_components, LANES), np.float32)


def add_block(
    table: NDArray[np.float32],
    block: Block,
    chain: Chain,
    beta: Array,
    alpha: Array,
    sweeps: int,
    number: int,
    key: np.uint64,
    caution: float,
    *,
    halves: bool,
) -> None:
    """Add the tables of a block's users.

    Parameters
    ----------
    table : (P, K, lanes) array, or (2P, K, lanes)
        Of `zero_table`, changed in place.
    block : Block
        The users.
    chain : Chain
        Of the block.
    beta, alpha, sweeps, number, key, caution, halves
        As in `marginal_tables`.
    """
    rows = (block.starts, block.pair, block.weight, block.user_weight, _slots(block.n_items))
    draws = (chain.z.copy(), sweeps, number, key, block.first_user)
    odd_from, K = len(table) // 2 if halves else 0, len(alpha)
    longest = int(np.diff(block.starts).max(initial=0))
    values = np.ones((K, LANES))
    room = np.empty(K), np.empty(K), np.empty(K), np.empty((longest, K))
    lanes = values, values.view(np.uint64), np.arange(K, dtype=np.uint16), LANES
    _add_users(*rows, beta, alpha, *draws, caution, odd_from, *room, *lanes, table)


def _slots(n_items: int) -> NDArray[np.int32]:
    """(Q²,) the number p of each ordered pair's unordered one; −1 − p where the higher item won."""
    slot = np.zeros((n_items, n_items), np.int32)
    low, high = np.triu_indices(n_items, 1)
    number = np.arange(len(low), dtype=np.int32)
    slot[low, high], slot[high, low] = number, -1 - number
    return slot.ravel()


@compiled(fastmath=True)
def _add_users(
    starts,
    pair,
    weight,
    user_weight,
    slot,
    beta,
    alpha,
    z,
    sweeps,
    number,
    key,
    first_user,
    caution,
    odd_from,
    n,
    p,
    share,
    r,
    values,
    bits,
    every,
    lanes,
    table,
):
    """Add the comparisons of a block's users; of those of odd number from a row of the table on."""
    K, token = len(alpha), 0
    for m in range(len(starts) - 1):
        state = user_stream(key, first_user + m, _STEP, number)
        first, last = starts[m], starts[m + 1]
        for k in range(K):
            n[k] = alpha[k]
        token = _responsibilities(first, last, token, pair, weight, beta, sweeps, z, n, p, state, r)
        half = odd_from * ((first_user + m) % 2)
        for row in range(first, last):
            s, b = slot[pair[row]], beta[pair[row]]
            lower_won = s >= 0
            at = half + (s if lower_won else -1 - s)
            for k in range(K):  # (r / ρ) log(1 − ρ + ρ v / b)
                part = r[row - first, k]
                rho = part + caution * (1.0 - part)
                share[k] = weight[row] * user_weight[m] * part / rho
                _ratios(rho, b[k], lower_won, values, k, lanes)
            add_logarithms(values, bits, share, every, K, table[at], lanes)


@compiled(fastmath=True, inline="always")
def _ratios(rho, b, lower_won, values, k, lanes):
    """Row k: 1 − ρ + ρ v / b at every node, v the probability that the winner wins.

    Nodes are of the lower item; those of the higher one are 1 minus them.
    """
    slope = rho / b
    rest, step = (1.0 - rho, slope) if lower_won else (1.0 - rho + slope, -slope)
    for c in range(lanes):
        values[k, c] = rest + step * LANE_NODES[c]


@compiled(fastmath=True, inline="always")
def _responsibilities(first, last, first_token, pair, weight, beta, sweeps, z, n, p, state, r):
    """(rows, K) r of a user's rows: the mean of p(z = k | rest) over sweeps and a row's tokens.

    Tokens are first counted in n; the number of the next user's first token is returned.
    """
    K, token = len(n), first_token
    for row in range(first, last):
        for k in range(K):
            r[row - first, k] = 0.0
        left = weight[row]
        while left > 0.0:
            n[z[token]] += left if left < 1.0 else 1.0
            left -= 1.0
            token += 1
    for _ in range(sweeps):
        token = first_token
        for row in range(first, last):
            left = weight[row]
            while left > 0.0:
                w, total = left if left < 1.0 else 1.0, 0.0
                n[z[token]] -= w
                for k in range(K):
                    p[k] = beta[pair[row], k] * n[k]
                    total += p[k]
                part = w / (weight[row] * sweeps * total)
                for k in range(K):
                    r[row - first, k] += part * p[k]
                state, u = splitmix(state)
                z[token] = component_at(p, total, u)
                n[z[token]] += w
                left -= w
                token += 1
    return token
