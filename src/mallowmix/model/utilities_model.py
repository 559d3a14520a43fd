"""A mixture of Gaussian utilities: everyone has utilities of their own, around one of K means."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, as_labels
from mallowmix.errors import DataError
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False)
class UtilitiesModel:
    """A mixture of Gaussian utilities, with logistic answers.

    A user holds component k with probability π_k and has utilities u ~ N(s_k, Σ); the user prefers
    i to j with probability 1 / (1 + exp(u_j − u_i)).

    Parameters
    ----------
    means : (K, Q) array
        s, the mean utilities of each component.
    covariance : (Q, Q) array
        Σ, how users differ from the mean of their component. A constant added to all utilities of
        a user changes no answer.
    shares : (K,) array
        π, the probabilities of the components.
    items : sequence
        The labels of the items.

    Examples
    --------
    >>> import numpy as np, mallowmix as mm
    >>> model = mm.UtilitiesModel([[1.0, 0.0, -1.0]], np.eye(3), [1.0], "abc")
    >>> model.population_probabilities().round(2)[0]
    array([0.5 , 0.68, 0.82])
    """

    means: Array
    covariance: Array
    shares: Array
    items: Labels

    def __post_init__(self) -> None:
        labels = as_labels(self.items)
        arrays = {
            name: np.ascontiguousarray(getattr(self, name), np.float64)
            for name in ("means", "covariance", "shares")
        }
        K, Q = len(arrays["shares"]), len(labels)
        shapes = {"means": (K, Q), "covariance": (Q, Q), "shares": (K,)}
        for name, array in arrays.items():
            if array.shape != shapes[name] or not np.isfinite(array).all():
                raise DataError(
                    f"{name} of the utilities must be finite numbers of the shape {shapes[name]}; "
                    f"it has the shape {array.shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "items", labels)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    @property
    def n_items(self) -> int:
        """Q."""
        return len(self.items)

    def pair_variances(self) -> NDArray[np.float64]:
        """(Q, Q) the variance of u_i − u_j among users of one component."""
        variance = np.diag(self.covariance)
        return np.maximum(variance[:, None] + variance[None] - 2 * self.covariance, 0.0)

    def population_probabilities(self) -> NDArray[np.float64]:
        """(Q, Q) the probability that a user at random prefers the row's item to the column's.

        E σ(x) for x ~ N(m, v) is close to σ(m / √(1 + π v / 8)).
        """
        scale = np.sqrt(1 + np.pi / 8 * self.pair_variances())
        gaps = self.means[:, :, None] - self.means[:, None]
        return np.einsum("k,kij->ij", self.shares, 1 / (1 + np.exp(-gaps / scale)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UtilitiesModel) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("means", "covariance", "shares", "items")
        )

    __hash__ = None  # type: ignore[assignment]
