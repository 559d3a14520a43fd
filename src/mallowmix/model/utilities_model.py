"""A mixture of Gaussian utilities: everyone has utilities of their own, around one of K means."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, as_labels
from mallowmix.errors import DataError
from mallowmix.typing import Array

_ARRAYS = ("means", "loadings", "variances", "shares")


@dataclass(frozen=True, eq=False)
class UtilitiesModel:
    """A mixture of Gaussian utilities, with logistic answers.

    A user holds component k with probability π_k and has utilities u = s_k + V z + e with factors
    z ~ N(0, I) and e_i ~ N(0, ψ_i); the user prefers i to j with probability
    1 / (1 + exp(u_j − u_i)).

    Parameters
    ----------
    means : (K, Q) array
        s, the mean utilities of each component.
    loadings : (Q, r) array
        V, how the items' utilities go together; r may be 0.
    variances : (Q,) array
        ψ, above 0: how users differ beyond that, item by item.
    shares : (K,) array
        π, the probabilities of the components.
    items : sequence
        The labels of the items.

    Examples
    --------
    >>> import numpy as np, mallowmix as mm
    >>> model = mm.UtilitiesModel([[1.0, 0.0, -1.0]], np.zeros((3, 0)), np.ones(3), [1.0], "abc")
    >>> model.population_probabilities().round(2)[0]
    array([0.5 , 0.68, 0.82])
    """

    means: Array
    loadings: Array
    variances: Array
    shares: Array
    items: Labels

    def __post_init__(self) -> None:
        labels = as_labels(self.items)
        arrays = {name: np.ascontiguousarray(getattr(self, name), np.float64) for name in _ARRAYS}
        K, Q = len(arrays["shares"]), len(labels)
        r = arrays["loadings"].shape[-1]
        shapes = {"means": (K, Q), "loadings": (Q, r), "variances": (Q,), "shares": (K,)}
        for name, array in arrays.items():
            if array.shape != shapes[name] or not np.isfinite(array).all():
                raise DataError(
                    f"{name} of the utilities must be finite numbers of the shape {shapes[name]}; "
                    f"it has the shape {array.shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not (self.variances > 0).all():
            raise DataError("variances of the utilities must be above 0.")
        object.__setattr__(self, "items", labels)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    @property
    def n_factors(self) -> int:
        """The number of factors, r."""
        return self.loadings.shape[1]

    @property
    def n_items(self) -> int:
        """Q."""
        return len(self.items)

    def covariance(self) -> NDArray[np.float64]:
        """(Q, Q) V Vᵀ + Ψ, how users differ from the mean of their component.

        A constant added to all utilities of a user changes no answer.
        """
        return self.loadings @ self.loadings.T + np.diag(self.variances)

    def pair_variances(self) -> NDArray[np.float64]:
        """(Q, Q) the variance of u_i − u_j among users of one component."""
        covariance = self.covariance()
        variance = np.diag(covariance)
        return np.maximum(variance[:, None] + variance[None] - 2 * covariance, 0.0)

    def population_probabilities(self) -> NDArray[np.float64]:
        """(Q, Q) the probability that a user at random prefers the row's item to the column's.

        E σ(x) for x ~ N(m, v) is close to σ(m / √(1 + π v / 8)).
        """
        scale = np.sqrt(1 + np.pi / 8 * self.pair_variances())
        out = np.zeros_like(scale)
        for share, mean in zip(self.shares, self.means, strict=True):
            out += share / (1 + np.exp(-(mean[:, None] - mean) / scale))
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UtilitiesModel) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in (*_ARRAYS, "items")
        )

    __hash__ = None  # type: ignore[assignment]
