"""`sample_posterior`: draws of θ, σ, φ and α given comparisons."""

from functools import partial
from numbers import Real
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.data.argument_kinds import check_kind
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import parallel_map
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons_in_memory
from mallowmix.errors import DataError, Option, OptionError, check_count, check_flag
from mallowmix.infer.posterior.chain_starts import chain_start
from mallowmix.infer.posterior.component_labels import aligned_chains, population_win_rates
from mallowmix.infer.posterior.matched_win_rates import matched_win_rates
from mallowmix.infer.posterior.posterior_chain import (
    ChainDraws,
    ChainLength,
    ChainStart,
    PosteriorChain,
)
from mallowmix.infer.posterior.posterior_data import PosteriorData, posterior_data, sampled_users
from mallowmix.infer.posterior.posterior_priors import PosteriorPriors
from mallowmix.infer.posterior.posterior_sample import PosteriorSample
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.typing import Progress


def sample_posterior(
    comparisons: ComparisonsLike,
    n_components: int,
    *,
    n_chains: int = 4,
    n_warmup: int = 500,
    n_draws: int = 250,
    thin: int = 4,
    priors: PosteriorPriors | None = None,
    likelihood_weight: float = 1.0,
    max_users: int = 1000,
    keep_theta: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> PosteriorSample:
    """Draw users' weights, rankings, dispersions and Dirichlet parameters from their posterior.

    Markov chain Monte Carlo: users' weights by collapsed Gibbs sampling, rankings by insertions
    that are accepted on the direct likelihood, φ and α by random walks. The chains begin in turn
    at a short fit, at random rankings, at a short fit of half of the users, and near the crowd's
    ranking. `check_convergence` says whether they agree.

    Parameters
    ----------
    comparisons : Comparisons, or whatever `read_comparisons` takes
        In memory. A user of weight 3 counts as three users with the same comparisons.
    n_components : int
        K.
    n_chains : int
        How many chains.
    n_warmup, n_draws, thin : int
        Steps of each chain that are not kept, draws that are, and steps from one draw to the next.
    priors : PosteriorPriors, optional
        Proper and weak unless given.
    likelihood_weight : float
        How much a comparison counts: 1 gives the posterior of the model.
    max_users : int
        A sample of so many users is used where there are more, to bound the cost.
    keep_theta : bool
        Whether users' weights are kept: C · D · M · K numbers.
    seed : int
        The same seed and data give the same draws, on any number of threads.
    n_jobs : int
        How many chains run at the same time; as many as there are cores unless given.
    progress : callable
        Called as ``progress(step, done, total)``.

    Returns
    -------
    PosteriorSample
        The draws; `to_xarray` and `to_arviz` give them with labels.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=40)
    >>> sample = mm.sample_posterior(dishes.comparisons, 2, n_warmup=20, n_draws=10, n_chains=2)
    >>> sample
    PosteriorSample(2 chains of 10 draws, 2 components of 16 items)
    """
    data = as_comparisons_in_memory(comparisons, "The posterior")
    length = ChainLength(n_warmup, n_draws, thin)
    _check(data, n_components, n_chains, length, likelihood_weight, max_users)
    check_flag("keep_theta", keep_theta)
    chosen, seed = PosteriorPriors() if priors is None else priors, int(as_key(seed))
    check_kind("priors", chosen, PosteriorPriors, "a `PosteriorPriors`")
    users = sampled_users(data.user_weight, max_users, seed)
    rows = posterior_data(data, users, likelihood_weight)
    # chains begin from what they are drawn from: all users of the sample, once each
    base = data.take_users(np.unique(users))
    counter = _Counter(n_chains * (n_warmup + n_draws * thin), progress)

    def chain(number: int) -> tuple[ChainStart, ChainDraws]:
        start = chain_start(base, n_components, chosen, number, seed)
        key = as_key(child_seed(seed, Step.POSTERIOR_CHAIN, number))
        draws = PosteriorChain(rows, chosen, start, key).run(length, keep_theta, counter.report)
        return start, draws

    with threadpool_limits(1):  # BLAS threads would change the order of sums
        starts, chains = zip(*parallel_map(chain, range(n_chains), n_jobs), strict=True)
    make = partial(_sample, data, users, rows, chosen, likelihood_weight, seed)
    return make([start.name for start in starts], aligned_chains(list(chains)), keep_theta)


def _sample(
    data: Comparisons,
    users: NDArray[np.int64],
    rows: PosteriorData,
    priors: PosteriorPriors,
    likelihood_weight: float,
    seed: int,
    names: list[str],
    chains: list[ChainDraws],
    keep_theta: bool,
) -> PosteriorSample:
    together = ChainDraws(*(np.stack(values) for values in zip(*chains, strict=True)))
    win_rate = [population_win_rates(each.sigma, each.phi, each.alpha) for each in chains]
    matched = matched_win_rates(rows, chains, likelihood_weight)
    hierarchical = priors.rankings == "mallows"
    return PosteriorSample(
        items=data.items,
        users=data.users[users],
        sigma=together.sigma,
        phi=together.phi,
        alpha=together.alpha,
        theta=together.theta if keep_theta else None,
        log_likelihood=together.log_likelihood,
        user_log_likelihood=together.evidence,
        win_rate=np.stack(win_rate),
        matched_win_rate=matched.draws,
        win_influence=matched.influence,
        crowd=together.crowd if hierarchical else None,
        crowd_phi=together.crowd_phi if hierarchical else None,
        initialisations=tuple(names),
        n_users=float(data.user_weight.sum()),
        likelihood_weight=likelihood_weight,
        priors=priors,
        seed=seed,
    )


class _Counter:
    """Counts steps of all chains, and shows them."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.progress, self.done, self.lock = total, progress, 0, Lock()

    def report(self) -> None:
        """One step more."""
        if self.progress:
            with self.lock:
                self.done += 1
                self.progress("posterior", self.done, self.total)


def _check(
    data: Comparisons,
    n_components: int,
    n_chains: int,
    length: ChainLength,
    likelihood_weight: float,
    max_users: int,
) -> None:
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer):
        expected = "a whole number of at least 1"
        raise OptionError(option="n_components", value=n_components, expected=expected)
    for option, value, least in (
        ("n_components", n_components, 1),
        ("n_chains", n_chains, 1),
        ("n_warmup", length.n_warmup, 0),
        ("n_draws", length.n_draws, 1),
        ("thin", length.thin, 1),
        ("max_users", max_users, 1),
    ):
        check_count(option, value, least)
    n_pairs = data.n_items * (data.n_items - 1) // 2
    if n_components - 1 > n_pairs:  # as in `fit`: more cannot be distinguished
        expected = f"at most {n_pairs + 1}: {data.n_items} items make {n_pairs} pairs"
        raise OptionError(option="n_components", value=n_components, expected=expected)
    if not isinstance(likelihood_weight, Real) or not 0 < likelihood_weight < np.inf:
        expected = "a finite number above 0"
        raise OptionError(option="likelihood_weight", value=likelihood_weight, expected=expected)
    if not data.user_weight.any():
        raise DataError(
            Option("user_weight"),
            " is 0 for all users: nobody is left to learn from. Give someone a weight above 0.",
        )
