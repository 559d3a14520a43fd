"""Label switching: the components of every draw in the order that fits the likeliest draw best."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from mallowmix.peers.choice_sums import normalised
from mallowmix.peers.gom_chain import PosteriorDraws


def relabelled(chains: list[PosteriorDraws]) -> list[PosteriorDraws]:
    """The same draws, the components of each renumbered to be nearest to the pivot in p."""
    best = max(chains, key=lambda chain: chain.log_likelihood.max())
    pivot = normalised(best.scores[int(np.argmax(best.log_likelihood))])
    return [_turned(chain, pivot) for chain in chains]


def _turned(chain: PosteriorDraws, pivot: NDArray[np.float64]) -> PosteriorDraws:
    scores, share = chain.scores.copy(), chain.share.copy()
    for draw in range(len(scores)):
        # [pivot's, draw's]
        cost = ((normalised(chain.scores[draw])[None, :, :] - pivot[:, None, :]) ** 2).sum(axis=2)
        order = linear_sum_assignment(cost)[1]
        scores[draw], share[draw] = chain.scores[draw, order], chain.share[draw, order]
    return chain._replace(scores=scores, share=share)
