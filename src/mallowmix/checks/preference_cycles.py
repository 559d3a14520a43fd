"""Preferences that go in a circle: majorities that no one ranking, or no mixture of them, fits.

For every pair the people who prefer the one item are set against those who prefer the other. With
d_m person m's wins less losses of i against j, and u_m how much they count,

    z_ij = Σ_m u_m d_m / √(Σ_m u_m² d_m²)

passes t by chance with a probability of at most exp(−t² / 2) where i is not the preferred one
(Hoeffding's bound, for any number of people). Majorities with exp(−t² / 2) = 1% / Q(Q − 1) are
clear. If one ranking orders every pair as the majority does, clear ones go in a circle at most once
in 100 times.

A mixture of rankings may have such a circle, too (Condorcet), but not any: every ranking breaks it
somewhere, so the win rates along a circle of L items add up to L − 1 at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.ranking_ids import group_starts
from mallowmix.data.text import printable
from mallowmix.model.fitted_model import AnyModel
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.work_arrays import zeros
from mallowmix.typing import Array

FALSE_ALARM = 0.01
BEYOND = 3.0  # standard errors by which a circle must pass what mixtures of rankings can have
_TRIFLE = 0.02  # of a win rate: a smaller difference does not matter, however sure it is
_MOST_ITEMS = 2000  # the search is over all pairs of items
_ROWS = 1 << 16  # searched for a pair at a time


@dataclass(frozen=True)
class PreferenceCycle:
    """Items each of which a clear majority prefers to the next, and the last to the first.

    Attributes
    ----------
    items : tuple of str
    win_rates : tuple of float
        How often each is preferred to the next.
    excess, excess_error : float
        The sum of the win rates less L − 1, the most that a mixture of rankings can have, and its
        standard error with users as clusters.
    """

    items: tuple[str, ...]
    win_rates: tuple[float, ...]
    excess: float
    excess_error: float

    @property
    def beyond_mixtures(self) -> bool:
        """Whether no mixture of rankings has such a circle, by three standard errors."""
        return self._beyond_noise(self.excess)

    def unexplained(self, rates: Sequence[float]) -> bool:
        """Whether a model with these win rates along the circle falls short of it.

        So where no mixture of rankings fits, and where the sum is short by three standard errors.
        """
        short = sum(self.win_rates) - sum(rates)
        return self.beyond_mixtures or self._beyond_noise(short)

    def _beyond_noise(self, difference: float) -> bool:
        """Whether the sum of win rates differs by more than noise, and by more than a trifle."""
        trifle = _TRIFLE * len(self.items)
        return difference > max(BEYOND * self.excess_error, trifle)

    def couples(self) -> list[str]:
        """Each item and the next, as in "tea, milk": what each win rate is about."""
        after = self.items[1:] + self.items[:1]
        return [f"{first}, {second}" for first, second in zip(self.items, after, strict=True)]

    def sentence(self) -> str:
        """Say it in words."""
        names = [printable(item) for item in self.items]
        steps = [
            f"{name!r} over {after!r} ({100 * rate:.0f} of 100)"
            for name, after, rate in zip(names, names[1:] + names[:1], self.win_rates, strict=True)
        ]
        circle = f"Preferences go in a circle: {', '.join(steps)}."
        if self.beyond_mixtures:
            return (
                f"{circle} No ranking fits that and no mixture of rankings does: positions of "
                "these items are not to be relied on, in any component."
            )
        return (
            f"{circle} No one ranking fits that; groups of people with different rankings may "
            "explain it."
        )


def preference_cycle(comparisons: Comparisons) -> PreferenceCycle | None:
    """Find the shortest circle of clear majorities, the clearest of these.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    PreferenceCycle or None
        None where there is no such circle; a false alarm once in 100 times at most.

    Examples
    --------
    >>> import mallowmix as mm
    >>> from mallowmix.checks.preference_cycles import preference_cycle
    >>> rows = [(n, *pair) for n in range(40) for pair in (("a", "b"), ("b", "c"), ("c", "a"))]
    >>> preference_cycle(mm.read_comparisons(rows)).items
    ('a', 'b', 'c')
    """
    Q = comparisons.n_items
    if not 3 <= Q <= _MOST_ITEMS or not len(comparisons):
        return None
    low, high, z = _majorities(comparisons)
    clear = np.abs(z) > math.sqrt(2 * math.log(Q * (Q - 1) / FALSE_ALARM))
    winner, loser = np.where(z > 0, low, high)[clear], np.where(z > 0, high, low)[clear]
    found = _shortest_cycle(winner, loser, np.abs(z[clear]), Q)
    return None if found is None else _measured(found, comparisons)


def cycle_in_memory(comparisons: object) -> PreferenceCycle | None:
    """The same of `Comparisons`; None of those on disk, where no circles are looked for.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
    """
    return preference_cycle(comparisons) if isinstance(comparisons, Comparisons) else None


def circle_excess(cycle: PreferenceCycle | None) -> float | None:
    """By how much a circle passes what mixtures of rankings can have; None where none does."""
    return cycle.excess if cycle is not None and cycle.beyond_mixtures else None


def rates_along(cycle: PreferenceCycle, model: AnyModel) -> tuple[float, ...]:
    """A model's win rates in the population, along a circle of its items."""
    rates, number = np.einsum("k,kij->ij", model.share, model.beta()), text_of(model.items).index
    at = [number(item) for item in cycle.items]
    return tuple(float(rates[i, j]) for i, j in zip(at, at[1:] + at[:1], strict=True))


