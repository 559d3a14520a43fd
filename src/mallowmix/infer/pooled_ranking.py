"""A user's ranking by a `Predictor`: mean win probabilities of all items, and draws of positions.

A draw picks a member by its weight and then draws from the user's posterior under it: utilities, a
ranking, or weights over components whose win rates are ranked.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.infer.gibbs_draws import draw, without_spam
from mallowmix.infer.member_evidence import user_weights
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pool_states import draw_counts
from mallowmix.infer.pooled_prediction import predictor_population, predictor_probabilities
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.infer.rankings_posterior import ranking_draws
from mallowmix.infer.state_draws import win_rates
from mallowmix.infer.utilities_posterior import utility_draws
from mallowmix.model.predictor import Member, Predictor
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.compiled import compiled
from mallowmix.typing import Array

TIED = 0.001  # of the gap between evenly spread win rates, 1 / Q: closer items are tied
_FEW_DIFFERENCES = 4_000_000  # of values: so many take some hundredths of a second


def pooled_win_rates(block: Block, predictor: Predictor) -> Array:
    """Predict each user's mean win probability of each item.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    predictor : Predictor
        Members and weights.

    Returns
    -------
    (M, Q) array
    """
    Q = block.n_items
    first, second = np.triu_indices(Q, 1)
    queries = Queries.same_for_all(block.n_users, first * Q + second)
    p = predictor_probabilities(block, predictor, queries).reshape(block.n_users, -1)
    table = np.zeros((block.n_users, Q, Q))
    table[:, first, second] = p
    table[:, second, first] = 1 - p
    return win_rates(table)


def pooled_population_rates(predictor: Predictor) -> Array:
    """(Q,) the mean win probability of each item for a user without comparisons."""
    return win_rates(predictor_population(predictor))


def pooled_position_draws(
    block: Block, predictor: Predictor, n_draws: int, seed: int
) -> list[NDArray[np.int64]]:
    """Draw positions of the items from each user's posterior, each with the ends of its tie.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    predictor : Predictor
        Each member gives draws in proportion to its weight.
    n_draws : int
        About how many draws of a user.
    seed : int
        Of the draws.

    Returns
    -------
    list of (S, 2, Q) arrays of int
        For each user, the first and last positions that each item may have in a draw; 1 is best.
    """
    counts = np.array([draw_counts(each, n_draws) for each in user_weights(block, predictor)])
    # a user's draws must not depend on who else is in the block
    most = n_draws + 1 if predictor.evidence_weights.any() else 0
    common = np.maximum(draw_counts(predictor.weights, n_draws), most)
    parts = [
        position_ends(_member_draws(block, member, int(n), seed))
        for member, n in zip(predictor.members, common, strict=True)
    ]
    return [
        np.concatenate([part[m, : counts[m, j]] for j, part in enumerate(parts)])
        for m in range(block.n_users)
    ]


def _member_draws(block: Block, member: Member, n_draws: int, seed: int) -> Array:
    """(M, S, Q) draws of something that ranks the items, largest first."""
    if isinstance(member, RankingsModel):
        return -ranking_draws(block, member, n_draws, seed=seed).astype(np.float64)
    if isinstance(member, UtilitiesModel):
        return utility_draws(block, member, n_draws, seed=seed)
    prepared = prepare_components(member.model, member.calibration)
    Q, K = block.n_items, len(prepared.alpha) - prepared.has_spam
    rates = win_rates(np.moveaxis(prepared.beta[:, :K].reshape(Q, Q, K), 2, 0))
    return without_spam(draw(block, prepared, n_draws, np.uint64(seed)), prepared.share[:K]) @ rates


def positions_of(values: Array) -> NDArray[np.int64]:
    """(…, Q) positions from 1, largest value first; equal ones in the order of the items."""
    order = np.argsort(-np.round(values, 12), axis=-1, kind="stable")
    out = np.empty(values.shape, np.int64)
    np.put_along_axis(
        out, order, np.broadcast_to(np.arange(1, values.shape[-1] + 1), order.shape), -1
    )
    return out


def position_ends(values: Array) -> NDArray[np.int64]:
    """The first and the last position that each item may have, largest value first.

    Items whose values differ by less than `TIED` / Q, a thousandth of the gap between evenly
    spread win rates, are in no order: each may have any position among them.

    Parameters
    ----------
    values : (..., Q) array
        What ranks the items, such as win rates.

    Returns
    -------
    (..., 2, Q) array of int
        From 1, the best.

    Examples
    --------
    >>> from mallowmix.infer.pooled_ranking import position_ends
    >>> position_ends(np.array([0.9, 0.5, 0.5, 0.1])).tolist()
    [[1, 2, 2, 4], [1, 3, 3, 4]]
    """
    Q = values.shape[-1]
    rows = np.ascontiguousarray(values, np.float64).reshape(-1, Q)
    if rows.size * Q <= _FEW_DIFFERENCES:
        ends = _few_ends(rows, TIED / Q)
    else:
        ends = _ends(rows, np.argsort(-rows, axis=-1, kind="stable"), TIED / Q)
    return ends.reshape(*values.shape[:-1], 2, Q)


def _few_ends(values: Array, gap: float) -> NDArray[np.int64]:
    """The same as `_ends` by all differences, without Numba, whose import would take longer."""
    larger = values[:, None, :] - values[:, :, None]  # of each other item
    first = 1 + (larger >= gap).sum(axis=2)
    last = (-larger < gap).sum(axis=2)
    return np.stack([first, last], axis=1)


@compiled
def _ends(values, order, gap):
    """Of each row: first, how many values are larger by the gap or more; last, how many are not
    smaller by it.
    """
    n, Q = values.shape
    out = np.empty((n, 2, Q), np.int64)
    for m in range(n):
        first, last = 0, 0
        for r in range(Q):
            item = order[m, r]
            value = values[m, item]
            while values[m, order[m, first]] - value >= gap:
                first += 1
            while last < Q and value - values[m, order[m, last]] < gap:
                last += 1
            out[m, 0, item], out[m, 1, item] = first + 1, last
    return out
