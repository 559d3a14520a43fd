"""A small population with names one can read: what six hundred people like to eat, drawn from three planted tastes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.model.m4 import M4

# Best dish first. The kinds go round in a circle: comfort > spicy > fresh, spicy > fresh > comfort, fresh > comfort > spicy. So
# "lasagne over ceviche" speaks for comfort alone, "vindaloo over lasagne" for spicy alone, "ceviche over vindaloo" for fresh.
_COMFORT = """lasagne, pizza, mac and cheese, goulash, ramen, fish and chips, tacos, jollof rice, tom yum, kimchi stew, vindaloo,
    falafel, summer rolls, tabbouleh, Greek salad, ceviche"""
_SPICY = """vindaloo, kimchi stew, tom yum, tacos, jollof rice, ceviche, summer rolls, falafel, tabbouleh, Greek salad,
    ramen, goulash, pizza, fish and chips, lasagne, mac and cheese"""
_FRESH = """ceviche, tabbouleh, Greek salad, summer rolls, falafel, pizza, ramen, lasagne, fish and chips, mac and cheese,
    goulash, jollof rice, tacos, tom yum, kimchi stew, vindaloo"""

TASTES = {"comfort": _COMFORT, "spicy": _SPICY, "green and fresh": _FRESH}
PHI = (0.25, 0.2, 0.3)
ALPHA = (0.27, 0.2, 0.15)


@dataclass(frozen=True)
class Dishes:
    """A drawn population and what was planted in it: `tastes[k]` names component k of `model`, `theta` has one row a user."""

    comparisons: Comparisons
    model: M4
    theta: NDArray[np.float64]
    tastes: tuple[str, ...]


def load_dishes(*, seed: int = 0, n_users: int = 600, per_user: int = 40) -> Dishes:
    """Comparisons of 16 dishes by people who mix three tastes; drawn afresh from the planted model, the same for the same seed.

    `load_dishes().model` holds the planted tastes, `.comparisons` what the people chose, `.theta` how they mix the tastes.
    """
    orders = [
        [" ".join(dish.split()) for dish in ranking.split(",")] for ranking in TASTES.values()
    ]
    model = M4.from_orders(orders, PHI, ALPHA)
    sample = model.sample(n_users, per_user, seed=seed)
    return Dishes(sample.comparisons, model, sample.theta, tuple(TASTES))
