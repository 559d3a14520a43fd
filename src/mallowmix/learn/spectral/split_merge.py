"""Split and merge: of two components that are alike, one is removed and another one split.

EM ascends to the nearest local optimum. Where components are much alike, that may have one of them
twice, and two others under one ranking with a large φ; no small step leads out of it. So the
lighter of the two most alike components is removed, a heavy and noisy one is copied, both copies
are perturbed, and refinement continues from there. The move is accepted where one half of all
users' comparisons then predicts the other better: the variational bound, and the likelihood by
filtering, are too rough to decide it. (The move is that of Ueda, Nakano, Ghahramani and Hinton,
2000.)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine, map_step, reduce_step
from mallowmix.learn.paper.halves import split_block
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.variational_em import fold
from mallowmix.model import least_beta
from mallowmix.model.permutations import kendall, sigma_of
from mallowmix.numerics.randomness import Step, as_key, generator
from mallowmix.typing import Array

ALIKE = 0.15  # components that order fewer pairs than this differently may be one
_SPLITS, _MOST = 3, 12  # components tried for a split in turn; tries in all
# standard deviation of the moves of a split component's items, as a part of Q; and its φ
_SPREAD, _SPLIT_PHI = (0.15, 0.8)
MOVE_GAIN = 1e-4  # log-likelihood a comparison that a move must bring
_INNER = 20  # fixed-point steps of a user's γ
_STEP = Step.SPLIT_MERGE


def split_and_merge(
    blocks: list[Block],
    found: MonteCarlo,
    refine: Callable[[MallowsComponents, Array], MonteCarlo],
    engine: Engine,
    *,
    seed: int = 0,
) -> tuple[MonteCarlo, list[float]]:
    """Make every move that predicts better.

    Parameters
    ----------
    blocks : list of Block
        The users.
    found : MonteCarlo
        The components so far.
    refine : callable
        From components and prior to a refined outcome.
    engine : Engine
        Where the passes run.
    seed : int
        Of perturbations and halves.

    Returns
    -------
    outcome : MonteCarlo
        After the last accepted move.
    scores : list of float
        `predicted_halves` before the first move and after each accepted one.
    """
    if not _moves(found.components, found.alpha):
        return found, []
    scores, tries = [predicted_halves(blocks, found.components, found.alpha, engine, seed=seed)], 0
    while tries < _MOST:
        moved = False
        for merge, part in _moves(found.components, found.alpha)[: _MOST - tries]:
            tries += 1
            other = refine(*_moved(found, merge, part, seed, tries))
            score = predicted_halves(blocks, other.components, other.alpha, engine, seed=seed)
            if moved := score > scores[-1] + MOVE_GAIN:
                found = other
                scores.append(score)
                break
        if not moved:
            break
    return found, scores


def _moves(components: MallowsComponents, alpha: Array) -> list[tuple[tuple[int, int], int]]:
    """((stays, goes), is split): the two most alike components, and those with most noise."""
    distance = np.array(
        [[kendall(a, b) for b in components.sigma] for a in components.sigma]
    ) + np.eye(len(alpha))
    pair = np.unravel_index(int(distance.argmin()), distance.shape)
    if distance[pair] >= ALIKE:
        return []
    goes, stays = sorted((int(k) for k in pair), key=lambda k: (alpha[k], k))
    noisy = [int(k) for k in np.argsort(-components.phi * alpha, kind="stable") if k not in pair]
    return [((stays, goes), k) for k in noisy[:_SPLITS]]


def _moved(
    found: MonteCarlo, merge: tuple[int, int], part: int, seed: int, number: int
) -> tuple[MallowsComponents, Array]:
    """The two merged, and the split component twice, perturbed, with half its prior each."""
    stays, goes = merge
    sigma, phi, alpha = (
        found.components.sigma.copy(),
        found.components.phi.copy(),
        found.alpha.copy(),
    )
    noise = generator(seed, _STEP, number).normal(0, _SPREAD * sigma.shape[1], (2, sigma.shape[1]))
    old = sigma[part].copy()
    for k, moves in zip((part, goes), noise, strict=True):
        sigma[k] = sigma_of(np.argsort(old + moves, kind="stable"))
    alpha[stays] += alpha[goes]
    alpha[[part, goes]], phi[[part, goes]] = alpha[part] / 2, _SPLIT_PHI
    return MallowsComponents(sigma, phi), alpha


def predicted_halves(
    blocks: list[Block],
    components: MallowsComponents,
    alpha: Array,
    engine: Engine,
    *,
    seed: int = 0,
) -> float:
    """Mean log-likelihood of a comparison in one half of a user's comparisons, given the other.

    Parameters
    ----------
    blocks : list of Block
        The users.
    components : MallowsComponents
        The components.
    alpha : (K,) array
        The prior.
    engine : Engine
        Where the pass runs.
    seed : int
        Of the split into halves.
    """
    table = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
    (total, weight), _ = engine.reduce(
        _predict_rows, blocks, (table, table.astype(np.float32), alpha, as_key(seed))
    )
    return float(total / max(weight, 1e-300))


def halves_by_user(
    blocks: list[Block],
    components: MallowsComponents,
    alpha: Array,
    engine: Engine,
    *,
    seed: int = 0,
) -> Array:
    """(M, 2) the sums of `predicted_halves` for each user: log-likelihood, and how much.

    Parameters
    ----------
    blocks, components, alpha, engine, seed
        As in `predicted_halves`.
    """
    table = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
    broadcast = (table, table.astype(np.float32), alpha, as_key(seed))
    return np.concatenate(engine.map(_halves_of_users, blocks, broadcast))


@reduce_step("predict halves")
def _predict_rows(
    block: Block, broadcast: tuple[Array, Any, Array, np.uint64], _: None
) -> tuple[tuple[float, float], None]:
    _user, weight, log_p = _held_out_half(block, *broadcast)
    return (float(weight @ log_p), float(weight.sum())), None


@map_step("predict halves by user")
def _halves_of_users(block: Block, broadcast: tuple[Array, Any, Array, np.uint64]) -> Array:
    user, weight, log_p = _held_out_half(block, *broadcast)
    sums = [np.bincount(user, each, block.n_users) for each in (weight * log_p, weight)]
    return np.column_stack(sums).astype(np.float64)


def _held_out_half(
    block: Block, table: Array, small: Any, alpha: Array, key: np.uint64
) -> tuple[NDArray[np.int32], Array, Array]:
    """The user, weight and log-probability of each row, its weight in the held-out half."""
    given, held_out = split_block(block, key)
    gamma = fold(replace(block, weight=given), small, alpha, _INNER)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    user = block.users_of_rows()
    weight = held_out * block.user_weight[user]
    return user, weight, np.log(np.einsum("nk,nk->n", theta[user], table[block.pair]))
