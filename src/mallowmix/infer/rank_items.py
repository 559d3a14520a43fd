"""Rankings of all items by how likely each wins against another, for users or the population."""

from typing import Literal

import numpy as np

from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import check_at_least
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import check_level, draw, pieces, without_spam
from mallowmix.infer.predict import POPULATION
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.infer.user_results import UserRankings
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array


def rank(
    model: ComponentModel,
    comparisons: ComparisonsLike | None = None,
    *,
    n_top: int | None = None,
    level: float = 0.9,
    n_draws: int = 200,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> UserRankings:
    """Rank all items for each user by the probability of winning against another item at random.

    Parameters
    ----------
    model : FittedModel or M4
        The model.
    comparisons : Comparisons, whatever `read_comparisons` takes, or None
        Those of the users, who get one ranking each; None for that of the population.
    n_top : int
        How many items of each ranking to keep; all unless given.
    level : float
        The probability that an item's position lies from `low` to `high`, under the posterior of
        θ. The model itself is taken as certain (see `intervals`); the population's θ is its mean,
        so its positions have no range.
    n_draws : int
        How many draws of θ a range rests on.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    seed, n_jobs, engine
        As in `fit`.

    Returns
    -------
    UserRankings
        One ranking a user; indexing gives a user's lines, `to_frame` all of them with labels.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20)
    >>> best = mm.rank(dishes.model, dishes.comparisons.take_users([0]), n_top=3)[0]
    >>> [line.position for line in best]
    [1, 2, 3]
    """
    check_level(level)
    check_at_least("n_draws", n_draws, 10)
    if n_top is not None:
        check_at_least("n_top", n_top, 1)
    members = [(each, _win_rates(each, model.n_items)) for each in prepare_members(model)]
    if comparisons is None:
        wins = np.mean([each.prior_mean @ rates for each, rates in members], axis=0)[None]
        at = _positions(wins).astype(np.int64)
        return UserRankings(POPULATION, model.items, wins, at, at, n_top)
    data = as_comparisons(comparisons).with_items(model.items, unknown_items=unknown_items)
    broadcast = (members, level, max(10, -(-n_draws // len(members))), as_key(seed))
    with using(engine, n_jobs) as run:
        parts = run.map(_rank, make_blocks(data), broadcast)
    found = np.concatenate([np.empty((0, 3, model.n_items)), *parts])
    low, high = found[:, 1].astype(np.int64), found[:, 2].astype(np.int64)
    return UserRankings(data.users, model.items, found[:, 0], low, high, n_top, data.frame_kind)


@map_step("rank items")
def _rank(
    block: Block, broadcast: tuple[list[tuple[PreparedModel, Array]], float, int, np.uint64]
) -> Array:
    """(M, 3, Q) mean win probabilities of all users, and the ends of each item's positions."""
    fits, level, n_draws, key = broadcast
    means = np.mean(
        [fold_in(block, prepared)[0] @ rates for prepared, rates in fits], axis=0
    )  # (M, Q)
    out = np.stack(
        [means, *[_positions(means)] * 2], axis=1
    )  # an interval holds the item's own position
    for first, part in pieces(block):
        # (users, S, Q) each
        wins = [_drawn_wins(part, prepared, rates, n_draws, key) for prepared, rates in fits]
        for m in range(part.n_users):
            positions = np.concatenate([_positions(each[m]) for each in wins])
            low = np.quantile(positions, (1 - level) / 2, axis=0, method="lower")
            high = np.quantile(positions, (1 + level) / 2, axis=0, method="higher")
            _, own, _ = out[first + m]
            out[first + m, 1:] = np.minimum(low, own), np.maximum(high, own)
    return out


def _drawn_wins(
    block: Block, prepared: PreparedModel, rates: Array, n_draws: int, key: np.uint64
) -> Array:
    """(M, S, Q) win probabilities under draws of θ, without spam, which prefers no item."""
    K = len(prepared.alpha) - prepared.has_spam
    return without_spam(draw(block, prepared, n_draws, key), prepared.share[:K]) @ rates[:K]


def _win_rates(prepared: PreparedModel, n_items: int) -> Array:
    """(K, Q) the mean over the others of P(i preferred to j) in each component."""
    table = prepared.beta.reshape(n_items, n_items, -1)  # (Q, Q, K)
    # without the item itself
    total = table.sum(axis=1) - table[np.arange(n_items), np.arange(n_items)]
    return total.T / max(n_items - 1, 1)


def _positions(wins: Array) -> Array:
    """(rows, Q) positions from 1, most wins first; equal ones in the order of the items."""
    order = np.argsort(-np.round(wins, 12), axis=1, kind="stable")
    positions = np.empty(wins.shape)
    np.put_along_axis(positions, order, np.arange(1.0, wins.shape[1] + 1)[None], axis=1)
    return positions
