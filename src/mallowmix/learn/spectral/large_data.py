"""Large data: after a sample of users, passes over all of them move the rankings.

A sample of a few million comparisons leaves the rankings nearly right, and determines φ and α well
enough. What more users add is the order of neighbours. So the θ of each user is drawn once, from a
new initialisation, and the direct likelihood tabulated in the same step (the marginal likelihood
where users say little): no state of a user is stored, and a shard returns two tables alone (users
of even and of odd number). α then converges on the sample, and φ is that of all users.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from mallowmix.engine import Block, Engine, Shard, make_shards, reduce_step
from mallowmix.engine.blocks import TOGETHER, StoredBlock
from mallowmix.learn.spectral.component_search import search_components, with_best_phi
from mallowmix.learn.spectral.gibbs_sweep import swept_chains
from mallowmix.learn.spectral.likelihood_tables import N_NODES, Tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.marginal_tables import add_block, zero_table
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, groups, monte_carlo_em
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.stability import both_halves, distances_between
from mallowmix.learn.spectral.tabulate import tabulate
from mallowmix.model import least_beta
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.typing import Array, Progress

SWEEPS = 5  # from a new initialisation
AVERAGED = 10  # sweeps of the marginal likelihood
_MOST_PASSES = 3
_CAUTION = 0.0  # of tables of the marginal likelihood: the rankings are nearly right
_PHI_BOUNDS = (1e-4, 1 - 1e-4)  # within which logit φ is computed


class AllUsers(NamedTuple):
    """Components from all users, and how far apart two halves of them would put each."""

    outcome: MonteCarlo  # its chains are those of the sample
    distances: Array  # (K,)


def learn_from_all_users(
    all_blocks: Sequence[Block | StoredBlock],
    sample: list[Block],
    found: MonteCarlo,
    engine: Engine,
    *,
    marginal: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> AllUsers:
    """Move components that were learnt from a sample to where all users put them.

    One pass moves all components; where users mix many, two or three passes move a part of them
    each, since moving all at once overshoots.

    Parameters
    ----------
    all_blocks : list of blocks
        All users, in memory or stored.
    sample : list of Block
        The users of the sample.
    found : MonteCarlo
        What was learnt from the sample.
    engine : Engine
        Where the passes run.
    marginal : bool
        Whether users say so little that their weights are to be integrated out.
    seed, progress
        As in `fit`.
    """
    components, K = found.components, len(found.alpha)
    theta = np.concatenate([chain.theta for chain in found.chains])
    n_passes = min(groups(float(np.sum(theta**2)), len(theta), K), _MOST_PASSES)
    moved, drawn_by, whole = [], components, np.empty(0, np.float32)
    for i in range(n_passes):
        drawn_by = components
        halves = tabulate_all_users(
            all_blocks,
            components,
            found.alpha,
            engine,
            marginal=marginal,
            seed=child_seed(seed, Step.ALL_USERS_PASS, i),
            progress=_pass_progress(progress, i, n_passes),
        )
        whole = both_halves(halves)
        new = search_components(
            whole, components, which=range(i, K, n_passes), n_jobs=engine.n_jobs
        )
        moved.append(int(np.count_nonzero(new.sigma != components.sigma)))
        components = new
    distances = distances_between(halves, components, engine.n_jobs)
    outcome = _converged(sample, found._replace(components=components), engine, seed, moved)
    rest = (outcome, sample, engine, seed, marginal)
    phi = _phi_of_all(whole, drawn_by, found.alpha, *rest)
    return AllUsers(outcome._replace(components=components._replace(phi=phi)), distances)


def _phi_of_all(
    whole: Tables,
    drawn_by: MallowsComponents,
    alpha: Array,
    outcome: MonteCarlo,
    sample: list[Block],
    engine: Engine,
    seed: int,
    marginal: bool = False,
) -> Array:
    """φ from the last pass over all users, less what such a pass is off by.

    A draw from a new initialisation leaves users a little too mixed, which is much beside the
    standard error of φ from all users. How much, the sample shows: there φ has converged, and the
    same pass over it gives another. The difference, a mean over components, has little noise, since
    the users of both are the same.
    """
    halves = tabulate_all_users(
        sample,
        drawn_by,
        alpha,  # as in the pass over all users
        engine,
        marginal=marginal,
        seed=child_seed(seed, Step.ALL_USERS_PASS, _MOST_PASSES),
    )
    of_all, of_sample = (
        logit(np.clip(with_best_phi(tables, outcome.components).phi, *_PHI_BOUNDS))
        for tables in (whole, both_halves(halves))
    )
    converged = logit(np.clip(outcome.components.phi, *_PHI_BOUNDS))
    return np.asarray(expit(of_all + np.mean(converged - of_sample)), np.float64)


def _converged(
    sample: list[Block], found: MonteCarlo, engine: Engine, seed: int, moved: list[int]
) -> MonteCarlo:
    """φ and α of the sample, with the rankings held fixed.

    Few cycles were needed for its rankings: its chains have to run on before they are averaged.
    """
    options = {
        "min_burn_in": 1,
        "max_burn_in": 1,
        "min_average": 2,
        "max_average": 2,
        "move_sigma": False,
        "seed": child_seed(seed, Step.ALL_USERS_END),
    }
    outcome = monte_carlo_em(sample, found.components, found.alpha, found.chains, engine, **options)
    return outcome._replace(moved=moved)


def _pass_progress(
    progress: Progress | None, number: int, n_passes: int
) -> Callable[[int, int], None] | None:
    """The progress of one pass as a part of all."""
    if progress is None:
        return None
    return lambda done, total: progress("all users", number * total + done, n_passes * total)


def tabulate_all_users(
    all_blocks: Sequence[Block | StoredBlock],
    components: MallowsComponents,
    alpha: Array,
    engine: Engine,
    *,
    marginal: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Array:
    """Tabulate the direct likelihood over all users, from one draw of every θ; or the marginal one.

    Parameters
    ----------
    all_blocks : list of blocks
        All users, in memory or stored.
    components : MallowsComponents
        The present components.
    alpha : (K,) array
        The prior.
    engine : Engine
        Where the pass runs.
    marginal : bool
        Whether weights are integrated out (`learn.spectral.marginal_tables`).
    seed, progress
        As in `fit`; the progress is of one pass, ``progress(done, total)``.

    Returns
    -------
    (K, 2P, nodes) array
        As `tabulate`: the users of even number first, then those of odd number.
    """
    beta = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
    broadcast = (beta, alpha, as_key(seed), marginal)
    return engine.reduce(_shard_step, make_shards(all_blocks), broadcast, progress=progress)[0]


@reduce_step("tabulate all users", takes_shards=True)
def _shard_step(
    shard: Shard, broadcast: tuple[Array, Array, np.uint64, bool], state: None
) -> tuple[Array, None]:
    """A few blocks at a time: the more comparisons of a pair together, the fewer logarithms."""
    beta, alpha, key, marginal = broadcast
    tables = _marginal if marginal else _direct
    total: Any = 0
    for first in range(0, len(shard.blocks), TOGETHER):
        blocks = [block.load() for block in shard.blocks[first : first + TOGETHER]]
        total = total + tables(blocks, beta, alpha, key)
    return total, None  # float32: a sum over shards is taken in float64


def _direct(blocks: list[Block], beta: Array, alpha: Array, key: np.uint64) -> NDArray[np.float32]:
    Q, K = blocks[0].n_items, len(alpha)
    chains = swept_chains(blocks, beta, alpha, SWEEPS, key)
    theta = np.concatenate([chain.theta for chain in chains])
    tables = np.zeros((K, Q * (Q - 1), N_NODES), np.float32)  # 2P of them
    return tabulate(by_pair(blocks, halves=True), beta, theta, tables)


def _marginal(
    blocks: list[Block], beta: Array, alpha: Array, key: np.uint64
) -> NDArray[np.float32]:
    table = zero_table(blocks[0].n_items, len(alpha), halves=True)
    chains = swept_chains(blocks, beta, alpha, SWEEPS, key)
    for block, chain in zip(blocks, chains, strict=True):
        add_block(table, block, chain, beta, alpha, AVERAGED, 0, key, _CAUTION, halves=True)
    return np.ascontiguousarray(table.transpose(1, 0, 2)[:, :, :N_NODES])
