"""Rankings to the maximum of the marginal likelihood, where users say little of their weights.

Monte-Carlo EM draws every user's weights and moves the rankings as if these were known. With ten
comparisons a user they hardly are: weights that were drawn by the present rankings agree with them,
and an item moves only if its new position is better by far. Cycles here tabulate the marginal
likelihood instead (`learn.spectral.marginal_tables`), until one gains little more than the noise of
its tables. The outcome is kept unless halves of users' comparisons predict each other worse by it.
Where the first cycle moves nothing, as with many users, what was found is at the maximum already.
"""

from dataclasses import dataclass

import numpy as np

from mallowmix.engine import Block, Engine
from mallowmix.learn.spectral.component_search import search_with_gain
from mallowmix.learn.spectral.gibbs_sweep import MAX_TOKENS, Chain, gibbs_step
from mallowmix.learn.spectral.likelihood_tables import Tables, new_tables
from mallowmix.learn.spectral.mallows_mstep import beta_table
from mallowmix.learn.spectral.marginal_tables import marginal_tables
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, groups
from mallowmix.learn.spectral.split_merge import halves_by_user
from mallowmix.learn.spectral.stability import distances_between
from mallowmix.model import least_beta
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.numerics.dirichlet import polya_from_histogram
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.typing import Array, Progress

LITTLE = 60  # comparisons of a user that leave the weights open
_BURN_IN, _SWEEPS = 5, 20  # Gibbs sweeps from where the last cycle's ended, and those averaged over
_CAUTION = 0.1  # of tables, while components move far (`marginal_tables`); none at the end
_MOST_CYCLES, _AVERAGED = 16, 4  # while they move far; at the end, their tables averaged
_LEAST_GAIN = 0.005  # nats a position that a cycle gains: less is noise,
_NO_LESS, _NEAR = 0.7, 0.1  # and so is as much as before, up to so many
_CLEAR = 2.0  # standard errors by which the outcome must predict worse to be dropped


def say_little(blocks: list[Block]) -> bool:
    """Whether most comparisons are of users with few of them, each as often as its user counts."""
    n, users = _comparisons_and_weights(blocks)
    few = n <= LITTLE
    return bool(n[few] @ users[few] > n @ users / 2)


