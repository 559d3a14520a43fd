"""Reliability of predicted probabilities, on held-out comparisons."""

import math
from dataclasses import dataclass

import numpy as np

from mallowmix.infer.heldout.held_out_rows import HeldOutRows

_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Comparisons whose likelier side had about the same probability.

    `predicted` and `observed` are how often it was predicted to win, and how often it won.
    """

    predicted: float
    observed: float
    n_comparisons: float


@dataclass(frozen=True)
class Reliability:
    """How well probabilities fit outcomes.

    Attributes
    ----------
    slope, slope_error : float
        Of the outcome on the predicted log-odds, by logistic regression: 1 is right, below 1 the
        model is overconfident, above it underconfident. The standard error is clustered by user.
    log_likelihood_per_comparison : float
        Of what was held out.
    n_comparisons : float
    table : tuple of Bin
        By the predicted probability of the likelier side, from ½ to 1.
    """

    slope: float
    slope_error: float
    log_likelihood_per_comparison: float
    n_comparisons: float
    table: tuple[Bin, ...]


def reliability(held_out: HeldOutRows) -> Reliability:
    """Measure the calibration slope and the reliability table of held-out comparisons.

    Parameters
    ----------
    held_out : HeldOutRows
        The probability that was predicted for each outcome.

    Returns
    -------
    Reliability
    """
    total = float(held_out.weight.sum())
    score = float(held_out.weight @ np.log(held_out.probability))
    slope, error = _slope(held_out)
    return Reliability(slope, error, score / total if total else math.nan, total, _table(held_out))


def _slope(held_out: HeldOutRows, n_iter: int = 50) -> tuple[float, float]:
    """The b that maximises Σ w log σ(b z), z the log-odds of outcomes; sandwich error by user."""
    z, w = np.log(held_out.probability) - np.log1p(-held_out.probability), held_out.weight
    b = 1.0
    for _ in range(n_iter):
        lost = 1 / (1 + np.exp(b * z))  # 1 − σ(bz)
        gradient, curve = float(w @ (lost * z)), float(w @ (lost * (1 - lost) * z**2))
        if curve <= 0:
            return math.nan, math.nan
        step = float(np.clip(gradient / curve, -0.5, 0.5))
        b += step
        if abs(step) < 1e-10:
            break
    lost = 1 / (1 + np.exp(b * z))
    per_person = np.bincount(held_out.user, w * lost * z)
    return b, float(np.sqrt(np.sum(per_person**2)) / (w @ (lost * (1 - lost) * z**2)))


def _table(held_out: HeldOutRows) -> tuple[Bin, ...]:
    """Bins of equal width in the likelier side's probability; empty ones are left out."""
    likelier, won = (
        np.maximum(held_out.probability, 1 - held_out.probability),
        held_out.probability >= 0.5,
    )
    bins = np.minimum(((likelier - 0.5) * 2 * _BINS).astype(np.int64), _BINS - 1)
    n = np.bincount(bins, held_out.weight, _BINS)
    predicted, observed = (
        np.bincount(bins, held_out.weight * likelier, _BINS),
        np.bincount(bins, held_out.weight * won, _BINS),
    )
    return tuple(
        Bin(float(predicted[b] / n[b]), float(observed[b] / n[b]), float(n[b]))
        for b in np.flatnonzero(n)
    )
