"""A Dirichlet prior of users' weights, learnt by Monte-Carlo EM.

α starts from the moments of θ in closed form; then Gibbs sweeps over the tokens and steps of
Minka's fixed point for α take turns.
"""

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, Engine, parallel_sum, reduce_step
from mallowmix.errors import FitWarning, Option
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.dirichlet import (
    LEAST_ALPHA,
    dirichlet_from_moments,
    polya_slopes,
    polya_step,
)
from mallowmix.numerics.randomness import Step, as_key
from mallowmix.numerics.token_gibbs import count_tokens, sweep_tokens, token_count, user_stream
from mallowmix.typing import Array

_STEP = int(Step.PRIOR_SWEEP)
_SWEEPS, _FIXED_POINT = 3, 10  # Gibbs sweeps and steps for α in a cycle
# not converged if log α moves so much between the two halves of the averaged cycles
_DRIFT = 0.2


class PriorChain(NamedTuple):
    """The state of a block: the component of each token, and each user's tokens by component."""

    z: NDArray[np.int16]
    counts: Array  # (M, K)
    weight: Array  # (M,) how much each user counts


def dirichlet_path(
    prepared: PreparedModel, blocks: list[Block], engine: Engine, n_cycles: int, seed: int
) -> Array:
    """Learn α by Monte-Carlo EM.

    Parameters
    ----------
    prepared : PreparedModel
        The components, and α to begin with.
    blocks : list of Block
        The users.
    engine : Engine
        Where the sweeps run.
    n_cycles : int
        How often sweeps over the tokens given α and steps of α given the tokens take turns.
    seed : int
        The seed.

    Returns
    -------
    (cycles, K) array
        log α of the last two thirds of the cycles.
    """
    # an initialisation from which the chains mix
    alpha = np.maximum(prepared.share, 0.01) * np.clip(prepared.alpha.sum(), 0.5, 50.0)
    chains, path, key = None, [], as_key(seed)
    for cycle in range(n_cycles):
        (moments, total), chains = engine.reduce(
            _sweep_block, blocks, (prepared._replace(alpha=alpha), cycle, key), chains
        )
        if cycle == 0:
            alpha = np.maximum(
                dirichlet_from_moments(moments[0] / total, moments[1:] / total), LEAST_ALPHA
            )
        alpha = _moved(alpha, chains, engine)
        path.append(np.log(alpha))
    return np.array(path[n_cycles // 3 :])


def check_converged(path: Array) -> None:
    """Warn if log α still drifts between the two halves of the cycles."""
    half = len(path) // 2
    drift = np.abs(path[half:].mean(axis=0) - path[:half].mean(axis=0))
    # an α at its floor: its logarithm means nothing
    drift = drift[path.mean(axis=0) > np.log(10 * LEAST_ALPHA)]
    if np.any(drift > _DRIFT):
        warnings.warn(
            FitWarning(
                f"The prior still moved after {3 * len(path) // 2} cycles "
                f"(log alpha by {drift.max():.2f}); raise ",
                Option("n_cycles"),
                ".",
            ),
            stacklevel=4,
        )


def _moved(alpha: Array, chains: list[PriorChain], engine: Engine) -> Array:
    """Steps of Minka's fixed point."""
    # α_k ← α_k Σ_m (ψ(n_mk + α_k) − ψ(α_k)) / Σ_m (ψ(n_m + α₀) − ψ(α₀))
    for _ in range(_FIXED_POINT):
        slopes = parallel_sum(partial(_chain_slopes, alpha=alpha), chains, engine.n_jobs)
        alpha = polya_step(alpha, slopes)
    return alpha


def _chain_slopes(chain: PriorChain, alpha: Array) -> Array:
    return polya_slopes(chain.counts, chain.weight, alpha)


@reduce_step("Gibbs sweep of a prior")
def _sweep_block(
    block: Block, broadcast: tuple[PreparedModel, int, np.uint64], chain: PriorChain | None
) -> tuple[Any, PriorChain]:
    """Moments of θ (its mean, then θθᵀ) summed over users, and the sum of their weights."""
    prepared, cycle, key = broadcast
    z = np.zeros(int(np.ceil(block.weight).sum()), np.int16) if chain is None else chain.z.copy()
    data = (
        block.starts,
        block.pair,
        block.weight,
        prepared.beta,
        prepared.alpha,
        prepared.likelihood_weight,
    )
    counts = _sweep(*data, z, _SWEEPS if cycle else 10 * _SWEEPS, cycle, block.first_user, key)
    sums = (_moments(counts, prepared.alpha, block.user_weight), float(block.user_weight.sum()))
    return sums, PriorChain(z, counts, block.user_weight)


def _moments(counts: Array, alpha: Array, weight: Array) -> Array:
    """(K + 1, K) Σ_m E θ and Σ_m E θθᵀ of θ ~ Dirichlet(g), g = α + n_m."""
    g = alpha + counts
    g0 = g.sum(axis=1)
    # E θθᵀ = (g gᵀ + diag g) / (g₀ (g₀ + 1))
    scaled = g * (weight / (g0 * (g0 + 1)))[:, None]
    return np.vstack([(weight / g0) @ g, scaled.T @ g + np.diag(scaled.sum(axis=0))])


@compiled
def _sweep(starts, pair, weight, beta, alpha, likelihood_weight, z, sweeps, cycle, first_user, key):
    """(M, K) counts after Gibbs sweeps; tokens count the likelihood weight, a row of 2.5 has 3."""
    M, K = len(starts) - 1, len(alpha)
    counts, n, p, first = np.zeros((M, K)), np.empty(K), np.empty(K), 0
    for m in range(M):
        state = user_stream(key, first_user + m, _STEP, cycle)
        rows = slice(starts[m], starts[m + 1])
        codes, w = pair[rows], weight[rows]
        own = z[first : first + token_count(w)]
        first += len(own)
        for k in range(K):
            n[k] = alpha[k]
        if cycle > 0:
            count_tokens(w, likelihood_weight, own, n)
        for s in range(sweeps):
            fresh = cycle == 0 and s == 0
            state = sweep_tokens(codes, w, likelihood_weight, beta, n, fresh, own, n, p, state)
        for k in range(K):
            counts[m, k] = n[k] - alpha[k] if n[k] - alpha[k] > 1e-9 else 0.0
    return counts
