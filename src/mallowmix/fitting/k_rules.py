"""The rules that choose one number of components, and the sentence that says why."""

import math
from typing import NamedTuple

import numpy as np

from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.typing import Array

AGREE = 0.75  # half-way between guessing and the same ranking
_BEYOND_CHANCE = 2.0  # standard errors above a coin: by chance once in 44
_COIN = -math.log(2)
_WORDS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]


class Evidence(NamedTuple):
    """What is measured for k components: predictions, stability, and the spectrum.

    Attributes
    ----------
    k : int
        The number of components.
    scores : (M, 2) array
        Each user's held-out log-likelihood and number of comparisons.
    agreements : tuple of float
        Of every component between two halves of the users, most first.
    smallest_share : float
        Of a component.
    eigenvalue, edge : float
        The last eigenvalue that k components need (None for one), and the edge of the noise.
    """

    k: int
    scores: Array
    agreements: tuple[float, ...]
    smallest_share: float
    eigenvalue: float | None
    edge: float

    @property
    def mean(self) -> float:
        """Held-out log-likelihood per comparison."""
        return ratio(self.scores)[0]

    @property
    def stable(self) -> bool:
        """Every component is found again in both halves."""
        return self.agreements[-1] >= AGREE

    @property
    def above_noise(self) -> bool:
        """The last eigenvalue that so many components need is above the edge of the noise."""
        return self.eigenvalue is None or self.eigenvalue > self.edge

    @property
    def beats_coin(self) -> bool:
        """New users are predicted better than by a coin, by two standard errors."""
        mean, error = ratio(self.scores)
        return mean - _COIN > _BEYOND_CHANCE * error


def ratio(scores: Array) -> tuple[float, float]:
    """Log-likelihood per comparison and its standard error, from users' sums and counts (M, 2)."""
    return clustered_ratio(scores[:, 0], scores[:, 1])


def difference(one: Evidence, other: Evidence) -> tuple[float, float]:
    """How much better `one` predicts than `other` per comparison, paired by user, and its error."""
    return ratio(np.column_stack([one.scores[:, 0] - other.scores[:, 0], one.scores[:, 1]]))


def within_one_error(found: list[Evidence]) -> Evidence:
    """The smallest number that predicts as well as the best, to one standard error."""
    best = max(found, key=lambda row: row.mean)
    return min((row for row in found if not _better(best, row, errors=1.0)), key=lambda row: row.k)


def _better(one: Evidence, other: Evidence, *, errors: float) -> bool:
    """Whether `one` predicts better than `other` by more than so many standard errors."""
    gain, error = difference(one, other)
    return gain > errors * error


def recommend(found: list[Evidence], shown: int) -> tuple[int | None, str, bool]:
    """Choose a number of components.

    Parameters
    ----------
    found : list of Evidence
        For every number tried.
    shown : int
        The number that the spectrum alone shows.

    Returns
    -------
    k, reason, certain : int or None, str, bool
        None where nothing can be said.
    """
    supported = [row for row in found if row.stable and row.above_noise and row.beats_coin]
    if not supported:
        return None, _cannot_tell(found), False
    chosen = within_one_error(supported)
    more = [row for row in found if row.k > chosen.k]
    if not more:
        return (
            chosen.k,
            f"{chosen.k}: the largest number tried is supported; more may be, too.",
            False,
        )
    return (
        chosen.k,
        f"{chosen.k}: {_why_not(more[0], chosen)}.",
        shown == chosen.k and _clear(found, chosen),
    )


def _clear(found: list[Evidence], chosen: Evidence) -> bool:
    """Smaller numbers predict worse and none better, by two standard errors."""
    worse = all(_better(chosen, row, errors=2.0) for row in found if row.k < chosen.k)
    return worse and not any(_better(row, chosen, errors=2.0) for row in found)


def _why_not(more: Evidence, chosen: Evidence) -> str:
    """Why more components than were chosen are not better supported."""
    name = _next_component(more.k, chosen.k)
    if not more.stable:
        return f"{name} is not stable: {_cut(more.agreements[-1])} agreement between halves"
    gain, error = difference(more, chosen)
    if gain <= error:
        sizes = f"{gain:+.4f} per comparison, give or take {error:.4f}"
        return f"{name} does not predict new people better: {sizes}"
    if not more.above_noise:
        part = (more.eigenvalue or 0) / more.edge
        return f"{name} is not above the noise of the spectrum: {part:.2f} of its edge"
    return "it predicts new people as well as more components do, to one standard error"


def _next_component(k: int, before: int) -> str:
    if k > before + 1:
        return f"a model of {k} components"
    name = _WORDS[k - 1] if k <= len(_WORDS) else f"{k}th"
    return f"a{'n' if name[0] == 'e' and name[1] in 'il' else ''} {name} component"


def _cut(agreement: float) -> str:
    """Two decimals, rounded down: what is below 0.75 must not read 0.75."""
    return f"{math.floor(100 * agreement) / 100:.2f}"


def _cannot_tell(found: list[Evidence]) -> str:
    best = max(found, key=lambda row: row.mean)
    mean, error = ratio(best.scores)
    if not any(row.beats_coin for row in found):
        who = "one ranking predicts" if best.k == 1 else f"{best.k} rankings predict"
        sizes = f"{mean:.4f} per comparison, give or take {error:.4f}; a coin has {_COIN:.4f}"
        return f"cannot tell: even {who} new people no better than a coin ({sizes})."
    agreement = _cut(found[0].agreements[-1])
    return (
        "cannot tell: too little data, even one ranking is not stable: "
        f"{agreement} agreement between halves."
    )
