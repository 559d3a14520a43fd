"""Columns of any form as held-out likelihoods want them: a table of pairwise probabilities, a Dirichlet prior, nothing more."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels
from mallowmix.infer.collapsed_variational import Lens
from mallowmix.model.calibration import Calibration

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AnyColumns:
    """What `completion` and `left_to_right` ask of a model. TM's β, floored or as a regression left it, is no Mallows column."""

    items: Labels
    table: Array  # (K, Q, Q)
    alpha: Array  # (K,)
    calibration: Calibration = field(default_factory=Calibration)
    others: tuple["AnyColumns", ...] = ()

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.alpha)

    @property
    def share(self) -> Array:
        """(K,) α / Σα."""
        return self.alpha / self.alpha.sum()

    def beta(self) -> Array:
        """(K, Q, Q)."""
        return self.table


def any_columns(items: Labels, view: Lens) -> AnyColumns:
    """A peer's fit, which keeps its β as (Q², K)."""
    Q = len(items)
    return AnyColumns(items, view.beta.T.reshape(-1, Q, Q), view.alpha)
