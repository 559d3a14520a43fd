"""Rankings of all items by how likely each wins against another, for users or the population."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import check_count
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import check_level, draw, pieces, without_spam
from mallowmix.infer.pooled_ranking import (
    pooled_population_rates,
    pooled_position_draws,
    pooled_win_rates,
    position_ends,
)
from mallowmix.infer.predict import POPULATION
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.infer.user_results import UserRankings
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.pair_model import check_model
from mallowmix.model.predictor import Predictor
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
        so its positions have no range. Items that win equally often (all, at φ = 1) are in no
        order: each may have any position among them.
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
    check_model(model)
    check_level(level)
    check_count("n_draws", n_draws, 10)
    if n_top is not None:
        check_count("n_top", n_top, 1)
    if comparisons is None:
        wins = _population_rates(model)[None]
        ends = position_ends(wins)
        return UserRankings(POPULATION, model.items, wins, ends[:, 0], ends[:, 1], n_top)
    data = as_comparisons(comparisons).with_items(model.items, unknown_items=unknown_items)
    with using(engine, n_jobs) as run:
        if isinstance(model, FittedModel) and model.predictor is not None:
            sent = (model.predictor, level, n_draws, seed)
            parts = run.map(_rank_pooled, make_blocks(data), sent)
        else:
            members = _members(model)
            n_each = max(10, -(-n_draws // len(members)))
            parts = run.map(_rank, make_blocks(data), (members, level, n_each, as_key(seed)))
    found = np.concatenate([np.empty((0, 3, model.n_items)), *parts])
    low, high = found[:, 1].astype(np.int64), found[:, 2].astype(np.int64)
    return UserRankings(data.users, model.items, found[:, 0], low, high, n_top, data.frame_kind)


def _members(model: ComponentModel) -> list[tuple[PreparedModel, Array]]:
    """The members of the ensemble, each with its components' win rates (K, Q)."""
    return [(each, _win_rates(each, model.n_items)) for each in prepare_members(model)]


def _population_rates(model: ComponentModel) -> Array:
    """(Q,) the win rate of each item for a user without comparisons."""
    if isinstance(model, FittedModel) and model.predictor is not None:
        return pooled_population_rates(model.predictor)
    return np.mean([each.prior_mean @ rates for each, rates in _members(model)], axis=0)


@map_step("rank items by the pool")
def _rank_pooled(block: Block, broadcast: tuple[Predictor, float, int, int]) -> Array:
    """(M, 3, Q) mean win probabilities of all users, and the ends of each item's positions."""
    predictor, level, n_draws, seed = broadcast
    parts = [np.empty((0, 3, block.n_items))]
    for _, piece in pieces(block):
        draws = pooled_position_draws(piece, predictor, n_draws, seed)
        parts.append(_with_ends(pooled_win_rates(piece, predictor), draws, level))
    return np.concatenate(parts)


def _with_ends(means: Array, draws: Sequence[NDArray[np.integer]], level: float) -> Array:
    """(M, 3, Q) the means, and the range of each item's positions: it holds the item's own.

    `draws` are those of `position_ends`, (S, 2, Q) for each user.
    """
    own = position_ends(means)
    out = np.concatenate([means[:, None], own.astype(np.float64)], axis=1)
    for m, ends in enumerate(draws):
        low = np.quantile(ends[:, 0], (1 - level) / 2, axis=0, method="lower")
        high = np.quantile(ends[:, 1], (1 + level) / 2, axis=0, method="higher")
        out[m, 1:] = np.minimum(low, own[m, 0]), np.maximum(high, own[m, 1])
    return out


@map_step("rank items")
def _rank(
    block: Block, broadcast: tuple[list[tuple[PreparedModel, Array]], float, int, np.uint64]
) -> Array:
    """(M, 3, Q) mean win probabilities of all users, and the ends of each item's positions."""
    fits, level, n_draws, key = broadcast
    means = np.mean(
        [fold_in(block, prepared)[0] @ rates for prepared, rates in fits], axis=0
    )  # (M, Q)
    parts = [np.empty((0, 3, block.n_items))]
    for first, part in pieces(block):
        # (users, S, Q) each
        wins = [_drawn_wins(part, prepared, rates, n_draws, key) for prepared, rates in fits]
        draws = [
            np.concatenate([position_ends(each[m]) for each in wins]) for m in range(part.n_users)
        ]
        parts.append(_with_ends(means[first : first + part.n_users], draws, level))
    return np.concatenate(parts)


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
