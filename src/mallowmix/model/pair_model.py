"""Two Protocols: what inference about a user needs of a model, and what predicts for a user."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels

Pairs: TypeAlias = Iterable[tuple[object, object]]


@runtime_checkable
class PairModel(Protocol):
    """Components with pairwise probabilities, and a Dirichlet prior of users' weights over them."""

    @property
    def items(self) -> Labels:
        """(Q,) the labels of the items."""
        ...

    @property
    def alpha(self) -> NDArray[np.float64]:
        """(K,) the parameters of the prior."""
        ...

    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) beta[k, i, j] is the probability that component k prefers i to j."""
        ...


@runtime_checkable
class UserPredictor(Protocol):
    """A predictor for users: the probability of any pair, given a user's comparisons so far."""

    def predict_proba(self, people: Any, pairs: Pairs) -> NDArray[np.float64]:
        """(users, pairs) the probability that each user prefers the first of each pair.

        Parameters
        ----------
        people : Comparisons
            The given comparisons of each user.
        pairs : iterable of two labels
            What to predict.
        """
        ...
