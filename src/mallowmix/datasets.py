"""A small built-in data set: what six hundred people like to eat, drawn from three known tastes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.model.m4 import M4

# Best dish first. The three groups of dishes are in cyclic order: comfort > spicy > fresh,
# spicy > fresh > comfort, fresh > comfort > spicy. So "lasagne over ceviche" is novel for comfort,
# "vindaloo over lasagne" for spicy, "ceviche over vindaloo" for fresh.
_COMFORT = """lasagne, pizza, mac and cheese, goulash, ramen, fish and chips, tacos, jollof rice,
    tom yum, kimchi stew, vindaloo, falafel, summer rolls, tabbouleh, Greek salad, ceviche"""
_SPICY = """vindaloo, kimchi stew, tom yum, tacos, jollof rice, ceviche, summer rolls, falafel,
    tabbouleh, Greek salad, ramen, goulash, pizza, fish and chips, lasagne, mac and cheese"""
_FRESH = """ceviche, tabbouleh, Greek salad, summer rolls, falafel, pizza, ramen, lasagne,
    fish and chips, mac and cheese, goulash, jollof rice, tacos, tom yum, kimchi stew, vindaloo"""

TASTES = {"comfort": _COMFORT, "spicy": _SPICY, "green and fresh": _FRESH}
PHI = (0.25, 0.2, 0.3)
ALPHA = (0.27, 0.2, 0.15)


@dataclass(frozen=True)
class Dishes:
    """A drawn population and the model that it was drawn from.

    Attributes
    ----------
    comparisons : Comparisons
        What the users preferred.
    model : M4
        The model that they were drawn from.
    theta : (M, K) array
        The users' weights.
    tastes : tuple of str
        Names of the components.
    """

    comparisons: Comparisons
    model: M4
    theta: NDArray[np.float64]
    tastes: tuple[str, ...]


def load_dishes(*, seed: int = 0, n_users: int = 600, per_user: int = 40) -> Dishes:
    """Draw comparisons of 16 dishes by users who mix three known tastes.

    Parameters
    ----------
    seed : int
        The same seed gives the same data.
    n_users, per_user : int
        How many users, and how many comparisons each.

    Returns
    -------
    Dishes
        With `comparisons`, and the `model` and weights `theta` that they were drawn from.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.load_dishes(n_users=100).comparisons
    Comparisons(4,000 comparisons of 16 items by 100 users)
    """
    orders = [
        [" ".join(dish.split()) for dish in ranking.split(",")] for ranking in TASTES.values()
    ]
    model = M4.from_orders(orders, PHI, ALPHA)
    sample = model.sample(n_users, per_user, seed=seed)
    return Dishes(sample.comparisons, model, sample.theta, tuple(TASTES))
