"""The oracle given θ: the most likely components when the true weights of all users are known.

It is what a method that must also find the weights is measured against.
"""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, reduce_step
from mallowmix.learn.spectral.component_search import search_components
from mallowmix.learn.spectral.likelihood_tables import new_tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import tabulate
from mallowmix.learn.spectral.user_sample import people
from mallowmix.model import least_beta
from mallowmix.typing import Array


def components_given_weights(
    comparisons: Comparisons,
    theta: Array,
    initialisations: list[MallowsComponents],
    *,
    engine: Engine | None = None,
    max_rounds: int = 10,
) -> MallowsComponents:
    """Maximise the likelihood given θ from every initialisation, and keep the best local optimum.

    Parameters
    ----------
    comparisons : Comparisons
        The users' comparisons.
    theta : (users, K) array of float
        The weights, in the order of `comparisons.users`.
    initialisations : list of MallowsComponents
        Where to begin; the components in the order of the columns of `theta`.
    engine : Engine, optional
        Where it runs; threads by default.
    max_rounds : int
        The most rounds of ascent from each initialisation.

    Returns
    -------
    MallowsComponents
        The most likely components found.
    """
    engine = engine or ThreadEngine()
    blocks = make_blocks(comparisons)
    with threadpool_limits(1):  # as in `fit`: the same bytes on any machine of the kind
        optima = [
            _ascend(blocks, theta, initial, engine, max_rounds) for initial in initialisations
        ]
    return max(
        optima, key=lambda components: likelihood_given_weights(blocks, theta, components, engine)
    )


def likelihood_given_weights(
    blocks: list[Block], theta: Array, components: MallowsComponents, engine: Engine
) -> float:
    """The log-likelihood Σ w log Σ_k θ_mk β_k of all comparisons.

    Parameters
    ----------
    blocks : list of Block
        The users' comparisons.
    theta : (users, K) array of float
        The weights.
    components : MallowsComponents
        The rankings and dispersions; β is kept away from 0 and 1, as in the search.
    engine : Engine
        Where it runs.

    Returns
    -------
    float
        The log-likelihood.
    """
    total, _ = engine.reduce(
        _likelihood_step, blocks, (beta_table(components, least_beta.DIRECT_LIKELIHOOD), theta)
    )
    return float(total)


def _ascend(
    blocks: list[Block],
    theta: Array,
    components: MallowsComponents,
    engine: Engine,
    max_rounds: int,
) -> MallowsComponents:
    """Rounds of component search until no item moves.

    Where users mix many components, only some of these change at a time.
    """
    n_groups = int(np.clip(round(1 / np.mean(np.sum(theta**2, axis=1)) / 2), 1, theta.shape[1]))
    pairs, tables = by_pair(blocks), new_tables(*components.sigma.shape)
    for _ in range(max_rounds):
        before = components
        for group in range(n_groups):
            which = range(group, theta.shape[1], n_groups)
            beta = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
            tables = tabulate(pairs, beta, theta, tables, which=which, n_jobs=engine.n_jobs)
            components = search_components(tables, components, which=which, n_jobs=engine.n_jobs)
        if np.array_equal(components.sigma, before.sigma):
            break
    return components


@reduce_step("likelihood given weights")
def _likelihood_step(
    block: Block, broadcast: tuple[Array, Array], state: Any
) -> tuple[float, None]:
    beta, theta = broadcast
    weights = theta[block.first_user : block.first_user + block.n_users]
    probability = np.einsum("nk,nk->n", weights[people(block)], beta[block.pair])
    return float(block.weight @ np.log(probability)), None
