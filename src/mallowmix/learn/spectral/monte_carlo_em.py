"""Monte-Carlo EM: Gibbs sweeps draw every θ, then components ascend the direct likelihood."""

from typing import NamedTuple

import numpy as np

from mallowmix.engine import Block, Engine
from mallowmix.learn.spectral.component_search import search_with_gain, with_best_phi
from mallowmix.learn.spectral.gibbs_sweep import MAX_TOKENS, gibbs_step, most_tokens
from mallowmix.learn.spectral.gibbs_sweep import Chain as Chain
from mallowmix.learn.spectral.gibbs_sweep import new_chains as new_chains
from mallowmix.learn.spectral.likelihood_tables import new_tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import tabulate
from mallowmix.model import least_beta
from mallowmix.numerics.dirichlet import polya_from_histogram
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array, Progress

# Parts of all K · Q positions that may move in a cycle: for burn-in to end, and at the end of all.
FEW_MOVED, CONVERGED = 0.3, 0.02
NO_FEWER = 0.7  # of the positions that moved in the cycle before: they move by chance alone
STILL = 2  # cycles in a row in which nothing moves: then averaging ends,
AS_MANY, WINDOW = 0.9, 4  # or where as many move in the last cycles as in those before
LEAST_GAIN = 0.15  # of a new draw in the averaged tables: older ones are forgotten
SEARCHED = 0.1  # of what a search's first pass gained: the next cycle has other draws to follow
DISCARDED = 2  # passes before α is estimated
LEAST_PASSES = 6  # before it may end by `tol`, from a first initialisation
MOVE_TOGETHER = 2  # of the components that a user mixes


class MonteCarlo(NamedTuple):
    """The outcome of Monte-Carlo EM."""

    components: MallowsComponents
    alpha: Array
    chains: list[Chain]
    moved: list[int]  # items that changed position, a number for each cycle


def monte_carlo_em(
    blocks: list[Block],
    components: MallowsComponents,
    alpha: Array,
    chains: list[Chain],
    engine: Engine,
    *,
    sweeps: int = 5,
    min_burn_in: int = 4,
    max_burn_in: int = 12,
    min_average: int = 8,
    max_average: int = 24,
    move_sigma: bool = True,
    tol: float = 0.0,
    least_passes: int = LEAST_PASSES,
    seed: int = 0,
    progress: Progress | None = None,
) -> MonteCarlo:
    """Alternate: draw θ given the components, move the components given θ.

    A cycle moves every component once. θ is drawn, not estimated, so that the components converge
    to a maximum of the marginal likelihood. Burn-in ends when the rankings move no less than in
    the cycle before. Then the tables of successive draws are averaged (stochastic approximation,
    weights 1/(i+1), at least `LEAST_GAIN`), which removes the noise of single draws, until no more
    than one position in fifty moves or the rankings move by chance alone; sooner where none has
    moved in two cycles, or the draws have little to say (`tol`).

    Parameters
    ----------
    blocks : list of Block
        The users.
    components : MallowsComponents
        Where to begin.
    alpha : (K,) array
        The prior to begin with.
    chains : list of Chain
        From `new_chains`, or of an earlier run.
    engine : Engine
        Where the passes run.
    sweeps : int
        Gibbs sweeps in a pass.
    min_burn_in, max_burn_in : int
        Cycles of burn-in.
    min_average, max_average : int
        Cycles of averaging; the least holds where rankings still move.
    move_sigma : bool
        Whether rankings move, or φ and α alone.
    tol : float
        After `least_passes` it ends where the noise of the draws is worth no more than so many
        nats a position, whatever the least numbers of cycles: what a cycle adds to the tabulated
        log-likelihood, divided by its weight in the average. What the data leave open of a position
        is worth half a nat.
    least_passes : int
        Passes before it may end by `tol`: φ and α lag behind the rankings.
    seed : int
        Of the draws.
    progress : callable, optional
        Called as ``progress(step, done, total)``.

    Returns
    -------
    MonteCarlo
        Components, prior and chains at the end.
    """
    run = _Run(blocks, components, alpha, chains, engine, sweeps, seed)
    run.move_sigma, run.least_passes = move_sigma, least_passes
    n_positions = components.sigma.size
    moved: list[int] = []
    for cycle in range(max_burn_in):
        moved.append(run.cycle(gain=1.0))
        _show(progress, "burn in", cycle + 1, max_burn_in)
        if run.noise(1.0) <= tol:
            return run.outcome(moved)
        before = moved[max(0, cycle - 1)]
        stationary = moved[-1] < FEW_MOVED * n_positions and moved[-1] >= NO_FEWER * before
        if cycle + 1 >= min_burn_in and (moved[-1] == 0 or stationary):
            break
    for i in range(max_average):
        moved.append(run.cycle(gain=(gain := max(1 / (i + 1), LEAST_GAIN))))
        _show(progress, "averaging", i + 1, max_average)
        averaged = moved[-i - 1 :]
        if move_sigma and i + 1 >= STILL and not any(averaged[-STILL:]):
            break
        done = moved[-1] <= CONVERGED * n_positions or _by_chance(averaged)
        if (i + 1 >= min_average and done) or run.noise(gain) <= tol:
            break
    return run.outcome(moved)


