"""Draws of the posterior, spread until their variance is that over people.

The posterior's variance is right where people answer as the model says: independently, given their
weights. Where they do not (all comparisons of one ranking, say), it is too small, whatever the
likelihood weight. What a posterior mean g would vary by if other people had been asked is
(infinitesimal jackknife; Giordano and Broderick 2023)

    Σ_m (c_m − mean c)²,    c_m = Cov(g, ℓ_m) over the draws, ℓ_m the log-likelihood of user m,

which is the sandwich over people, and nothing is fitted again. Draws are spread around their mean
until their variance is that. The error of c_m from finitely many draws adds
Var(g) Σ_m Var(ℓ_m) / n, which is taken off; n is the effective number of draws. With few people
that variance is itself a guess. Where it is smaller than the posterior's, but no more so than by
chance, draws stay as they are: an interval becomes narrower only for a reason.

Where chains stay in different optima, they are weighted by stacking on held-out people instead of
pooled as if they were one: the likelihood of user m left out is 1 / mean exp(−ℓ_m) in each chain
(Yao, Vehtari and Gelman 2022).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from mallowmix.infer.posterior.posterior_sample import PosteriorSample, load_arviz
from mallowmix.numerics.stacking import stack_weights
from mallowmix.typing import Array

_SCALES = (0.5, 20.0)  # how far draws are drawn together or spread at most
_CLEARLY = 2.0  # standard errors of its logarithm by which a scale must be below 1


@dataclass(frozen=True, eq=False)
class QuantityIntervals:
    """Intervals of one quantity, arrays of its shape.

    Attributes
    ----------
    estimate : ndarray
        The posterior mean.
    low, high : ndarray
        The ends.
    model_low, model_high : ndarray
        The ends if all people answered as the model says: of the draws as they are.
    scale : ndarray
        How much wider the draws were spread, by standard deviations.
    """

    estimate: Array
    low: Array
    high: Array
    model_low: Array
    model_high: Array
    scale: Array


def chain_weights(sample: PosteriorSample) -> Array:
    """(C,) weights of the chains by stacking on held-out people.

    Parameters
    ----------
    sample : PosteriorSample
        The draws.
    """
    values = sample.user_log_likelihood.astype(np.float64)
    C, D, _ = values.shape
    left_out = np.log(D) - logsumexp(-values, axis=1)  # (C, M)
    p = np.exp(left_out - left_out.max(axis=0)).T
    return stack_weights(p, np.ones(len(p)), np.full(C, 1 / C))


class PersonSpread:
    """Spreads draws until their variance is the sandwich over people.

    Parameters
    ----------
    sample : PosteriorSample
        The draws.
    weights : (C,) array
        How much each chain counts.
    level : float
        How often an interval should hold the truth.
    one : bool
        Whether the chains agree, so that all of them have one mean.
    """

    def __init__(self, sample: PosteriorSample, weights: Array, level: float, *, one: bool) -> None:
        self.weights, self.one = weights, one
        self.ends = ((1 - level) / 2, (1 + level) / 2)
        values = sample.user_log_likelihood.astype(np.float64)
        self.deviation = values - self._centre(values)  # (C, D, M)
        self.each = weights[:, None] / values.shape[1]  # (C, 1) the weight of a draw
        self.variances = np.einsum("c,cdm->m", self.each[:, 0], self.deviation**2).sum()

    def _centre(self, values: Array) -> Array:
        """The mean that draws are spread around: of all chains where they agree, else of each."""
        by_chain = values.mean(axis=1, keepdims=True)
        if not self.one:
            return by_chain
        return np.average(by_chain, axis=0, weights=self.weights)[None]

    def scales(self, draws: Array) -> Array:
        """(n,) the standard deviation over people by that of the draws (C, D, n)."""
        deviation, c = self._with_people(draws)
        variance = np.einsum("c,cdn->n", self.each[:, 0], deviation**2)
        squares = (c - c.mean(axis=1, keepdims=True)) ** 2
        sandwich, n = squares.sum(axis=1), self._effective(draws)
        noise = variance * self.variances / n
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sqrt(np.maximum(sandwich - noise, 0) / variance)
            error = _log_scale_error(squares, n)
            chance = (ratio < 1) & (ratio >= np.exp(-_CLEARLY * error))
        return np.where((variance > 1e-12) & ~chance, np.clip(ratio, *_SCALES), 1.0)

    def _with_people(self, draws: Array) -> tuple[Array, Array]:
        """(C, D, n) how far draws are from their mean, and (n, M) their covariances c with ℓ."""
        deviation = draws - self._centre(draws)
        each = self.each[:, 0]
        return deviation, np.einsum("c,cdn,cdm->nm", each, deviation, self.deviation, optimize=True)

    def _effective(self, draws: Array) -> Array:
        """(n,) effective numbers of draws."""
        ess, C = load_arviz().ess, draws.shape[0]
        sizes = [
            sum(float(ess(draws[c : c + 1, :, n], method="mean")) for c in range(C))
            for n in range(draws.shape[2])
        ]
        return np.nan_to_num(np.array(sizes), nan=draws.shape[0] * draws.shape[1])

    def spread(self, draws: Array) -> tuple[Array, Array]:
        """The draws (C, D, n) spread around their mean, and their scales (n,)."""
        scale, centre = self.scales(draws), self._centre(draws)
        return centre + scale * (draws - centre), scale

    def intervals(self, draws: Array) -> QuantityIntervals:
        """Intervals of a quantity (C, D, …)."""
        flat = draws.reshape(*draws.shape[:2], -1)
        wide, scale = self.spread(flat)
        found = (self.mean(flat), *self.ends_of(wide), *self.ends_of(flat), scale)
        return QuantityIntervals(*(each.reshape(draws.shape[2:]) for each in found))

    def covariance(self, draws: Array, influence: Array) -> Array:
        """(n, n) over people, of quantities (C, D, n) that also depend on the answers themselves.

        Parameters
        ----------
        draws : (C, D, n) array
            The quantities, of each draw.
        influence : (M, n) array
            What they gain from each user's answers where the draw is held fixed.
        """
        deviation, c = self._with_people(draws)
        within = np.einsum("c,cdi,cdj->ij", self.each[:, 0], deviation, deviation)
        noise = np.sqrt(self.variances / self._effective(draws))
        each = c + influence.T
        each -= each.mean(axis=1, keepdims=True)
        M = len(influence)
        return (each @ each.T - within * np.outer(noise, noise)) * M / max(M - 1, 1)

    def mean(self, draws: Array) -> Array:
        """(n,) the mean of draws (C, D, n), chains by their weights."""
        return np.einsum("c,cdn->n", self.each[:, 0], draws)

    def ends_of(self, draws: Array) -> tuple[Array, Array]:
        """(n,) each: weighted quantiles over all chains."""
        C, D, n = draws.shape
        flat, weight = draws.reshape(C * D, n), np.repeat(self.each[:, 0], D)
        low, high = np.empty(n), np.empty(n)
        for i in range(n):
            order = np.argsort(flat[:, i], kind="stable")
            at = np.cumsum(weight[order]) - weight[order] / 2
            low[i], high[i] = np.interp(self.ends, at, flat[order, i].astype(np.float64))
        return low, high


def _log_scale_error(squares: Array, n_draws: Array) -> Array:
    """(n,) the standard error of the logarithm of a scale.

    Half of the relative error of its square: of a sum over M people, and of a variance over draws.

    Parameters
    ----------
    squares : (n, M) array
        What each person adds to the variance over people.
    n_draws : (n,) array
        Effective numbers of draws.
    """
    M = squares.shape[1]
    of_people = (squares**2).sum(axis=1) / squares.sum(axis=1) ** 2 - 1 / M
    return np.sqrt(of_people + 2 / n_draws) / 2
