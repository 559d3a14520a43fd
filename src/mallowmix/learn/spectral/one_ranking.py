"""One ranking for all users: its likelihood is a function of how often each pair was seen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine, make_shards, reduce_step
from mallowmix.engine.blocks import StoredBlock
from mallowmix.learn.spectral.component_search import search_components
from mallowmix.learn.spectral.likelihood_tables import NODES, Tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.signed_moment import count_by_cluster
from mallowmix.model.permutations import kendall
from mallowmix.typing import Array

_MOST = 100  # searches; each moves σ, then φ, and two or three are enough


def refine_one_ranking(
    blocks: Sequence[Block | StoredBlock],
    components: MallowsComponents,
    alpha: Array,
    engine: Engine,
) -> tuple[MonteCarlo, Array]:
    """Search the ranking and φ that all users together make most likely.

    Every θ is 1, so nothing is drawn: one pass counts the pairs.

    Parameters
    ----------
    blocks : list of blocks
        All users, in memory or stored.
    components : MallowsComponents
        One component: where to begin.
    alpha : (1,) array
        The prior, which stays.
    engine : Engine
        Where the pass runs.

    Returns
    -------
    outcome : MonteCarlo
        Without chains.
    distances : (1,) array
        The fraction of pairs that two halves of the users order differently.
    """
    wins, _ = engine.reduce(_count_halves, make_shards(blocks))
    Q = components.sigma.shape[1]
    moved, tables = [], tables_of_wins(wins.sum(axis=0).reshape(Q, Q))
    while not moved or (moved[-1] > 0 and len(moved) < _MOST):
        new = search_components(tables, components)
        moved.append(int(np.count_nonzero(new.sigma != components.sigma)))
        components = new
    halves = [tables_of_wins(half.reshape(Q, Q)) for half in wins]
    ends = [search_components(half, components).sigma[0] for half in halves]
    return MonteCarlo(components, alpha, [], moved), np.array([kendall(*ends)])


@reduce_step("count pairs by half")
def _count_halves(block: Block, broadcast: None, state: None) -> tuple[Array, None]:
    """(2, Q²) counts of the users of even and of odd number."""
    odd = (block.first_user + np.arange(block.n_users)) % 2
    return count_by_cluster(block, odd, 2), None


def tables_of_wins(wins: NDArray[np.floating]) -> Tables:
    """(1, P, nodes) L_p(b) = n_ij log b + n_ji log(1 − b), as `tabulate`.

    Parameters
    ----------
    wins : (Q, Q) array
        How often i was preferred to j.
    """
    low, high = np.triu_indices(len(wins), 1)
    forward, backward = wins[low, high, None], wins[high, low, None]
    return (forward * np.log(NODES) + backward * np.log1p(-NODES)).astype(np.float32)[None]