def _by_chance(moved: list[int]) -> bool:
    """Whether as many positions move in the last cycles of averaging as in those before them."""
    last, before = sum(moved[-WINDOW:]), sum(moved[-2 * WINDOW : -WINDOW])
    return len(moved) > 2 * WINDOW and last >= AS_MANY * before


def _show(progress: Progress | None, step: str, done: int, total: int) -> None:
    if progress:
        progress(step, done, total)


class _Run:
    """The state of Monte-Carlo EM between cycles."""

    def __init__(
        self,
        blocks,
        components: MallowsComponents,
        alpha: Array,
        chains: list[Chain],
        engine: Engine,
        sweeps: int,
        seed: int,
    ):
        self.blocks, self.components, self.alpha, self.chains = blocks, components, alpha, chains
        self.engine, self.sweeps, self.key, self.passes = engine, sweeps, as_key(seed), 0
        self.pairs = by_pair(blocks, n_jobs=engine.n_jobs)
        self.tables = new_tables(*components.sigma.shape)
        self.n_sizes = min(
            MAX_TOKENS, 2 + int(max((most_tokens(block) for block in blocks), default=0))
        )
        self.histogram = np.zeros((len(alpha) + 1, self.n_sizes))
        self.n_groups = 1
        self.move_sigma, self.least_passes = True, LEAST_PASSES
        self.gained = np.inf  # nats, by the searches of the last cycle
        self.size = components.sigma.size * smaller_by_weights(blocks)

    def outcome(self, moved: list[int]) -> MonteCarlo:
        """The state at the end."""
        return MonteCarlo(self.components, self.alpha, self.chains, moved)

    def noise(self, gain: float) -> float:
        """What the draws of the last cycle, of this weight, left to chance: nats a position."""
        if self.passes < self.least_passes:
            return np.inf
        return self.gained / gain / max(self.size, 1e-300)

    def cycle(self, gain: float) -> int:
        """Move every component once, a group at a time; how many items changed position."""
        moved, self.gained = 0, 0.0
        for group in range(n_groups := self.n_groups):
            beta = beta_table(self.components, least_beta.DIRECT_LIKELIHOOD)
            broadcast = (beta, self.alpha, self.sweeps, self.passes, self.key, self.n_sizes)
            (histogram, squares, n_users), self.chains = self.engine.reduce(
                gibbs_step, self.blocks, broadcast, self.chains
            )
            self.passes += 1
            # the first draws depend on their initialisation, and make users look too mixed
            part = gain if self.passes > DISCARDED + 1 else 1.0
            self.histogram += part * (histogram - self.histogram)
            theta = np.concatenate([chain.theta for chain in self.chains])
            self.tables = tabulate(
                self.pairs, beta, theta, self.tables, gain=gain, n_jobs=self.engine.n_jobs
            )
            which = range(group, len(self.alpha), n_groups)
            if self.move_sigma:
                new, gained = search_with_gain(
                    self.tables,
                    self.components,
                    which=which,
                    enough=SEARCHED,
                    n_jobs=self.engine.n_jobs,
                )
                self.gained += gained
            else:
                new, self.gained = with_best_phi(self.tables, self.components), np.inf
            moved += int(np.count_nonzero(new.sigma != self.components.sigma))
            self.components = new
            if self.passes > DISCARDED:
                self.alpha = polya_from_histogram(self.histogram, self.alpha)
            # Moving all components at once overshoots when users mix many: about two of those that
            # they mix may move together.
            self.n_groups = groups(squares, n_users, len(self.alpha))
        return moved


def smaller_by_weights(blocks: list[Block]) -> float:
    """By what factor user weights below 1 make nats smaller: Σ u² n / Σ u n, at most 1.

    Where nobody may count for more than some comparisons, the log-likelihood and its noise are
    both smaller than those of the answers that were given.

    Parameters
    ----------
    blocks : list of Block
        The users.
    """
    if all((block.user_weight == 1).all() for block in blocks):
        return 1.0
    answers = [np.bincount(block.users_of_rows(), block.weight, block.n_users) for block in blocks]
    n, u = np.concatenate(answers), np.concatenate([block.user_weight for block in blocks])
    return float(min(1.0, (u**2 @ n) / max(u @ n, 1e-300)))


def groups(squares: float, n_users: float, n_components: int) -> int:
    """How many groups the components are moved in.

    Parameters
    ----------
    squares : float
        Σ_m Σ_k θ_mk²: the fewer components a user mixes, the larger.
    n_users : float
        M.
    n_components : int
        K.
    """
    return int(np.clip(round(n_users / max(squares, 1e-300) / MOVE_TOGETHER), 1, n_components))
