"""Draws from the posterior of users' weights by collapsed Gibbs sampling, and intervals of them.

The posterior is p(θ) Π_n (Σ_k θ_k β_(w_n),k)^x_n, the power x_n the row's weight times the
calibration's likelihood weight. Whole powers are tokens of Gibbs sampling; where one is not
whole, see `infer.tempered_draws`. The vertices of the prior are included.

A user's draws depend on the seed and on their own comparisons alone, not on other users or their
order.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, map_step
from mallowmix.engine.blocks import rows_of
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import check_count, check_level
from mallowmix.infer.collapsed_variational import fold_in, gather_rows, vertex_posterior
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.infer.tempered_draws import tempered_draws
from mallowmix.infer.user_results import WeightIntervals
from mallowmix.infer.without_numba.gibbs_lists import gibbs_draws_listed
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import names_in
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, draw_log_dirichlet, philox, splitmix
from mallowmix.numerics.small_work import is_small
from mallowmix.numerics.token_gibbs import longest_run, sweep_tokens
from mallowmix.typing import Array

_STEP = int(Step.WEIGHT_DRAWS)
_BURN_IN, _THIN = 60, 3  # sweeps before the first draw, and from one draw to the next
_MOVES = 8  # of tokens, while NumPy works through a number with all its iterations
_USERS = 256  # whose draws are held in memory at a time


def weight_intervals(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    *,
    level: float = 0.9,
    n_draws: int = 400,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> WeightIntervals:
    """Infer the weights of known or new users with an interval for each weight.

    Parameters
    ----------
    model : FittedModel or M4
        The components and the prior, used with its calibration.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those of the users.
    level : float
        The probability that a weight lies in its interval.
    n_draws : int
        How many draws an interval rests on.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    seed, n_jobs, engine
        As in `fit`.

    Returns
    -------
    WeightIntervals
        Means and ends of intervals, (M, K) each; `to_frame` gives them with labels.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20)
    >>> found = mm.weight_intervals(dishes.model, dishes.comparisons, level=0.5)
    >>> bool((found.low <= found.high).all())
    True
    """
    check_model(model)
    check_level(level)
    check_count("n_draws", n_draws, 10)
    data = as_comparisons(comparisons).with_items(model.items, unknown_items=unknown_items)
    broadcast = (prepare(model), level, n_draws, as_key(seed), model.n_components)
    with using(engine, n_jobs) as run:
        parts = run.map(_intervals, make_blocks(data), broadcast)
    rows = np.concatenate([np.empty((0, 3, model.n_components)), *parts])
    mean, low, high = np.moveaxis(rows, 1, 0)
    n = data.per_user()
    kind, names = data.frame_kind, names_in(model)
    return WeightIntervals(data.users, mean, low, high, n, level, kind, names)


def weight_draws(
    model: ComponentModel,
    comparisons: Comparisons,
    n_draws: int = 400,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Array:
    """(M, n_draws, K) draws from users' posteriors of θ; K includes spam where there is some."""
    check_count("n_draws", n_draws, 1)
    comparisons = comparisons.with_items(model.items)
    broadcast = (prepare(model), n_draws, as_key(seed))
    parts = ThreadEngine(n_jobs).map(_weight_draws, make_blocks(comparisons), broadcast)
    return np.concatenate([np.empty((0, n_draws, len(broadcast[0].alpha))), *parts])


@map_step("draws of weights")
def _weight_draws(block: Block, broadcast: tuple[PreparedModel, int, np.uint64]) -> Array:
    return draw(block, *broadcast)


@map_step("intervals of weights")
def _intervals(block: Block, broadcast: tuple[PreparedModel, float, int, np.uint64, int]) -> Array:
    """(M, 3, K) means, low and high ends; without the spam component, the others summing to one."""
    prepared, level, n_draws, key, K = broadcast
    mean, _moving = fold_in(block, prepared)
    out = np.empty((block.n_users, 3, K))
    out[:, 0] = mean[:, :K] / mean[:, :K].sum(axis=1, keepdims=True)
    for first, part in pieces(block):
        draws = without_spam(draw(part, prepared, n_draws, key), prepared.share[:K])
        ends = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1)  # (2, users, K)
        out[first : first + part.n_users, 1:] = np.moveaxis(ends, 0, 1)
    return out


def pieces(block: Block) -> Iterator[tuple[int, Block]]:
    """A block in pieces of a few users, each with the number of its first user, to save memory."""
    for first in range(0, block.n_users, _USERS):
        starts = block.starts[first : first + _USERS + 1]
        rows = slice(int(starts[0]), int(starts[-1]))
        users = slice(first, first + _USERS)
        data = (starts - starts[0], block.pair[rows], block.weight[rows], block.user_weight[users])
        ids = rows_of(block.ranking_id, rows)
        yield first, Block(block.first_user + first, block.n_items, *data, ids)


def without_spam(theta: Array, share: Array) -> Array:
    """The weights without spam's, summing to one; the shares where all weight is on spam."""
    K = len(share)
    rest = theta[..., :K].sum(axis=-1, keepdims=True)
    return np.where(rest > 0, theta[..., :K] / np.where(rest > 0, rest, 1), share / share.sum())


