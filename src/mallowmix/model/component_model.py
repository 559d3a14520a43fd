"""What follows from the pairwise probabilities β of components and the prior of users' weights."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels, check_distinct, text_of
from mallowmix.data.row_checks import Policy
from mallowmix.data.text import a_or_an
from mallowmix.errors import DataError, did_you_mean
from mallowmix.model.sampling import Sample, draw_population, pair_distribution
from mallowmix.numerics.compiled import compiled

_ROUNDED = 1e-3  # how far from one the sum of weights may be that were printed with few digits


def weights_array(theta: ArrayLike) -> NDArray[np.float64]:
    """Users' weights as an array; a DataError for anything but numbers."""
    try:
        return np.asarray(theta, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"theta is {a_or_an(type(theta).__name__)}; it must hold users' weights of the "
            "components, as mallowmix.weights gives them."
        ) from None


class ComponentModel(ABC):
    """K components over Q items: whatever has `items`, `alpha` and `beta()`.

    Attributes
    ----------
    items : (Q,) labels
        The items, in the order of their numbers.
    alpha : (K,) array of float
        Parameters of the Dirichlet prior of users' weights.
    """

    items: Labels
    alpha: NDArray[np.float64]

    @abstractmethod
    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) ranking matrix: beta[k, i, j], that component k prefers i to j."""

    @property
    def n_components(self) -> int:
        """K, the number of components."""
        return len(self.alpha)

    @property
    def n_items(self) -> int:
        """Q, the number of items."""
        return len(self.items)

    @property
    def share(self) -> NDArray[np.float64]:
        """(K,) the mean weight of each component in the population, the paper's a."""
        return self.alpha / self.alpha.sum()

    def ranking_matrix(self, mu: ArrayLike | None = None) -> NDArray[np.float64]:
        """(Q², K) the paper's B: μ_ij β_(i,j),k for ordered pairs i·Q + j; each column sums to one.

        Parameters
        ----------
        mu : (Q, Q) array
            How likely each unordered pair is compared, symmetric; uniform unless given.
        """
        K, Q = self.n_components, self.n_items
        compared = np.zeros((Q, Q))
        compared[np.triu_indices(Q, 1)] = pair_distribution(mu, Q)
        B = (compared + compared.T) * self.beta()  # μ_ij = μ_ji, 0 on the diagonal
        return B.reshape(K, Q * Q).T  # (Q², K)

    def probability(self, theta: ArrayLike, winner: object, loser: object) -> NDArray[np.float64]:
        """The probability that users with weights θ prefer `winner` to `loser`: Σ_k θ_k β_(i,j),k.

        Parameters
        ----------
        theta : (K,) or (M, K) array
            Weights, one row a user: at least 0, and each row sums to one.
        winner, loser : labels
            Two items.
        """
        i, j = self.item_number(winner), self.item_number(loser)
        weights = weights_array(theta)
        if weights.shape[-1:] != (self.n_components,):
            raise DataError(
                f"theta has shape {weights.shape}; "
                f"each row must hold {self.n_components} weights, one a component."
            )
        if not (weights >= 0).all() or not np.allclose(weights.sum(axis=-1), 1, atol=_ROUNDED):
            raise DataError(
                f"theta is {weights.tolist() if weights.ndim == 1 else 'not all weights'}: the "
                "weights of a user must be at least 0 and sum to one; divide them by their sum."
            )
        return weights @ self.beta()[:, i, j]

    def item_number(self, label: object) -> int:
        """The number of an item, by its label."""
        try:
            return text_of(self.items).index(str(label))
        except ValueError:
            raise DataError(
                f"The model has no item {label!r}; it has {self.n_items} others."
                f"{did_you_mean(label, text_of(self.items))}"
            ) from None

    def log_likelihood(
        self,
        comparisons: Comparisons,
        theta: ArrayLike,
        *,
        include_mu: bool = False,
        unknown_items: Policy = "error",
    ) -> float:
        """The likelihood: log p(w | θ) = Σ weight · log Σ_k θ_mk β_(w),k.

        Parameters
        ----------
        comparisons : Comparisons
            What users preferred.
        theta : (M, K) array
            Their weights, one row a user.
        include_mu : bool
            Add Σ weight · log μ_ij, the choice of which pairs to compare, with μ estimated from the
            pair counts. It cancels between models and is left out otherwise.
        unknown_items : {"error", "drop"}
            What to do with comparisons of items that the model does not have.
        """
        comparisons = comparisons.with_items(self.items, unknown_items=unknown_items)
        weights = np.ascontiguousarray(theta, np.float64)
        if weights.shape != (comparisons.n_users, self.n_components):
            raise DataError(
                f"theta has shape {weights.shape}; "
                f"it must be {(comparisons.n_users, self.n_components)}, one row a user."
            )
        rows = (comparisons.user, comparisons.winner, comparisons.loser, comparisons.weight)
        value = _log_likelihood(*rows, weights, self.beta())
        return value + (_log_mu(comparisons) if include_mu else 0.0)

    def sample(
        self,
        n_users: int,
        per_user: int | ArrayLike,
        *,
        mu: ArrayLike | None = None,
        prior: str | ArrayLike = "dirichlet",
        seed: int = 0,
    ) -> Sample:
        """Draw users and their comparisons from the model.

        Parameters
        ----------
        n_users : int
            M.
        per_user : int or (M,) array of int
            How many comparisons each user makes.
        mu : (Q, Q) array, optional
            How likely each unordered pair is compared, symmetric; uniform unless given.
        prior : {"dirichlet", "vertices", "logistic-normal"} or (M, K) array
            Where the users' weights come from: Dirichlet(alpha); one component each (the mixture
            of Mallows models); softmax of normals with mean log alpha and variance 1; or the
            weights themselves.
        seed : int
            The same seed gives the same sample.

        Returns
        -------
        Sample
            The fields `comparisons` and `theta`, (M, K).
        """
        return draw_population(
            self.beta(), self.alpha, self.items, n_users, per_user, mu=mu, prior=prior, seed=seed
        )


