"""Split and merge: where two components have become alike, one goes to share the work of another, if that predicts better.

EM climbs to the nearest top. On tastes that are much alike, a top may hold one taste twice and two tastes under one ranking
with a large φ, and no small step leads out of it. So the lighter of the two most alike components is taken away, a heavy and
noisy one is put in its place twice, each shaken, and refinement goes on from there. What judges is how well one half of
everybody's comparisons predicts the other: the variational bound, and the likelihood by filtering, are too rough for it.
(The move is that of Ueda, Nakano, Ghahramani and Hinton, 2000.)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mallowmix.engine import Block, Engine, reduce_step
from mallowmix.learn.paper.halves import split_block
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.user_sample import people
from mallowmix.learn.spectral.variational_em import fold
from mallowmix.model import least_beta
from mallowmix.model.permutations import kendall, sigma_of
from mallowmix.numerics.randomness import Step, as_key, generator
from mallowmix.typing import Array

ALIKE = 0.15  # components that order fewer pairs than this differently may be one
_SPLITS, _MOST = 3, 12  # components tried for a split in turn; tries in all
# items of a split component move by so much of all places; and its φ then
_SHAKE, _DOUBT = (0.15, 0.8)
_GAIN = 1e-4  # log-likelihood a comparison that a move must bring
_INNER = 20  # fixed-point steps of a person's γ
_STEP = Step.SPLIT_MERGE


def split_and_merge(
    blocks: list[Block],
    found: MonteCarlo,
    refine: Callable[[MallowsComponents, Array], MonteCarlo],
    engine: Engine,
    *,
    seed: int = 0,
) -> tuple[MonteCarlo, list[float]]:
    """The outcome after every move that predicts better; and how well halves were predicted, before and after each such move."""
    if not _moves(found.components, found.alpha):
        return found, []
    scores, tries = [predicted_halves(blocks, found.components, found.alpha, engine, seed=seed)], 0
    while tries < _MOST:
        moved = False
        for merge, part in _moves(found.components, found.alpha)[: _MOST - tries]:
            tries += 1
            other = refine(*_moved(found, merge, part, seed, tries))
            score = predicted_halves(blocks, other.components, other.alpha, engine, seed=seed)
            if moved := score > scores[-1] + _GAIN:
                found = other
                scores.append(score)
                break
        if not moved:
            break
    return found, scores


def _moves(components: MallowsComponents, alpha: Array) -> list[tuple[tuple[int, int], int]]:
    """((stays, goes), is split): the two most alike, if they are alike, and the components that hold most noise."""
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
    """The pair under one ranking; the split component twice, shaken, with half its prior each."""
    stays, goes = merge
    sigma, phi, alpha = (
        found.components.sigma.copy(),
        found.components.phi.copy(),
        found.alpha.copy(),
    )
    shakes = generator(seed, _STEP, number).normal(0, _SHAKE * sigma.shape[1], (2, sigma.shape[1]))
    old = sigma[part].copy()
    for k, shake in zip((part, goes), shakes, strict=True):
        sigma[k] = sigma_of(np.argsort(old + shake, kind="stable"))
    alpha[stays] += alpha[goes]
    alpha[[part, goes]], phi[[part, goes]] = alpha[part] / 2, _DOUBT
    return MallowsComponents(sigma, phi), alpha


def predicted_halves(
    blocks: list[Block],
    components: MallowsComponents,
    alpha: Array,
    engine: Engine,
    *,
    seed: int = 0,
) -> float:
    """Mean log-likelihood of a comparison in one half of a person's, given the other half."""
    table = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
    (total, weight), _ = engine.reduce(
        _predict_rows, blocks, (table, table.astype(np.float32), alpha, as_key(seed))
    )
    return float(total / max(weight, 1e-300))


@reduce_step("predict halves")
def _predict_rows(
    block: Block, broadcast: tuple[Array, Any, Array, np.uint64], _: Any
) -> tuple[tuple[float, float], None]:
    table, small, alpha, key = broadcast
    given, held_out = split_block(block, key)
    gamma = fold(replace(block, weight=given), small, alpha, _INNER)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    who = people(block)
    weight = held_out * block.user_weight[who]
    return (
        float(weight @ np.log(np.einsum("nk,nk->n", theta[who], table[block.pair]))),
        float(weight.sum()),
    ), None