def _majorities(
    comparisons: Comparisons,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Of each compared pair: its items, and z, above 0 where the first is preferred."""
    Q = comparisons.n_items
    rows = comparisons.winner, comparisons.loser, comparisons.weight
    total, square = _sums_of_pairs(comparisons.starts(), *rows, comparisons.user_weight, Q)
    pairs = np.flatnonzero(square > 0)
    return *np.divmod(pairs, Q), total[pairs] / np.sqrt(square[pairs])


@compiled
def _sums_of_pairs(starts, winner, loser, weight, user_weight, Q):
    """Σ_m u_m d_m and Σ_m u_m² d_m² of each pair, the lower-numbered item first."""
    total, square, net = zeros(Q * Q), zeros(Q * Q), zeros(Q * Q)
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            i, j, u = np.int64(winner[row]), np.int64(loser[row]), weight[row] * user_weight[m]
            if i < j:
                net[i * Q + j] += u
            else:
                net[j * Q + i] -= u
        for row in range(starts[m], starts[m + 1]):
            i, j = np.int64(winner[row]), np.int64(loser[row])
            pair = min(i, j) * Q + max(i, j)
            total[pair] += net[pair]
            square[pair] += net[pair] * net[pair]
            net[pair] = 0.0  # the pair's other rows add nothing more
    return total, square


@dataclass(frozen=True)
class _Net:
    """Of each user who compared a pair: wins of the lower-numbered item less losses, answers."""

    user: NDArray[np.int64]
    difference: Array
    made: Array


def _net_answers(comparisons: Comparisons, low: int, high: int) -> _Net:
    rows = np.concatenate(
        [_rows_of_pair(comparisons, n, low, high) for n in range(0, len(comparisons), _ROWS)]
    )
    user = comparisons.user[rows].astype(np.int64)
    weight = comparisons.weight[rows] * comparisons.user_weight[user]
    first, won = group_starts(user), comparisons.winner[rows] == low
    sums = [np.add.reduceat(x, first) for x in (np.where(won, weight, -weight), weight)]
    return _Net(user[first], *sums)


def _rows_of_pair(comparisons: Comparisons, first: int, low: int, high: int) -> NDArray[np.int64]:
    """Which of some rows, from the first on, are about these two items."""
    winner, loser = (x[first : first + _ROWS] for x in (comparisons.winner, comparisons.loser))
    found = np.flatnonzero(winner + loser == low + high)
    return first + found[np.minimum(winner[found], loser[found]) == low]


def _shortest_cycle(
    winner: NDArray[np.int64], loser: NDArray[np.int64], z: Array, Q: int
) -> list[int] | None:
    """The items of the shortest circle; of several, the one through the clearest majority."""
    if not len(winner):
        return None
    graph = csr_array((np.ones(len(winner)), (winner, loser)), shape=(Q, Q))
    distance, before = shortest_path(graph, unweighted=True, return_predecessors=True)
    back = distance[loser, winner]  # from the loser to the winner, along majorities
    if not np.isfinite(back).any():
        return None
    best = int(np.lexsort((-z, back))[0])
    path, at = [], int(winner[best])
    while at != loser[best]:
        path.append(at)
        at = int(before[loser[best], at])
    path.append(at)
    path = path[::-1]  # each is preferred to the next
    first = path.index(min(path))
    return path[first:] + path[:first]


def _measured(cycle: list[int], comparisons: Comparisons) -> PreferenceCycle:
    """Win rates along the circle; the error of their sum, Σ_m (Σ_e (w_me − p_e n_me) / n_e)²."""
    M = comparisons.n_users
    rates, influence = [], np.zeros(M)
    for i, j in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        net = _net_answers(comparisons, min(i, j), max(i, j))
        won = (net.made + (1 if i < j else -1) * net.difference) / 2
        rate = float(won.sum() / net.made.sum())
        rates.append(rate)
        influence += np.bincount(net.user, (won - rate * net.made) / net.made.sum(), M)
    names = text_of(comparisons.items)
    excess, error = sum(rates) - (len(rates) - 1), float(np.sqrt((influence**2).sum()))
    return PreferenceCycle(tuple(names[i] for i in cycle), tuple(rates), excess, error)
