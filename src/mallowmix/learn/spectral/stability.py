"""The stability of each ranking: how differently two halves of the users would improve it."""

import numpy as np

from mallowmix.engine import Block, Engine
from mallowmix.learn.spectral.component_search import search_components
from mallowmix.learn.spectral.likelihood_tables import Tables, new_tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import tabulate
from mallowmix.model import least_beta
from mallowmix.model.permutations import kendall
from mallowmix.typing import Array


def half_distances(
    blocks: list[Block], components: MallowsComponents, theta: list[Array], engine: Engine
) -> Array:
    """Of each component, the fraction of pairs that two halves of the users order differently.

    Each half improves the rankings on its own likelihood. A ranking that the data determines is
    hardly moved by either half; where it is noise, the halves differ. Where chance alone makes the
    error, this number is two to six times as large as the error. An error that both halves share,
    such as two components mixed into each other, cannot be seen here.

    Parameters
    ----------
    blocks : list of Block
        The users.
    components : MallowsComponents
        The rankings.
    theta : list of (users, K) arrays
        Users' weights, drawn or estimated, an array for each block.
    engine : Engine
        How many threads.

    Returns
    -------
    (K,) array
        A fraction for each component.
    """
    pairs, all_theta = by_pair(blocks, n_jobs=engine.n_jobs), np.concatenate(theta)
    beta = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
    number = np.concatenate([block.first_user + np.arange(block.n_users) for block in blocks])
    tables = new_tables(*components.sigma.shape)
    found = []
    for odd in (0, 1):
        # users without weights are left out
        of_half = np.where(number[:, None] % 2 == odd, all_theta, 0.0)
        tabulate(pairs, beta, of_half, tables, n_jobs=engine.n_jobs)
        found.append(search_components(tables, components, n_jobs=engine.n_jobs))
    return _distances(*found)


def distances_between(halves: Array, components: MallowsComponents, n_jobs: int) -> Array:
    """(K,) how differently two halves of the users order each component, from their tables.

    Parameters
    ----------
    halves : (K, 2P, nodes) array
        Tables of the one half, then of the other.
    components : MallowsComponents
        Where both begin.
    n_jobs : int
        How many threads.
    """
    one, other = (
        search_components(half.astype(np.float32, order="C"), components, n_jobs=n_jobs)
        for half in np.split(halves, 2, axis=1)
    )
    return _distances(one, other)


def _distances(one: MallowsComponents, other: MallowsComponents) -> Array:
    return np.array([kendall(a, b) for a, b in zip(one.sigma, other.sigma, strict=True)])


def both_halves(halves: Array) -> Tables:
    """(K, P, nodes) the tables of both halves of the users together."""
    P = halves.shape[1] // 2
    return (halves[:, :P] + halves[:, P:]).astype(np.float32)