def checked_prior(alpha: Any, n_components: int) -> NDArray[np.float64]:
    """α as a frozen (K,) array of finite numbers above 0, whose sum is finite too."""
    array = np.array(alpha, np.float64)
    with np.errstate(over="ignore"):
        finite = np.isfinite(array.sum())
    if array.shape != (n_components,) or not (finite and np.all(array > 0)):
        raise DataError(
            f"alpha must hold {n_components} finite numbers above 0, one a component; "
            f"got {array.tolist()}."
        )
    array.setflags(write=False)
    return array


def checked_items(items: Any, n_items: int) -> Labels:
    """Labels as a frozen (Q,) array, all different."""
    labels = as_labels(items)
    if labels.shape != (n_items,):
        raise DataError(
            f"There are {n_items} items to be named, but items has the shape {labels.shape}."
        )
    check_distinct(labels, "item")
    labels.setflags(write=False)
    return labels


@compiled
def _log_likelihood(user, winner, loser, weight, theta, beta):
    total = 0.0
    for n in range(len(user)):
        p = 0.0
        for k in range(theta.shape[1]):
            p += theta[user[n], k] * beta[k, winner[n], loser[n]]
        total += weight[n] * math.log(p) if p > 0 else -np.inf
    return total


def _log_mu(comparisons: Comparisons) -> float:
    Q = comparisons.n_items
    low = np.minimum(comparisons.winner, comparisons.loser).astype(np.int64)
    high = np.maximum(comparisons.winner, comparisons.loser)
    counts = np.bincount(low * Q + high, comparisons.weight)
    counts = counts[counts > 0]
    return float(counts @ np.log(counts / counts.sum()))
