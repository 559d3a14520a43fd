"""Intervals of the population's win rates, and of the positions that follow from them.

Both rest on win rates that are matched to the observed wins, and on how these vary over people
(`infer.posterior.matched_win_rates`). An interval of a win rate is symmetric on the logit scale.
Positions are those in random draws of all win rates together, since win rates of neighbours go up
and down with each other.
"""

import numpy as np
from scipy.special import stdtrit

from mallowmix.infer.posterior.person_spread import PersonSpread, QuantityIntervals
from mallowmix.infer.posterior.posterior_sample import PosteriorSample
from mallowmix.learn.utilities.laplace_arrays import logistic_of
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_DRAWS = 2000
_NARROWEST = 0.5  # standard deviations of M4's own draws: a sandwich of few people can be too small
_LEAST = 1e-6  # a win rate


def win_rate_intervals(
    sample: PosteriorSample, spread: PersonSpread
) -> tuple[QuantityIntervals, QuantityIntervals]:
    """Intervals of win rates, and of positions by win rate.

    Parameters
    ----------
    sample : PosteriorSample
        The draws.
    spread : PersonSpread
        How they vary over people.

    Returns
    -------
    win_rate, leaderboard : QuantityIntervals
        (Q,) each; positions from 0.
    """
    model, rate = sample.win_rate, spread.mean(sample.matched_win_rate)
    rate = np.clip(rate, _LEAST, 1 - _LEAST)
    covariance = spread.covariance(sample.matched_win_rate, sample.win_influence)
    own = model.reshape(-1, model.shape[2]).std(axis=0)
    deviation = np.sqrt(np.maximum(np.diag(covariance), (_NARROWEST * own) ** 2))
    logit, wide = np.log(rate) - np.log1p(-rate), deviation / (rate * (1 - rate))
    low, high = (
        logistic_of(logit + stdtrit(max(len(sample.users) - 1, 1), end) * wide)
        for end in spread.ends
    )
    scale = np.divide(deviation, own, out=np.ones_like(own), where=own > 1e-9)
    rates = QuantityIntervals(rate, low, high, *spread.ends_of(model), scale)
    return rates, _positions(sample, spread, rates, logit + _noise(covariance, wide, sample.seed))


def _noise(covariance: Array, wide: Array, seed: int) -> Array:
    """(S, Q) draws with the correlations of the covariance and these standard deviations."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    length = np.sqrt((root**2).sum(axis=1))
    known = length > 0
    root[known] /= length[known, None]
    random = generator(seed, Step.LEADERBOARD)
    noise = random.standard_normal((_DRAWS, len(wide))) @ root.T
    alone = random.standard_normal((_DRAWS, len(wide)))
    return np.where(known, noise, alone) * wide


def _positions(
    sample: PosteriorSample, spread: PersonSpread, rates: QuantityIntervals, draws: Array
) -> QuantityIntervals:
    estimate = np.argsort(np.argsort(-rates.estimate, kind="stable")).astype(np.float64)
    low, high = (
        np.quantile(_ranks(draws), end, axis=0, method=method)
        for end, method in zip(spread.ends, ("lower", "higher"), strict=True)
    )
    before = spread.ends_of(_ranks(sample.win_rate))
    low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    return QuantityIntervals(estimate, low, high, *before, rates.scale)


def _ranks(rates: Array) -> Array:
    """Positions by win rate along the last axis, from 0."""
    return np.argsort(np.argsort(-rates, axis=-1), axis=-1).astype(np.float64)
