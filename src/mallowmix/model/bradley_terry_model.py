"""Bradley–Terry components: a score for every item in place of a ranking and a dispersion."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, text_of
from mallowmix.errors import DataError
from mallowmix.model.component_model import ComponentModel, checked_items, checked_prior
from mallowmix.model.permutations import sigma_of


@dataclass(frozen=True, eq=False)
class BradleyTerryModel(ComponentModel):
    """K Bradley–Terry components, β_(i,j),k = 1 / (1 + exp(s_kj − s_ki)), and a Dirichlet prior.

    Parameters
    ----------
    scores : (K, Q) array of float
        Log-odds scores: the larger, the better.
    alpha : (K,) array of float
        Parameters of the Dirichlet prior of users' weights θ.
    items : (Q,) labels
        The items, in the order of their numbers.

    Examples
    --------
    >>> import mallowmix as mm
    >>> model = mm.BradleyTerryModel([[0.0, 1.0, 2.0]], [1.0], ["milk", "tea", "water"])
    >>> float(model.probability([1.0], "tea", "milk").round(3))
    0.731
    """

    scores: NDArray[np.float64]
    alpha: NDArray[np.float64]
    items: Labels

    def __post_init__(self) -> None:
        scores = np.atleast_2d(np.array(self.scores, np.float64))
        if scores.ndim != 2 or not np.all(np.isfinite(scores)):
            raise DataError(
                "scores must hold finite numbers, one row a component; "
                f"got the shape {scores.shape}."
            )
        scores.setflags(write=False)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "alpha", checked_prior(self.alpha, len(scores)))
        object.__setattr__(self, "items", checked_items(self.items, scores.shape[1]))

    @property
    def sigma(self) -> NDArray[np.int32]:
        """(K, Q) positions of the items by score, 0 is best."""
        return sigma_of(np.argsort(-self.scores, axis=1, kind="stable"))

    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) ranking matrix: beta[k, i, j], that component k prefers i to j."""
        from scipy.special import expit  # here, as SciPy is slow to import

        return expit(self.scores[:, :, None] - self.scores[:, None, :])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BradleyTerryModel)
            and text_of(self.items) == text_of(other.items)
            and np.array_equal(self.scores, other.scores)
            and np.array_equal(self.alpha, other.alpha)
        )

    __hash__ = None  # type: ignore[assignment]
