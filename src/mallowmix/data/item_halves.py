"""Item-disjoint halves: a person's items are dealt in two, and only comparisons within a half are kept.

Comparisons that come from one person's ratings or ranking share items, and so are not independent: tea over milk and milk over
water say that tea is over water. Comparisons from the two halves share no item of the same person.
"""

from dataclasses import replace

import numba as nb
import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.numerics.randomness import as_key, uniforms

_STEP = 25


def item_halves(comparisons: Comparisons, *, seed: int = 0) -> tuple[Comparisons, Comparisons]:
    """Two sets of comparisons of the same people, in which nobody has an item in both; those across the halves are left out.

    Each of a person's items goes to either half with probability ½, by itself: about half of the comparisons remain.
    """
    side = _sides(comparisons.user, comparisons.winner, comparisons.loser, as_key(seed))
    return _rows(comparisons, side == 0), _rows(comparisons, side == 1)


def _rows(comparisons: Comparisons, keep: np.ndarray) -> Comparisons:
    columns = {
        name: getattr(comparisons, name)[keep] for name in ("user", "winner", "loser", "weight")
    }
    return replace(comparisons, **columns)


@nb.njit(cache=True, nogil=True)
def _sides(user, winner, loser, key):
    """Of each row: the half that both its items are in, or −1."""
    side = np.full(len(user), -1, np.int8)
    for row in range(len(user)):
        u, _ = uniforms(key, _STEP, user[row], winner[row], 0)
        v, _ = uniforms(key, _STEP, user[row], loser[row], 0)
        if (u < 0.5) == (v < 0.5):
            side[row] = 0 if u < 0.5 else 1
    return side
