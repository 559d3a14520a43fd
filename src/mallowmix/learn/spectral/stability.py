"""How well the data pins each ranking down: two halves of the people, each moving the found rankings to where it wants them."""

import numpy as np

from mallowmix.engine import Block, Engine
from mallowmix.learn.spectral.component_search import search_components
from mallowmix.learn.spectral.likelihood_tables import by_pair, new_tables, tabulate
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.model import least_beta
from mallowmix.model.permutations import kendall
from mallowmix.typing import Array


def half_distances(
    blocks: list[Block], components: MallowsComponents, theta: list[Array], engine: Engine
) -> Array:
    """(K,) the fraction of pairs that two halves of the people put in different order, each half polishing the found rankings.

    A ranking that the data determines is hardly moved by either half; where it is noise, each half goes its own way. Where
    chance alone makes the error, this number is two to six times as large. What both halves share cannot be seen here, such as
    two components mixed into each other.

    theta : everybody's weights, drawn or estimated, a block each
    """
    K, Q = components.sigma.shape
    pairs, beta, everybody = (
        by_pair(blocks),
        beta_table(components, least_beta.DIRECT_LIKELIHOOD),
        np.concatenate(theta),
    )
    number = np.concatenate([block.first_user + np.arange(block.n_users) for block in blocks])
    halves = []
    for odd in (0, 1):
        # who follows nothing is left out
        theirs = np.where(number[:, None] % 2 == odd, everybody, 0.0)
        tables = tabulate(pairs, beta, theirs, new_tables(K, Q), n_jobs=engine.n_jobs)
        halves.append(search_components(tables, components, n_jobs=engine.n_jobs).sigma)
    return np.array([kendall(a, b) for a, b in zip(*halves, strict=True)])
