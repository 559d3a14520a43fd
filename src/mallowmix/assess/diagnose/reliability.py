"""Are foretold probabilities right? Comparisons held out of people's own, by how sure the model was of them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.infer.heldout.held_out_rows import Asked

Array = NDArray[np.float64]
_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Comparisons whose favourite had about the same probability: how often it was held to win, and how often it won."""

    foretold: float
    observed: float
    n_comparisons: float


@dataclass(frozen=True)
class Reliability:
    """How well probabilities fit outcomes.

    slope : of the outcome on the log-odds foretold, by logistic regression: 1 is right, below 1 the model is too sure, above it
        not sure enough; slope_error is its standard error, clustered by person
    log_likelihood_per_comparison : of what was held out
    table : favourites by their foretold probability, from ½ to 1
    """

    slope: float
    slope_error: float
    log_likelihood_per_comparison: float
    n_comparisons: float
    table: tuple[Bin, ...]


def reliability(asked: Asked) -> Reliability:
    """Slope and table of held-out comparisons."""
    total = float(asked.weight.sum())
    score = float(asked.weight @ np.log(asked.probability))
    slope, error = _slope(asked)
    return Reliability(slope, error, score / total if total else math.nan, total, _table(asked))


def _slope(asked: Asked, n_iter: int = 50) -> tuple[float, float]:
    """The b that maximises Σ w log σ(b z), z the log-odds of what happened, by Newton; sandwich error over people."""
    z, w = np.log(asked.probability) - np.log1p(-asked.probability), asked.weight
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
    per_person = np.bincount(asked.user, w * lost * z)
    return b, float(np.sqrt(np.sum(per_person**2)) / (w @ (lost * (1 - lost) * z**2)))


def _table(asked: Asked) -> tuple[Bin, ...]:
    """Bins of equal width in the favourite's probability; empty ones are left out."""
    favourite, won = np.maximum(asked.probability, 1 - asked.probability), asked.probability >= 0.5
    bins = np.minimum(((favourite - 0.5) * 2 * _BINS).astype(np.int64), _BINS - 1)
    n = np.bincount(bins, asked.weight, _BINS)
    foretold, observed = (
        np.bincount(bins, asked.weight * favourite, _BINS),
        np.bincount(bins, asked.weight * won, _BINS),
    )
    return tuple(
        Bin(float(foretold[b] / n[b]), float(observed[b] / n[b]), float(n[b]))
        for b in np.flatnonzero(n)
    )
