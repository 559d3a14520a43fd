"""Where the chains of the posterior begin: each kind far from the others, so that they can differ.

In turn: a short fit of all users, random rankings, a short fit of a random half of the users, and
rankings drawn near the crowd's.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine
from mallowmix.errors import DataError, FitError, MallowmixWarning
from mallowmix.infer.posterior.posterior_chain import ChainStart
from mallowmix.infer.posterior.posterior_priors import PosteriorPriors
from mallowmix.learn.spectral.estimator import fit_spectral
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.mallows import sample_orders
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.kemeny import borda_order
from mallowmix.numerics.randomness import Step, child_seed, generator
from mallowmix.typing import Array

STARTS = ("fit", "random", "half", "crowd")
_PHI, _NEAR = 0.8, 0.9  # φ of random rankings, and of the spread around the crowd's


def chain_start(
    comparisons: Comparisons, n_components: int, priors: PosteriorPriors, chain: int, seed: int
) -> ChainStart:
    """The initialisation of one chain.

    Parameters
    ----------
    comparisons : Comparisons
        Of the users that the posterior is drawn from.
    n_components : int
        K.
    priors : PosteriorPriors
        Of α, whose median the chain begins with.
    chain : int
        The number of the chain, which decides the kind.
    seed : int
        Of the run.

    Returns
    -------
    ChainStart
    """
    name = STARTS[chain % len(STARTS)]
    crowd = _crowd_order(comparisons)
    alpha = np.full(n_components, priors.alpha_median)
    own = child_seed(seed, Step.POSTERIOR_CHAIN, chain)
    components = None
    if name in ("fit", "half"):
        components = _short_fit(comparisons, n_components, half=name == "half", seed=own)
    if components is None:
        name = "crowd" if name == "crowd" else "random"
        components = _drawn(crowd, n_components, near=name == "crowd", seed=own)
    return ChainStart(name, *components, alpha, sigma_of(crowd).astype(np.int64))


def _crowd_order(comparisons: Comparisons) -> NDArray[np.int32]:
    """Items by wins."""
    Q = comparisons.n_items
    wins = np.zeros((Q, Q))
    weight = comparisons.weight * comparisons.user_weight[comparisons.user]
    np.add.at(wins, (comparisons.winner, comparisons.loser), weight)
    return borda_order(wins)


def _short_fit(
    comparisons: Comparisons, K: int, *, half: bool, seed: int
) -> tuple[NDArray[np.int64], Array] | None:
    """Rankings and dispersions of a short fit; None where there is too little data for one."""
    if half:
        M = comparisons.n_users
        chosen = generator(seed, Step.POSTERIOR_START).permutation(M)[: (M + 1) // 2]
        comparisons = comparisons.take_users(np.sort(chosen))
    if not comparisons.user_weight.any() or not len(comparisons):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            engine, short = ThreadEngine(1), SpectralOptions(refine="short")
            model = fit_spectral(comparisons, K, short, seed=seed, engine=engine)
    except (DataError, FitError):
        return None
    return model.m4.sigma.astype(np.int64), np.clip(model.m4.phi, 0.02, 0.98)


def _drawn(
    crowd: NDArray[np.int32], K: int, *, near: bool, seed: int
) -> tuple[NDArray[np.int64], Array]:
    """Rankings drawn near the crowd's, or uniformly."""
    orders = sample_orders(crowd, _NEAR if near else 1.0, K, seed=seed)
    return sigma_of(orders).astype(np.int64), np.full(K, _PHI)
