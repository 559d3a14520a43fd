"""The bootstrap of φ and shares for any number of users: passes that keep sums of scores alone.

A replicate needs only Σ_m w_m (u_m − 1) s_m (`learn.spectral.user_scores`), and a sum over users
can be taken block by block, for all replicates at once: R · 2K numbers leave a block, wherever it
is stored.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mallowmix.engine import Block, Engine, make_shards, reduce_step
from mallowmix.engine.blocks import StoredBlock
from mallowmix.learn.spectral.user_sample import sample_users
from mallowmix.learn.spectral.user_scores import (
    Smooth,
    block_scores,
    information_of,
    newton_step,
    one_step,
    score_inputs,
)
from mallowmix.numerics.randomness import Step, child_seed, generator
from mallowmix.typing import Array, Positions

_STEP = Step.SCORE_SUMS


def sum_scores(
    sigma: Positions,
    near: Smooth,
    blocks: Sequence[Block | StoredBlock],
    n_replicates: int,
    engine: Engine,
    *,
    share: float = 1.0,
    sweeps: int = 80,
    seed: int = 0,
) -> tuple[Smooth, Array]:
    """Find η̂ of all users by two Newton steps, and the replicates' steps from there.

    Scores are means over Gibbs sweeps. Their noise moves η̂ too, and widens the steps by as much.

    Parameters
    ----------
    sigma : ndarray of int, shape (K, Q)
    near : Smooth
        At the maximum for b of the n users; each step squares its error of about 1/√b.
    blocks : list of Block
        All users.
    n_replicates : int
    engine : Engine
    share : float
        Of the users that φ and α are learnt from (`learn.spectral.user_sample.sampled_share`).
    sweeps : int
    seed : int

    Returns
    -------
    smooth : Smooth
        Without scores: they were added up.
    steps : ndarray, shape (R, 2K)
    """
    smooth, weighted = near, np.empty(0)
    for wanted in (0, n_replicates):
        inputs = score_inputs(
            sigma,
            smooth.eta,
            smooth.alpha,
            sweeps=sweeps,
            seed=child_seed(seed, Step.SCORE_PASS, int(bool(wanted))),
        )
        totals, _ = engine.reduce(_sums, make_shards(blocks), (inputs, share, wanted, seed))
        slope, cross, shown, weighted = totals
        smooth = Smooth(smooth.eta, np.empty((0, len(near.eta))), information_of(cross, shown))
        smooth = smooth._replace(eta=newton_step(smooth, slope))
    return smooth, one_step(smooth, weighted)


@reduce_step("sums of scores")
def _sums(
    block: Block, broadcast: tuple[Any, float, int, int], _: None
) -> tuple[tuple[Array, ...], None]:
    """Σ w s, Σ w a bᵀ of two stretches, Σ w s sᵀ, and per replicate Σ w (u − 1) s, u ~ Exp(1)."""
    inputs, share, n_replicates, seed = broadcast
    block = sample_users(block, share, seed)
    halves = block_scores(block, inputs)  # (M, 2, 2K)
    people, mean = block.user_weight[:, None], halves.mean(axis=1)
    u = generator(seed, _STEP, block.first_user).standard_exponential((n_replicates, block.n_users))
    sums = (
        (people * mean).sum(axis=0),
        (people * halves[:, 0]).T @ halves[:, 1],
        (people * mean).T @ mean,
    )
    return (*sums, (u - 1) @ (people * mean)), None
