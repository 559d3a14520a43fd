"""Components of any form: tables of pairwise probabilities and a Dirichlet prior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels
from mallowmix.model.component_model import ComponentModel


@dataclass(frozen=True, eq=False)
class TableModel(ComponentModel):
    """Components given by β itself, neither Mallows nor Bradley–Terry: those of other systems.

    Parameters
    ----------
    table : (K, Q, Q) array
        table[k, i, j] is the probability that component k prefers i to j.
    alpha : (K,) array
        Dirichlet parameters of Pr(θ).
    items : (Q,) labels
        The items.
    """

    table: NDArray[np.float64]
    alpha: NDArray[np.float64]
    items: Labels

    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) the table."""
        return self.table
