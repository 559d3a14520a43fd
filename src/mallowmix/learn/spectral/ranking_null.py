"""The null model of the spectrum for rankings: each ranking drawn anew from one model for all.

Comparisons of one ranking depend on each other whether or not people differ: who puts tea over milk
and milk over water puts tea over water. So the null keeps each ranking's items and pairs, and draws
its order by utilities: the scores of all users and Gumbel noise of one's own (Plackett–Luce).
"""

from dataclasses import replace

import numpy as np

from mallowmix.engine import Block, Engine
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.learn.spectral.signed_moment import count_pairs
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, uniforms
from mallowmix.typing import Array

_STEP = int(Step.NULL_SIGNS)
_RIDGE = 1.0  # on the scores: as much as one comparison with the mean item


def one_ranking_scores(blocks: list[Block], engine: Engine) -> Array:
    """(Q,) Bradley–Terry scores of all users."""
    Q = blocks[0].n_items
    return best_scores(count_pairs(blocks, engine).reshape(Q, Q), _RIDGE)


def redraw_rankings(blocks: list[Block], scores: Array, seed: int) -> list[Block]:
    """The same users, items and pairs, with every ranking in an order drawn from the scores.

    Parameters
    ----------
    blocks : list of Block
        The users; a comparison that is an answer of its own is drawn by itself.
    scores : (Q,) array
        From `one_ranking_scores`.
    seed : int
        Of the noise.
    """
    return [_redrawn(block, scores, seed) for block in blocks]


def _redrawn(block: Block, scores: Array, seed: int) -> Block:
    ids = block.ranking_id
    ids = np.full(len(block.pair), -1, np.int32) if ids is None else ids
    pair = _draw_pairs(block.starts, block.pair, ids, scores, block.first_user, as_key(seed))
    order = np.lexsort((pair, block.users_of_rows()))  # rows of a user are in the order of pairs
    return replace(block, pair=pair[order], weight=block.weight[order], ranking_id=ids[order])


@compiled
def _draw_pairs(starts, pair, ids, scores, first_user, key):
    """Each row's pair, its winner the item with the larger utility."""
    out, Q = np.empty_like(pair), len(scores)
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            i, j = pair[row] // Q, pair[row] % Q
            # answers of their own have draws of their own, beyond those of rankings
            draw = ids[row] if ids[row] >= 0 else 1_000_000 + row - starts[m]
            a, _ = uniforms(key, _STEP, first_user + m, i, draw)
            b, _ = uniforms(key, _STEP, first_user + m, j, draw)
            # utility − log(−log u), and 1 − u lies in (0, 1]
            noise = np.log(-np.log(max(b, 1e-300))) - np.log(-np.log(max(a, 1e-300)))
            wins = scores[i] - scores[j] + noise > 0
            out[row] = i * Q + j if wins else j * Q + i
    return out
