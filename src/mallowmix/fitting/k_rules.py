"""The rules that choose one number of components, and the sentence that says why."""

import math
from typing import NamedTuple

import numpy as np

from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.typing import Array

AGREE = 0.75  # half-way between guessing and the same ranking
SAME = 0.0005  # log-likelihood per comparison: a smaller difference is none
_HARDLY = 0.002  # log-likelihood per comparison: numbers within this predict nearly alike
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
    smallest_share : float
        Of a component.
    likelihood_weight : float
        What one comparison of a user counted for, the mean over the folds.
    agreements : tuple of float
        Of every component between two halves of the users, most first; empty if not measured.
    eigenvalue, edge : float
        The last eigenvalue that k components need (None for one), and the edge of the noise (NaN
        if not measured).
    """

    k: int
    scores: Array
    smallest_share: float = 1.0
    likelihood_weight: float = 1.0
    agreements: tuple[float, ...] = ()
    eigenvalue: float | None = None
    edge: float = math.nan

    @property
    def mean(self) -> float:
        """Held-out log-likelihood per comparison."""
        return ratio(self.scores)[0]

    @property
    def stable(self) -> bool:
        """Every component is found again in both halves."""
        return not self.agreements or self.agreements[-1] >= AGREE

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


def best_of(found: list[Evidence]) -> Evidence:
    """The number that predicts best."""
    return max(found, key=lambda row: row.mean)


def within_one_error(found: list[Evidence]) -> Evidence:
    """The smallest number that predicts as well as the best, to one standard error."""
    best = best_of(found)
    return min((row for row in found if not _better(best, row, errors=1.0)), key=lambda row: row.k)


def _better(one: Evidence, other: Evidence, *, errors: float) -> bool:
    """Whether `one` predicts better than `other` by more than so many standard errors."""
    gain, error = difference(one, other)
    return gain > max(errors * error, SAME)


def recommend(found: list[Evidence], shown: int | None) -> tuple[int | None, str, bool]:
    """Choose a number of components.

    Parameters
    ----------
    found : list of Evidence
        For every number tried, smallest first.
    shown : int or None
        The number that the spectrum alone shows, where it was looked at.

    Returns
    -------
    k, reason, certain : int or None, str, bool
        None where nothing can be said.
    """
    chosen = within_one_error(found)
    if not chosen.beats_coin or (chosen.k == 1 and not chosen.stable):
        return None, _cannot_tell(found, chosen), False
    certain = shown == chosen.k and chosen.stable and _clear(found, chosen)
    return chosen.k, f"{chosen.k}: {_reason(found, chosen)}.", certain


def _clear(found: list[Evidence], chosen: Evidence) -> bool:
    """Smaller numbers predict worse and none better, by two standard errors; larger were tried."""
    worse = all(_better(chosen, row, errors=2.0) for row in found if row.k < chosen.k)
    better = any(_better(row, chosen, errors=2.0) for row in found)
    return worse and not better and chosen.k < found[-1].k


def _reason(found: list[Evidence], chosen: Evidence) -> str:
    parts = [_why_not_more(found, chosen)]
    alike = [row.k for row in found if best_of(found).mean - row.mean < _HARDLY]
    if min(alike) < chosen.k:
        which = f"{min(alike)} to {max(alike)}"
        parts.append(f"the number hardly matters: {which} predict within {_HARDLY} of each other")
    return "; ".join(parts)


def _why_not_more(found: list[Evidence], chosen: Evidence) -> str:
    """Why more components than were chosen are not better."""
    more = [row for row in found if row.k > chosen.k]
    if not more:
        return "the largest number tried predicts new people best; more may predict still better"
    name = _next_component(more[0].k, chosen.k)
    gain, error = difference(more[0], chosen)
    if gain > max(error, SAME):
        why = "it predicts new people as well as more components do, to one standard error"
    else:
        sizes = f"{gain:+.4f} per comparison, give or take {error:.4f}"
        why = f"{name} does not predict new people better: {sizes}"
    return f"one ranking is enough, {why}" if chosen.k == 1 else why


def _next_component(k: int, before: int) -> str:
    if k > before + 1:
        return f"a model of {k} components"
    name = _WORDS[k - 1] if k <= len(_WORDS) else f"{k}th"
    return f"a{'n' if name[0] == 'e' and name[1] in 'il' else ''} {name} component"


def _cut(agreement: float) -> str:
    """Two decimals, rounded down: what is below 0.75 must not read 0.75."""
    return f"{math.floor(100 * agreement) / 100:.2f}"


def _cannot_tell(found: list[Evidence], chosen: Evidence) -> str:
    if chosen.beats_coin:
        agreement = _cut(chosen.agreements[-1])
        return (
            "cannot tell: too little data, even one ranking is not stable: "
            f"{agreement} agreement between halves."
        )
    best = best_of(found)
    mean, error = ratio(best.scores)
    who = "one ranking predicts" if best.k == 1 else f"{best.k} rankings predict"
    sizes = f"{mean:.4f} per comparison, give or take {error:.4f}; a coin has {_COIN:.4f}"
    return f"cannot tell: even {who} new people no better than a coin ({sizes})."
