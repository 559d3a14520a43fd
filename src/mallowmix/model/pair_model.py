"""Two Protocols: what infers a user's weights needs of a model, and what answers about a user."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels

Pairs: TypeAlias = Iterable[tuple[object, object]]


@runtime_checkable
class PairModel(Protocol):
    """Components as tables of pairwise probabilities, and a Dirichlet prior of users' weights over them."""

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
class PersonPredictor(Protocol):
    """Whatever answers about a person: the probability of any pair, given what the person preferred so far."""

    def predict_proba(self, people: Any, pairs: Pairs) -> NDArray[np.float64]:
        """(people, pairs) the probability that each person prefers the first of each pair to the second.

        Parameters
        ----------
        people : Comparisons
            What is known of each person.
        pairs : iterable of two labels
            What to predict.
        """
        ...
