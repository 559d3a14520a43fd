"""Reliability of predicted probabilities, on held-out comparisons."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtri

from mallowmix.infer.heldout.held_out_rows import HeldOutRows
from mallowmix.numerics.clustered_error import clustered_proportion

Verdict: TypeAlias = Literal["calibrated", "overconfident", "underconfident", "uneven", "unclear"]
LEVEL = 0.95  # of all intervals here; those of the bins hold together
SAID = 0.8  # the probability at which calibration is put into words
CLOSE = 0.05  # an interval that stays so near to what was said confirms it
_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Comparisons whose likelier side had about the same probability.

    `predicted` and `observed` are how often it was predicted to win, and how often it won; `low`
    to `high` is the interval of the latter, with users as clusters, all bins together at 95%.
    """

    predicted: float
    observed: float
    n_comparisons: float
    low: float = 0.0
    high: float = 1.0


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

    def at(self, predicted: float = SAID) -> tuple[float, float, float]:
        """How often what is held to be so probable happens, by the slope, and its 95% interval."""
        z, odds = float(ndtri((1 + LEVEL) / 2)), float(logit(predicted))
        slopes = (self.slope, self.slope - z * self.slope_error, self.slope + z * self.slope_error)
        return tuple(float(expit(slope * odds)) for slope in slopes)  # type: ignore[return-value]

    @property
    def worst(self) -> Bin | None:
        """The bin whose interval is farthest from what was predicted; None where all hold it."""
        off = [max(row.low - row.predicted, row.predicted - row.high) for row in self.table]
        if not off or max(off) <= 0:
            return None
        return self.table[int(np.argmax(off))]

    @property
    def verdict(self) -> Verdict:
        """Whether probabilities can be taken as they are.

        "calibrated" only where the interval at 80% holds 80% and stays within 5% of it, and every
        bin's interval holds what was predicted; "unclear" where the interval is too wide to say.
        """
        if not math.isfinite(self.slope_error) or math.isnan(self.slope):
            return "unclear"
        _, low, high = self.at()
        if high < SAID:
            return "overconfident"
        if low > SAID:
            return "underconfident"
        if self.worst is not None:
            return "uneven"
        return "calibrated" if max(SAID - low, high - SAID) <= CLOSE else "unclear"


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
    predicted = np.bincount(bins, held_out.weight * likelier, _BINS)
    z = float(ndtri(1 - (1 - LEVEL) / 2 / max(np.count_nonzero(n), 1)))  # Bonferroni
    table = []
    for b in np.flatnonzero(n):
        rows = bins == b
        user, weight = held_out.user[rows], held_out.weight[rows]
        made, right = (
            np.bincount(user, weight * value).astype(np.float64) for value in (1.0, won[rows])
        )
        observed, low, high = clustered_proportion(right, made, z)
        table.append(Bin(float(predicted[b] / n[b]), observed, float(n[b]), low, high))
    return tuple(table)
