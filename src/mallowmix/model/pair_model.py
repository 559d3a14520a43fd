"""Two Protocols: what inference about a user needs of a model, and what predicts for a user."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels
from mallowmix.data.text import a_or_an
from mallowmix.errors import Option, OptionError, Part

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


def check_model(model: object, option: str = "model") -> None:
    """Raise an OptionError unless `model` is a model; a path or comparisons are what one mixes up.

    Parameters
    ----------
    model : object
        What a function was given as a model.
    option : str
        The name of that parameter.
    """
    if hasattr(model, "items") and (hasattr(model, "alpha") or hasattr(model, "predict_proba")):
        return
    kind = type(model).__name__
    first = ", and give it first" if option == "model" else ""
    hint: tuple[Part, ...] = (f"Learn one with mallowmix.fit(comparisons){first}.",)
    if isinstance(model, str | PathLike):
        hint = (f"Load it with mallowmix.load({str(model)!r}).",)
    raise OptionError(
        Option(option),
        f" is {a_or_an(kind)}; it must be a model. ",
        *hint,
        option=option,
        value=kind,
        expected="a model",
        hint=hint,
    )
