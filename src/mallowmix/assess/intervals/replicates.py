"""Replicates of a model: users weighted at random, rankings updated from the model's."""

import dataclasses
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks
from mallowmix.engine.parallel import in_order
from mallowmix.infer.weights import infer_weights
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import Chain, monte_carlo_em, new_chains
from mallowmix.learn.spectral.user_scores import Smooth
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.permutations import kendall, match_components
from mallowmix.numerics.randomness import Step, child_seed, generator
from mallowmix.typing import Array, Progress

_STEP = Step.REPLICATE_WEIGHTS
# passes of a replicate: its rankings are near the model's, and the chains are burnt in
_BURN_IN, _AVERAGE, _SWEEPS = (1, 3, 3)

T = TypeVar("T")


class Replicates(NamedTuple):
    """Drawn parameters: positions (R, K, Q), dispersions and shares (R, K).

    Among very many users the positions of a draw are moves of single items
    (`assess.intervals.little_bootstraps`), not a ranking.
    """

    sigma: NDArray[np.int32]
    phi: Array
    share: Array


class Start(NamedTuple):
    """What all replicates start from: users, the model's rankings, Gibbs chains burnt in there."""

    blocks: list[Block]
    sigma: NDArray[np.int32]
    chains: list[Chain]

    @property
    def people(self) -> Array:
        """(M,) user weights."""
        return np.concatenate([block.user_weight for block in self.blocks])


def replicate_start(
    model: AnyModel, comparisons: Comparisons, engine: Engine, *, seed: int
) -> Start:
    """Infer all weights under the model, and burn in Gibbs chains from there.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons
    engine : Engine
    seed : int

    Returns
    -------
    Start
    """
    data = comparisons.with_items(model.items)
    blocks = make_blocks(data)
    chains = new_chains(blocks, _by_block(infer_weights(model, data, n_jobs=engine.n_jobs), blocks))
    components = MallowsComponents(np.array(model.sigma), np.array(model.phi))
    burnt_in = monte_carlo_em(
        blocks,
        components,
        np.array(model.alpha),
        chains,
        engine,
        min_burn_in=1,
        max_burn_in=1,
        min_average=1,
        max_average=1,
        seed=seed,
    )
    return Start(blocks, components.sigma, burnt_in.chains)


def replicate_weights(n_replicates: int, n_users: int, *, seed: int) -> Array:
    """(R, M) weights with mean 1 and variance 1, exponential."""
    return np.array(
        [generator(seed, _STEP, r).standard_exponential(n_users) for r in range(n_replicates)]
    )


def replicate_rankings(
    start: Start, smooth: Smooth, u: Array, *, seed: int, draw: int
) -> NDArray[np.int32]:
    """Update the rankings for users weighted by u, from those of the model.

    Parameters
    ----------
    start : Start
    smooth : Smooth
        φ and α, held fixed.
    u : ndarray, shape (M,)
    seed, draw : int

    Returns
    -------
    ndarray of int, shape (K, Q)
        In the model's order of components.
    """
    blocks = [
        dataclasses.replace(block, user_weight=block.user_weight * part)
        for block, part in zip(start.blocks, _by_block(u, start.blocks), strict=True)
    ]
    outcome = monte_carlo_em(
        blocks,
        MallowsComponents(start.sigma, smooth.phi),
        smooth.alpha,
        start.chains,
        ThreadEngine(1),
        sweeps=_SWEEPS,
        min_burn_in=_BURN_IN,
        max_burn_in=_BURN_IN,
        min_average=_AVERAGE,
        max_average=_AVERAGE,
        seed=child_seed(seed, Step.REPLICATE, draw),
    )
    return in_order_of(outcome.components.sigma, start.sigma)


def many(
    one: Callable[[int], T], numbers: Iterable[int], n_jobs: int, advance: Callable[[], None]
) -> list[T]:
    """one(n) for each number, several at a time; `advance` is called after each."""
    found = []
    for answer in in_order(one, [(number,) for number in numbers], n_jobs):
        found.append(answer)
        advance()
    return found


def counter(progress: Progress | None, total: int, step: str = "replicates") -> Callable[[], None]:
    """A function that reports one more replicate to `progress` each time it is called."""
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(step, done, total)

    return advance


def in_order_of(sigma: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rankings numbered as those of the reference; most often they are already."""
    if all(kendall(a, b) < 0.1 for a, b in zip(sigma, reference, strict=True)):
        return sigma
    return sigma[match_components(sigma, reference).found]


def _by_block(rows: Array, blocks: list[Block]) -> list[Array]:
    edges = accumulate((block.n_users for block in blocks), initial=0)
    return [rows[first:last] for first, last in pairwise(edges)]
