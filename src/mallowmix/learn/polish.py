"""Insertion search on the direct likelihood: where EM locks in, since expected counts favour the current σ, this goes on."""

from collections.abc import Iterable
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import LocalEngine
from mallowmix.learn.mstep import Columns, peak
from mallowmix.learn.tables import Tables, by_gap, gap_sums, likelihood, likelihood_by_phi
from mallowmix.rankings import order_of, sigma_of

Array = NDArray[np.float64]
_GIVE_UP = 60.0  # stop carrying an item on once it has lost this much log-likelihood


def polish_columns(
    tables: Tables, columns: Columns, *, which: Iterable[int] | None = None, engine: LocalEngine | None = None
) -> Columns:
    """New columns from the (K, P, nodes) tables of `learn.tables`: σ_k by insertion, then φ_k, for all components or for some.

    Neither step lowers the tabulated likelihood of its component.
    """
    chosen = list(range(len(tables)) if which is None else which)
    _, moved = (engine or LocalEngine(1)).reduce(_polish, chosen, (tables, columns))
    sigma, phi = columns.sigma.copy(), columns.phi.copy()
    for k, (sigma_k, phi_k) in zip(chosen, moved, strict=True):
        sigma[k], phi[k] = sigma_k, phi_k
    return Columns(sigma, phi)


def _polish(k: int, broadcast: tuple[Tables, Columns], state: Any) -> tuple[None, tuple[NDArray[np.int32], float]]:
    table, old, phi = broadcast[0][k], broadcast[1].sigma[k], float(broadcast[1].phi[k])
    new = sigma_of(insert_by_gap(by_gap(table, len(old), phi), order_of(old)))
    before, after = gap_sums(table, old), gap_sums(table, new)
    sigma, sums = (new, after) if likelihood(after, phi) >= likelihood(before, phi) else (old, before)  # gains were float32
    guess = direct_phi(sums)  # between grid points a guess: taken where it is no worse than the old
    return None, (sigma, guess if likelihood(sums, guess) >= likelihood(sums, phi) else phi)


def direct_phi(sums: Array) -> float:
    """The φ that maximises the tabulated likelihood: the best of a grid, then the peak of the parabola through its neighbours."""
    return peak(*likelihood_by_phi(sums))


def insert_by_gap(values: NDArray[Any], order: NDArray[np.int32]) -> NDArray[np.int32]:
    """Move single items to their best place until no move helps; `values[i, j, D+g]` is gained when j is placed g below i.

    A place that can only be reached through a loss of more than 60 in log-likelihood is not tried.
    """
    return _insert_by_gap(np.ascontiguousarray(values), np.array(order, np.int32))


@nb.njit(cache=True, nogil=True)
def _swap_gain(values, order, r, D):
    """What exchanging the neighbours in places r and r+1 gains: only their own gaps to the others change."""
    a, b = order[r], order[r + 1]
    gain = values[b, a, D + 1] - values[a, b, D + 1]
    for s in range(len(order)):
        if s == r or s == r + 1:
            continue
        other = order[s]
        was_a, was_b = min(max(s - r, -D), D), min(max(s - r - 1, -D), D)
        gain += values[a, other, D + was_b] - values[a, other, D + was_a]  # a goes down to r+1
        gain += values[b, other, D + was_a] - values[b, other, D + was_b]  # b comes up to r
    return gain


@nb.njit(cache=True, nogil=True)
def _insert_by_gap(values, order):
    Q = len(order)
    D = (values.shape[2] - 1) // 2
    moved = True
    for _ in range(100):
        if not moved:
            break
        moved = False
        for item in range(Q):
            place = 0
            while order[place] != item:
                place += 1
            best_gain, best_place = 1e-7, place
            for direction in (-1, 1):
                trial = order.copy()
                gain, r = 0.0, place
                while 0 <= r + direction < Q and gain > best_gain - _GIVE_UP:
                    upper = min(r, r + direction)
                    gain += _swap_gain(values, trial, upper, D)
                    trial[upper], trial[upper + 1] = trial[upper + 1], trial[upper]
                    r += direction
                    if gain > best_gain:
                        best_gain, best_place = gain, r
            if best_place != place:
                step = 1 if best_place > place else -1
                for r in range(place, best_place, step):
                    order[r] = order[r + step]
                order[best_place] = item
                moved = True
    return order
