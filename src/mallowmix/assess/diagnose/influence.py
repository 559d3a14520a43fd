"""The influence of single users: how far φ and α would move without them, by one Newton step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.learn.spectral.user_scores import Smooth


@dataclass(frozen=True)
class Influence:
    """A user, their number of comparisons, and how far they move the model.

    `standard_errors` is √(sᵀ I⁻¹ s), s the user's score: without them η = (logit φ, log α) would be
    η̂ − I⁻¹ s, to first order. A typical user moves it by about √(2K / M).
    """

    user: str
    n_comparisons: float
    standard_errors: float


@dataclass(frozen=True)
class Activity:
    """How unequally comparisons are spread over users.

    `median` and `most` comparisons of a user, and the fraction of all that the busiest tenth made.
    """

    median: float
    most: float
    busiest_tenth: float


def influences(smooth: Smooth, comparisons: Comparisons) -> NDArray[np.float64]:
    """(M,) how many standard errors each user moves φ and α."""
    s = smooth.scores * comparisons.user_weight[:, None]
    return np.sqrt(
        np.maximum(np.einsum("mp,pm->m", s, np.linalg.solve(smooth.information, s.T)), 0)
    )


def most_influential(
    smooth: Smooth, comparisons: Comparisons, n_top: int = 5
) -> tuple[Influence, ...]:
    """Find the users who move the model most.

    Parameters
    ----------
    smooth : Smooth
        With scores (`learn.spectral.user_scores.smooth_at`).
    comparisons : Comparisons
    n_top : int

    Returns
    -------
    tuple of Influence
        Largest first.
    """
    moved, made, names = (
        influences(smooth, comparisons),
        comparisons.per_user(),
        text_of(comparisons.users),
    )
    most = np.argsort(-moved, kind="stable")[:n_top]
    return tuple(Influence(names[m], float(made[m]), float(moved[m])) for m in most)


def activity(comparisons: Comparisons) -> Activity:
    """How unequally comparisons are spread over users."""
    made = np.sort(comparisons.per_user())[::-1]
    tenth = max(1, len(made) // 10)
    return Activity(
        float(np.median(made)), float(made[0]), float(made[:tenth].sum() / max(made.sum(), 1e-300))
    )
