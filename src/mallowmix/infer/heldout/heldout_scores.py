"""What every held-out likelihood shares: the result, its standard error over people, the least probability of a comparison."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, make_blocks
from mallowmix.engine.engine import MapStep
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import DataError
from mallowmix.model.m4 import M4

FLOOR = (
    1e-4  # least β: at φ = 0 a comparison against every reference ranking would have probability 0
)
NOBODY = "nobody has any comparison of the model's items."
Array = NDArray[np.float64]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Heldout:
    """Log-likelihood per held-out comparison (a coin has −log 2), its standard error, and how much it rests on.

    The standard error is clustered: a person's comparisons stand or fall together. n_users counts people with something held out.
    `details` says how the number was found, in plain values; what it holds depends on the method.
    """

    log_likelihood_per_comparison: float
    standard_error: float
    n_comparisons: float
    n_users: int
    details: dict[str, Any] = field(default_factory=dict)


def summary(scores: Array, reason: str, details: dict[str, Any] | None = None) -> Heldout:
    """The mean over comparisons, a ratio of sums over people: s.e.² = M/(M−1) Σ_m (s_m − r n_m)² / (Σ n_m)².

    scores : (users, 2) each person's summed log-likelihood and number of comparisons; people with none do not count
    reason : why nothing may be left, for the error that says so
    """
    scores = scores[scores[:, 1] > 0]
    if not len(scores):
        raise DataError(f"Nothing is held out: {reason}")
    s, n, M = scores[:, 0], scores[:, 1], len(scores)
    mean = float(s.sum() / n.sum())
    spread = np.sqrt(np.sum((s - mean * n) ** 2) * M / (M - 1)) / n.sum() if M > 1 else np.nan
    return Heldout(mean, float(spread), float(n.sum()), M, details or {})


def floored_beta(model: M4) -> Array:
    """(Q², K) β of ordered pairs, none below 10⁻⁴ and none above 1 − 10⁻⁴."""
    beta = np.clip(model.beta(), FLOOR, 1 - FLOOR)
    return np.ascontiguousarray(beta.reshape(model.n_components, -1).T)


def by_person(
    step: MapStep[Array],
    comparisons: Comparisons,
    broadcast: Any,
    *,
    n_jobs: int | None,
    progress: Progress | None,
    name: str,
    width: int,
    engine: EngineName | Engine | None = None,
) -> Array:
    """What a step says of each person, `width` numbers each."""
    shown = partial(progress, name) if progress else None
    with using(engine, n_jobs) as run:
        parts = run.map(step, make_blocks(comparisons), broadcast, progress=shown)
    return np.concatenate([np.empty((0, width)), *parts])


def log_mu_by_person(comparisons: Comparisons) -> Array:
    """Σ weight · log μ_ij of each person's pairs, with μ estimated from everybody's counts of unordered pairs."""
    low, high = (
        np.minimum(comparisons.winner, comparisons.loser),
        np.maximum(comparisons.winner, comparisons.loser),
    )
    _, pair = np.unique(low.astype(np.int64) * comparisons.n_items + high, return_inverse=True)
    counts = np.bincount(pair, comparisons.weight)
    log_mu = np.log(counts[pair] / comparisons.weight.sum())
    return np.bincount(comparisons.user, comparisons.weight * log_mu, comparisons.n_users).astype(
        np.float64
    )
