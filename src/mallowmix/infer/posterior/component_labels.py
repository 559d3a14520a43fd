"""Label switching: the components of every draw in the order that fits the likeliest draw best."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from mallowmix.infer.posterior.component_moves import fill_beta, fill_gaps
from mallowmix.infer.posterior.posterior_chain import ChainDraws
from mallowmix.numerics.compiled import compiled
from mallowmix.typing import Array


def aligned_chains(chains: list[ChainDraws]) -> list[ChainDraws]:
    """The same draws, the components of each renumbered to be nearest to the pivot in β.

    The pivot is the draw of all chains with the highest likelihood, its components in the order of
    their α.

    Parameters
    ----------
    chains : list of ChainDraws
        The draws.
    """
    best = max(chains, key=lambda chain: chain.log_likelihood.max())
    draw = int(np.argmax(best.log_likelihood))
    order = np.argsort(-best.alpha[draw], kind="stable")
    pivot = beta_tables(best.sigma[draw], best.phi[draw])[order]
    return [_aligned(chain, pivot) for chain in chains]


def _aligned(chain: ChainDraws, pivot: Array) -> ChainDraws:
    order = np.array(
        [
            _nearest(beta_tables(sigma, phi), pivot)
            for sigma, phi in zip(chain.sigma, chain.phi, strict=True)
        ]
    )
    return chain._replace(
        sigma=np.take_along_axis(chain.sigma, order[:, :, None], axis=1),
        phi=np.take_along_axis(chain.phi, order, axis=1),
        alpha=np.take_along_axis(chain.alpha, order, axis=1),
        theta=np.take_along_axis(chain.theta, order[:, None, :], axis=2),
    )


def _nearest(tables: Array, pivot: Array) -> NDArray[np.intp]:
    """Which component of the draw goes with each of the pivot."""
    cost = ((tables[None] - pivot[:, None]) ** 2).sum(axis=2)  # [pivot's, draw's]
    return linear_sum_assignment(cost)[1]


@compiled
def beta_tables(sigma, phi):
    """(K, Q²) β of every ordered pair, for K components."""
    K, Q = sigma.shape
    out, gaps = np.empty((K, Q * Q)), np.empty(2 * Q - 1)
    for k in range(K):
        fill_gaps(phi[k], gaps)
        fill_beta(sigma[k], gaps, out[k])
    return out


@compiled
def population_win_rates(sigma, phi, alpha):
    """(D, Q) how often each item is preferred to another one, by the population, in each draw.

    A pair is won with Σ_k α_k / A β_k; the mean over the other items is taken.
    """
    D, K, Q = sigma.shape
    out = np.zeros((D, Q))
    for d in range(D):
        tables, A = beta_tables(sigma[d], phi[d]), alpha[d].sum()
        for k in range(K):
            for i in range(Q):
                own = tables[k, i * Q : (i + 1) * Q].sum() - 0.5
                out[d, i] += alpha[d, k] / A * own / max(Q - 1, 1)
    return out
