"""Are predicted probabilities right? Comparisons held out of people's own, by how sure the model was of them."""

import math
from dataclasses import dataclass

import numpy as np

from mallowmix.infer.heldout.held_out_rows import HeldOutRows

_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Comparisons whose favourite had about the same probability: how often it was held to win, and how often it won."""

    predicted: float
    observed: float
    n_comparisons: float


@dataclass(frozen=True)
class Reliability:
    """How well probabilities fit outcomes.

    slope : of the outcome on the log-odds predicted, by logistic regression: 1 is right, below 1 the model is too sure, above it
        not sure enough; slope_error is its standard error, clustered by person
    log_likelihood_per_comparison : of what was held out
    table : favourites by their predicted probability, from ½ to 1
    """

    slope: float
    slope_error: float
    log_likelihood_per_comparison: float
    n_comparisons: float
    table: tuple[Bin, ...]


def reliability(held_out: HeldOutRows) -> Reliability:
    """Slope and table of held-out comparisons."""
    total = float(held_out.weight.sum())
    score = float(held_out.weight @ np.log(held_out.probability))
    slope, error = _slope(held_out)
    return Reliability(slope, error, score / total if total else math.nan, total, _table(held_out))


def _slope(held_out: HeldOutRows, n_iter: int = 50) -> tuple[float, float]:
    """The b that maximises Σ w log σ(b z), z the log-odds of what happened, by Newton; sandwich error over people."""
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
    """Bins of equal width in the favourite's probability; empty ones are left out."""
    favourite, won = (
        np.maximum(held_out.probability, 1 - held_out.probability),
        held_out.probability >= 0.5,
    )
    bins = np.minimum(((favourite - 0.5) * 2 * _BINS).astype(np.int64), _BINS - 1)
    n = np.bincount(bins, held_out.weight, _BINS)
    predicted, observed = (
        np.bincount(bins, held_out.weight * favourite, _BINS),
        np.bincount(bins, held_out.weight * won, _BINS),
    )
    return tuple(
        Bin(float(predicted[b] / n[b]), float(observed[b] / n[b]), float(n[b]))
        for b in np.flatnonzero(n)
    )
