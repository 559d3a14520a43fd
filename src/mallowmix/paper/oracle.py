"""The oracle told θ: the most likely components when every person's true weights are known; a yardstick where they must be found."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, reduce_step
from mallowmix.learn.spectral.component_search import search_components
from mallowmix.learn.spectral.likelihood_tables import by_pair, new_tables, tabulate
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.user_sample import people
from mallowmix.model import least_beta
from mallowmix.typing import Array


def components_given_weights(
    comparisons: Comparisons,
    theta: Array,
    starts: list[MallowsComponents],
    *,
    engine: Engine | None = None,
    max_rounds: int = 10,
) -> MallowsComponents:
    """Climb the likelihood given θ from every start, and keep the best summit.

    theta : (users, K), in the order of `comparisons.users`; the components of every start in the order of its components
    """
    engine = engine or ThreadEngine()
    blocks = make_blocks(comparisons)
    with threadpool_limits(1):  # as in `fit`: the same bytes on any machine of the kind
        summits = [_climb(blocks, theta, start, engine, max_rounds) for start in starts]
    return max(summits, key=lambda components: log_likelihood(blocks, theta, components, engine))


def log_likelihood(
    blocks: list[Block], theta: Array, components: MallowsComponents, engine: Engine
) -> float:
    """Σ w log Σ_k θ_mk β_k over all comparisons, β kept away from 0 and 1 as the polish keeps it."""
    total, _ = engine.reduce(
        _likelihood_step, blocks, (beta_table(components, least_beta.DIRECT_LIKELIHOOD), theta)
    )
    return float(total)


def _climb(
    blocks: list[Block],
    theta: Array,
    components: MallowsComponents,
    engine: Engine,
    max_rounds: int,
) -> MallowsComponents:
    """Rounds of polish until no item moves. Where people mix many components, only some of these move at a time."""
    n_groups = int(np.clip(round(1 / np.mean(np.sum(theta**2, axis=1)) / 2), 1, theta.shape[1]))
    pairs, tables = by_pair(blocks), new_tables(*components.sigma.shape)
    for _ in range(max_rounds):
        before = components
        for group in range(n_groups):
            which = range(group, theta.shape[1], n_groups)
            tables = tabulate(
                pairs,
                beta_table(components, least_beta.DIRECT_LIKELIHOOD),
                theta,
                tables,
                which=which,
                n_jobs=engine.n_jobs,
            )
            components = search_components(tables, components, which=which, n_jobs=engine.n_jobs)
        if np.array_equal(components.sigma, before.sigma):
            break
    return components


@reduce_step("likelihood given weights")
def _likelihood_step(
    block: Block, broadcast: tuple[Array, Array], state: Any
) -> tuple[float, None]:
    beta, theta = broadcast
    probability = np.einsum("nk,nk->n", _weights_of(block, theta)[people(block)], beta[block.pair])
    return float(block.weight @ np.log(probability)), None


def _weights_of(block: Block, theta: Array) -> Array:
    return theta[block.first_user : block.first_user + block.n_users]