def draw(block: Block, prepared: PreparedModel, n_draws: int, key: np.uint64) -> Array:
    """(M, n_draws, K) draws for a block of users."""
    at_vertex, single = np.zeros(block.n_users), np.empty((block.n_users, len(prepared.alpha)))
    if prepared.vertex_share > 0:
        single, at_vertex = vertex_posterior(block, prepared, block.weight)
    data = (
        block.starts,
        block.pair,
        block.weight,
        prepared.beta,
        prepared.alpha,
        prepared.likelihood_weight,
    )
    out = np.empty((block.n_users, n_draws, len(prepared.alpha)))
    powers = prepared.likelihood_weight * block.weight
    broken = np.bincount(block.users_of_rows(), powers != np.floor(powers), block.n_users) > 0
    n_moves = (_BURN_IN + _THIN * n_draws) * int(powers.sum())
    if not broken.any() and is_small(n_moves // _MOVES):
        _few_draws(block, prepared, (at_vertex, single), key, out)
        return out
    for users, chains in ((~broken, _gibbs_chains), (broken, _tempered_chains)):
        if users.any():  # otherwise the kernel need not be compiled
            chains(np.flatnonzero(users), *data, at_vertex, single, key, out)
    return out


def _few_draws(
    block: Block, prepared: PreparedModel, vertices: tuple[Array, Array], key: np.uint64, out: Array
) -> None:
    """Write the draws of a few users, without Numba."""
    powers = prepared.likelihood_weight * block.weight
    for m, (at_vertex, single) in enumerate(zip(*vertices, strict=True)):
        rows = slice(int(block.starts[m]), int(block.starts[m + 1]))
        state = own_state.interpreted(key, block.pair[rows], block.weight[rows])
        data = prepared.beta[block.pair[rows]], powers[rows], prepared.alpha
        gibbs_draws_listed(state, *data, (at_vertex, single), (_BURN_IN, _THIN), out[m])


@compiled
def own_state(key, pair, weight):
    """A state of random numbers that depends on the key and on the comparisons alone."""
    h = np.uint64(0xCBF29CE484222325)
    for row in range(len(pair)):
        h = (h ^ np.uint64(pair[row])) * np.uint64(0x100000001B3)
        h = (h ^ np.uint64(1024.0 * weight[row])) * np.uint64(0x100000001B3)
    x0, x1, _, _ = philox(h & np.uint64(0xFFFFFFFF), h >> np.uint64(32), _STEP, 0, key)
    return (x0 << np.uint64(32)) | x1


@compiled
def _gibbs_chains(
    users, starts, pair, weight, beta, alpha, likelihood_weight, at_vertex, single, key, out
):
    """Draws of users: from the Dirichlet part of the posterior, some moved to a vertex."""
    rows, longest = (pair, weight, beta, likelihood_weight, key), longest_run(starts)
    b, x = np.empty((longest, len(alpha))), np.empty(longest)
    for m in users:
        state, n = _gather_powers(starts[m], starts[m + 1], *rows, b, x)
        state = _gibbs_draws(state, b[:n], x[:n], alpha, out[m])
        _to_vertices(state, at_vertex[m], single[m], out[m])


@compiled
def _tempered_chains(
    users, starts, pair, weight, beta, alpha, likelihood_weight, at_vertex, single, key, out
):
    """The same, where a comparison does not count for a whole number of tokens."""
    rows, longest = (pair, weight, beta, likelihood_weight, key), longest_run(starts)
    b, x = np.empty((longest, len(alpha))), np.empty(longest)
    for m in users:
        state, n = _gather_powers(starts[m], starts[m + 1], *rows, b, x)
        state = tempered_draws(state, b[:n], x[:n], alpha, out[m])
        _to_vertices(state, at_vertex[m], single[m], out[m])


@compiled
def _gather_powers(first, last, pair, weight, beta, likelihood_weight, key, b, x):
    """A user's rows of β, and their weights times the likelihood weight.

    The state of the user's random numbers and the number of rows are returned.
    """
    n = gather_rows(first, last, pair, weight, beta, b, x)
    for t in range(n):
        x[t] *= likelihood_weight
    return own_state(key, pair[first:last], weight[first:last]), n


@compiled
def _gibbs_draws(state, b, x, alpha, out):
    """Collapsed Gibbs sampling with x tokens a row; then θ ~ Dirichlet(α + n). The new state."""
    n, p, rows = np.empty(len(alpha)), np.empty(len(alpha)), np.empty(len(x), np.int64)
    for k in range(len(alpha)):
        n[k] = alpha[k]
    total = 0.0
    for t in range(len(x)):
        rows[t] = t
        total += x[t]
    z = np.zeros(int(total), np.int64)
    for sweep in range(-_BURN_IN if len(z) else 0, _THIN * len(out)):
        state = sweep_tokens(rows, x, 1.0, b, n, sweep == -_BURN_IN, z, n, p, state)
        if sweep >= 0 and sweep % _THIN == 0:
            theta = out[sweep // _THIN]
            state = draw_log_dirichlet(state, n, theta)
            for k in range(len(theta)):
                theta[k] = np.exp(theta[k])
    return state


@compiled
def _to_vertices(state, at_vertex, single, out):
    """Each draw, with probability `at_vertex`, becomes a vertex by the probabilities `single`."""
    for s in range(len(out)):
        state, u = splitmix(state)
        if u < at_vertex:
            state, u = splitmix(state)
            k = 0
            while k < len(single) - 1 and u >= single[k]:
                u -= single[k]
                k += 1
            out[s] = 0.0
            out[s, k] = 1.0
