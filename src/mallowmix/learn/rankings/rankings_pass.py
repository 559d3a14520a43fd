"""One pass of Gibbs sampling over the users, for the model of personal rankings.

It adds up the counts that the M-step needs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, reduce_step
from mallowmix.model.rankings_tables import RankingsTables
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.insertion_gibbs import (
    clear_answers,
    component_weights,
    draw_component,
    independent_weights,
    kendall_distance,
    net_answers,
    sweep,
)
from mallowmix.numerics.randomness import Step, uniforms
from mallowmix.numerics.work_arrays import empty_integers, empty_rows, zero_rows
from mallowmix.typing import Array

_STEP = np.int64(Step.PERSONAL_RANKINGS)


class RankingsPass(NamedTuple):
    """What a pass is given.

    Attributes
    ----------
    tables : RankingsTables
        Of the model.
    number : int
        Of the pass, from 0.
    n_sweeps : int
        Sweeps of each user's chain.
    key : uint64
        The key of the random numbers (`numerics.randomness.as_key`).
    """

    tables: RankingsTables
    number: int
    n_sweeps: int
    key: np.uint64


class RankingsSums(NamedTuple):
    """The sums of a pass over users.

    Attributes
    ----------
    users : (K,) array
        The users of each component.
    above : (K, Q, Q) array
        The conditional probabilities that i is above j, summed over these users.
    distances : (K,) array
        Kendall distances of their rankings to the reference.
    errors, answers : float
        Answers against the user's ranking, and all answers.
    """

    users: Array
    above: Array
    distances: Array
    errors: float
    answers: float


@reduce_step("personal rankings")
def rankings_pass(
    block: Block,
    broadcast: RankingsPass,
    state: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
) -> tuple[RankingsSums, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Sum over a block's users.

    Parameters
    ----------
    block : Block
        The users.
    broadcast : RankingsPass
        The model and the pass.
    state : tuple of (M, Q) and (M,) arrays of int, or None
        Each user's ranking (items, best first) and component after the last pass.

    Returns
    -------
    sums : RankingsSums
    state : tuple of arrays
        After this pass.
    """
    M, Q, K = block.n_users, block.n_items, len(broadcast.tables[0])
    drawn = (np.zeros((M, Q), np.int64), np.zeros(M, np.int64)) if state is None else state
    orders, component = drawn[0].copy(), drawn[1].copy()
    sums: list[Any] = [np.zeros(K), np.zeros((K, Q, Q)), np.zeros(K)]
    errors, answers = _sums(
        block.first_user,
        block.starts - block.starts[0],
        block.pair,
        block.weight,
        block.user_weight,
        *broadcast.tables[:-1],
        state is not None,
        orders,
        component,
        broadcast.number,
        broadcast.n_sweeps,
        broadcast.key,
        *sums,
    )
    found: list[Any] = [*sums, errors, answers]
    return RankingsSums(*found), (orders, component)


@compiled
def _sums(
    first_user, starts, pair, weight, user_weight, sigma, reference_orders, log_phi, log_prior,
    log_share, log_table, log_odds, known, orders, component, number, n_sweeps, key,
    users, above, distances,
):  # fmt: skip
    K, Q = sigma.shape
    errors, answers, net = 0.0, 0.0, zero_rows(Q, Q)
    position, conditional = empty_integers(Q), empty_rows(Q, Q)
    for m in range(len(starts) - 1):
        rows, user = slice(starts[m], starts[m + 1]), first_user + m
        if starts[m + 1] == starts[m] or user_weight[m] == 0:
            continue
        net_answers(pair[rows], weight[rows], Q, net)
        if not known:
            begins = independent_weights(pair[rows], weight[rows], log_share, log_table)
            component[m] = draw_component(begins, uniforms(key, _STEP, user, Q, number)[0])
            for r in range(Q):
                orders[m, r] = reference_orders[component[m], r]
        order = orders[m]
        for r in range(Q):
            position[order[r]] = r
        for s in range(n_sweeps):
            k, draw = component[m], number * n_sweeps + s
            for i in range(Q):
                for j in range(Q):
                    conditional[i, j] = 0.0
            sweep(
                order, position, sigma[k], log_phi[k], log_odds, net, conditional,
                key, _STEP, user, draw,
            )  # fmt: skip
            part = user_weight[m] / n_sweeps
            users[k] += part
            for i in range(Q):
                for j in range(Q):
                    above[k, i, j] += part * conditional[i, j]
            distances[k] += part * kendall_distance(position, sigma[k], order)
            for row in range(starts[m], starts[m + 1]):
                wrong = position[pair[row] // Q] > position[pair[row] % Q]
                errors += part * weight[row] * wrong
                answers += part * weight[row]
            if K > 1:
                log_weight = component_weights(order, position, sigma, log_phi, log_prior)
                component[m] = draw_component(
                    log_weight, uniforms(key, _STEP, user, Q + 1, draw)[0]
                )
        clear_answers(pair[rows], Q, net)
    return errors, answers
