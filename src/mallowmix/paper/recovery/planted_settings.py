"""The populations of the recovery table, and the error that the default method must not exceed."""

from dataclasses import dataclass

import numpy as np

from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.planted_population import planted_model


@dataclass(frozen=True)
class PlantedSetting:
    """A population to draw.

    Parameters
    ----------
    n_users : int
        M.
    phi : float
        The dispersion of all components.
    target : float, optional
        The mean error (fraction of discordant pairs) that the default method must not exceed.
    n_items, n_components, per_user : int
        Q, K and N.
    alpha : float
        The Dirichlet parameter of every component.
    goal : float, optional
        The error to reach; unless given, one that comes from the oracle's.
    """

    n_users: int = 3000
    phi: float = 0.5
    target: float | None = None
    n_items: int = 100
    n_components: int = 10
    per_user: int = 300
    alpha: float = 0.1
    goal: float | None = None

    @property
    def name(self) -> str:
        """All its numbers, in the paper's letters."""
        sizes = f"Q={self.n_items} K={self.n_components} N={self.per_user} M={self.n_users}"
        return f"{sizes} phi={self.phi:g} alpha={self.alpha:g}"

    @property
    def words(self) -> str:
        """What differs from the usual setting, in the paper's letters, then M and φ."""
        usual = PlantedSetting()
        sizes = [
            f"{letter} = {getattr(self, name):g}"
            for letter, name in (("K", "n_components"), ("Q", "n_items"), ("N", "per_user"))
            if getattr(self, name) != getattr(usual, name)
        ]
        alpha = [f"α = {self.alpha:g} each"] if self.alpha != usual.alpha else []
        return ", ".join([*sizes, *alpha, f"M = {self.n_users:,}", f"φ = {self.phi:g}"])

    def model(self, seed: int) -> M4:
        """A model with uniformly drawn reference rankings."""
        rows = np.tile(np.arange(self.n_items, dtype=np.int32), (self.n_components, 1))
        sigma = generator(seed, Step.RECOVERY).permuted(rows, axis=1)
        return planted_model(sigma, self.phi, self.alpha)


PLANTED_SETTINGS = (
    PlantedSetting(1000, 0.0, 0.001),
    PlantedSetting(1000, 0.2, 0.003),
    PlantedSetting(1000, 0.5, 0.006),
    PlantedSetting(1000, 0.8, 0.016),
    PlantedSetting(3000, 0.2, 0.0002),
    PlantedSetting(3000, 0.5, 0.0016),
    PlantedSetting(3000, 0.8, 0.008),
    PlantedSetting(10_000, 0.5, 0.0002),
    PlantedSetting(3000, 0.5, 0.007, n_components=20),
    PlantedSetting(3000, 0.5, 0.0005, n_items=30),
    PlantedSetting(3000, 0.5, 0.014, alpha=1.0, goal=0.0059),
    PlantedSetting(10_000, 0.5, 0.004, per_user=50),
    PlantedSetting(100_000, 0.5, 0.004, per_user=10, goal=0.002),
)
