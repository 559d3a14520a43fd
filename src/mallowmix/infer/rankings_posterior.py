"""Posterior of a user's own ranking under the model of personal rankings, by Gibbs sampling.

A user's stream of random numbers is chosen by their comparisons, so what is predicted of a user
does not depend on who else is predicted.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.rankings_tables import rankings_tables
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.insertion_gibbs import (
    clear_answers,
    component_weights,
    draw_component,
    independent_weights,
    net_answers,
    sweep,
)
from mallowmix.numerics.randomness import Step, as_key, uniforms
from mallowmix.numerics.work_arrays import empty_integers, zero_rows
from mallowmix.typing import Array

N_CHAINS, N_SWEEPS, N_BURN = 2, 16, 4
_STEP = np.int64(Step.RANKING_DRAWS)  # of a type that kernels are not compiled anew for
_HASH_START, _HASH_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # FNV-1a


def rankings_probabilities(
    block: Block, model: RankingsModel, queries: Queries, *, seed: int = 0
) -> Array:
    """Predict queried pairs from each user's posterior.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : RankingsModel
        The model.
    queries : Queries
        The pairs to predict.
    seed : int
        Of the chains.

    Returns
    -------
    (n,) array
        The probability that each query's user prefers the pair's first item.
    """
    out, none = np.empty(len(queries.pair)), np.empty((block.n_users, 0, block.n_items), np.int64)
    sizes = N_CHAINS, N_SWEEPS, N_BURN
    _chains(*_sent(block, model), *queries, *sizes, as_key(seed), out, none)
    return out


def ranking_draws(
    block: Block, model: RankingsModel, n_draws: int, *, seed: int = 0
) -> NDArray[np.int64]:
    """Draw each user's ranking from its posterior.

    Parameters
    ----------
    block, model, seed
        As in `rankings_probabilities`.
    n_draws : int
        S, the number of draws.

    Returns
    -------
    (M, S, Q) array of int
        The positions of the items, 0 is best.
    """
    out = np.empty((block.n_users, n_draws, block.n_items), np.int64)
    none = np.zeros(block.n_users + 1, np.int64), np.empty(0, np.int64)
    sizes = 1, N_BURN + n_draws, N_BURN
    _chains(*_sent(block, model), *none, *sizes, as_key(seed), np.empty(0), out)
    return out


def _sent(block: Block, model: RankingsModel) -> tuple[Any, ...]:
    rows = block.starts - block.starts[0], block.pair, block.weight
    return *rows, *rankings_tables(model)


@compiled(inline="always")
def _stream(pair):
    """The number of a user's stream of random numbers: a hash of the pairs compared."""
    found = _HASH_START
    for code in pair:
        found = (found ^ np.uint64(code)) * _HASH_PRIME
    return np.int64(found >> np.uint64(32))


@compiled(inline="always")
def _begin(pair, weight, reference_orders, log_share, log_table, order, position, u):
    """The component a chain begins with; its reference is the first ranking."""
    k = draw_component(independent_weights(pair, weight, log_share, log_table), u)
    for r in range(len(order)):
        order[r] = reference_orders[k, r]
        position[order[r]] = r
    return k


@compiled
def _chains(
    starts, pair, weight, sigma, reference_orders, log_phi, log_prior, log_share,
    log_table, log_odds, error_rate, query_starts, queries, n_chains, n_sweeps, n_burn, key,
    out, draws,
):  # fmt: skip
    """Probabilities of the queries into `out`, positions after each sweep into `draws`."""
    K, Q = sigma.shape
    net, n_draws = zero_rows(Q, Q), draws.shape[1]
    order, position = empty_integers(Q), empty_integers(Q)
    burnt = zero_rows(Q, Q)
    for m in range(len(starts) - 1):
        rows = slice(starts[m], starts[m + 1])
        if query_starts[m + 1] == query_starts[m] and n_draws == 0:
            continue
        stream = _stream(pair[rows])
        net_answers(pair[rows], weight[rows], Q, net)
        above = zero_rows(Q, Q)
        for chain in range(n_chains):
            u, _ = uniforms(key, _STEP, stream, Q, chain)
            k = _begin(
                pair[rows], weight[rows], reference_orders, log_share, log_table,
                order, position, u,
            )  # fmt: skip
            for s in range(n_sweeps):
                draw = chain * n_sweeps + s
                sums = burnt if s < n_burn else above
                sweep(
                    order, position, sigma[k], log_phi[k], log_odds, net, sums,
                    key, _STEP, stream, draw,
                )  # fmt: skip
                if K > 1:
                    weights = component_weights(order, position, sigma, log_phi, log_prior)
                    k = draw_component(weights, uniforms(key, _STEP, stream, Q + 1, draw)[0])
                if n_burn <= s < n_burn + n_draws:
                    for i in range(Q):
                        draws[m, s - n_burn, i] = position[i]
        clear_answers(pair[rows], Q, net)
        n = n_chains * (n_sweeps - n_burn)
        for row in range(query_starts[m], query_starts[m + 1]):
            i, j = queries[row] // Q, queries[row] % Q
            p = (above[i, j] + n - above[j, i]) / (2 * n)
            out[row] = error_rate + (1 - 2 * error_rate) * p