def ascend_marginal(
    blocks: list[Block],
    found: MonteCarlo,
    engine: Engine,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> MonteCarlo:
    """Move rankings, φ and α up the marginal likelihood.

    Parameters
    ----------
    blocks : list of Block
        The users.
    found : MonteCarlo
        Where Monte-Carlo EM ended.
    engine, seed, progress
        As in `fit`.

    Returns
    -------
    MonteCarlo
        The new components and prior with chains of theirs, `moved` going on; or what was found.
    """
    run = _new_ascent(found, blocks, engine, seed)
    positions = found.components.sigma.size * _weight(blocks)
    gained = np.inf
    for cycle in range(_MOST_CYCLES):
        before, gained = gained, run.cycle(_CAUTION)
        _show(progress, cycle + 1)
        if cycle == 0 and run.found.moved[-1] == 0:
            return found
        if gained <= _LEAST_GAIN * positions or _NO_LESS * before < gained < _NEAR * positions:
            break
    _end(run, progress)
    return found if _clearly_worse(run.found, found, blocks, engine, seed) else run.found


def _clearly_worse(
    new: MonteCarlo, old: MonteCarlo, blocks: list[Block], engine: Engine, seed: int
) -> bool:
    """Whether one half of users' comparisons predicts the other clearly worse, paired by user.

    The prior is the same for both: halves are predicted by variational weights, which know more
    than they should, so that a larger α looks better than it is.
    """
    after, before = (
        halves_by_user(blocks, each.components, old.alpha, engine, seed=seed) for each in (new, old)
    )
    gain, error = clustered_ratio(after[:, 0] - before[:, 0], after[:, 1])
    return gain < -_CLEAR * error


def _end(run: "_Ascent", progress: Progress | None) -> None:
    """A few more cycles, without caution, whose tables are averaged."""
    for cycle in range(_AVERAGED):
        run.cycle(0.0, gain=1 / (cycle + 1))
        _show(progress, _MOST_CYCLES + cycle + 1)


def _weight(blocks: list[Block]) -> float:
    """How often a user counts, Σ u² n / Σ u n: by so much nats and their noise are larger."""
    n, users = _comparisons_and_weights(blocks)
    return float((users**2 @ n) / max(users @ n, 1e-300))


def _comparisons_and_weights(blocks: list[Block]) -> tuple[Array, Array]:
    """(M,) how many comparisons users made, and how often each user counts."""
    n, users = zip(*((block.per_user(), block.user_weight) for block in blocks), strict=True)
    return np.concatenate(n), np.concatenate(users)


def _show(progress: Progress | None, done: int) -> None:
    if progress:
        progress("marginal likelihood", done, _MOST_CYCLES + _AVERAGED)


def marginal_half_distances(
    blocks: list[Block], found: MonteCarlo, engine: Engine, *, seed: int = 0
) -> Array:
    """As `stability.half_distances`, each half moving the rankings by its marginal likelihood.

    Parameters
    ----------
    blocks : list of Block
        The users.
    found : MonteCarlo
        The fitted components, with chains of theirs.
    engine, seed
        As in `fit`.

    Returns
    -------
    (K,) array
        A fraction of pairs for each component.
    """
    run = _new_ascent(found, blocks, engine, seed)
    beta = beta_table(found.components, least_beta.DIRECT_LIKELIHOOD)
    halves = run.tabulated(beta, found.chains, halves=True)
    return distances_between(halves, found.components, engine.n_jobs)


def _new_ascent(found: MonteCarlo, blocks: list[Block], engine: Engine, seed: int) -> "_Ascent":
    key = as_key(child_seed(seed, Step.MARGINAL_ASCENT))
    return _Ascent(found, blocks, engine, key, new_tables(*found.components.sigma.shape))


@dataclass
class _Ascent:
    """The state between cycles."""

    found: MonteCarlo
    blocks: list[Block]
    engine: Engine
    key: np.uint64
    tables: Tables
    histogram: Array | float = 0.0  # of tokens, as in `polya_from_histogram`
    number: int = 0  # of the pass

    def cycle(self, caution: float, gain: float = 1.0) -> float:
        """Move every component, a group at a time; by how much the likelihood rose, in nats."""
        before, n_components = self.found.moved, len(self.found.alpha)
        group, n_groups, n_moved, gained = 0, 1, 0, 0.0
        while group < n_groups:
            mixing = self._pass(caution, gain)
            n_groups = n_groups if group else groups(*mixing, n_components)
            components = self.found.components
            new, rise = search_with_gain(
                self.tables,
                components,
                which=range(group, n_components, n_groups),
                n_jobs=self.engine.n_jobs,
            )
            n_moved += int(np.count_nonzero(new.sigma != components.sigma))
            alpha = polya_from_histogram(np.asarray(self.histogram), self.found.alpha)
            self.found = self.found._replace(components=new, alpha=alpha)
            gained, group = gained + rise, group + 1
        self.found = self.found._replace(moved=[*before, n_moved])
        return gained

    def _pass(self, caution: float, gain: float) -> tuple[float, float]:
        """Draw weights and tabulate; Σ θ² and the number of users, which say how they mix."""
        components, alpha, chains, _ = self.found
        self.number += 1
        beta = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
        swept = (beta, alpha, _BURN_IN, self.number, self.key, MAX_TOKENS)
        (histogram, squares, n_users), chains = self.engine.reduce(
            gibbs_step, self.blocks, swept, chains
        )
        new = self.tabulated(beta, chains, caution)
        for table, of_component in zip(self.tables, new, strict=True):
            table += gain * (of_component - table)
        self.histogram = self.histogram + gain * (histogram - self.histogram)
        self.found = self.found._replace(chains=chains)
        return squares, n_users

    def tabulated(
        self, beta: Array, chains: list[Chain], caution: float = 0.0, *, halves: bool = False
    ) -> Array:
        """As `marginal_tables`."""
        return marginal_tables(
            self.blocks,
            beta,
            self.found.alpha,
            chains,
            self.engine,
            sweeps=_SWEEPS,
            number=self.number,
            key=self.key,
            caution=caution,
            halves=halves,
        )
