"""An ensemble: other fits of the same data, over which predictions are averaged."""

from collections.abc import Iterator
from dataclasses import dataclass

from mallowmix.data.labels import Labels, text_of
from mallowmix.errors import DataError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.m4 import M4


@dataclass(frozen=True)
class Ensemble:
    """Other fits of the same data, over which the predictions of a fitted model are averaged.

    One fit is one of many local optima that are nearly as good. Where the members agree, their
    mean is what each predicts; where they do not, it is less sure.

    Parameters
    ----------
    members : tuple of M4 or BradleyTerryModel
        Models of the same items as the fitted model, which is not among them.

    Examples
    --------
    >>> import mallowmix as mm
    >>> len(mm.Ensemble((mm.random_model(5, 2), mm.random_model(5, 2, seed=1))))
    2
    """

    members: tuple[M4 | BradleyTerryModel, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[M4 | BradleyTerryModel]:
        return iter(self.members)

    def check_items(self, items: Labels) -> None:
        """Raise a DataError unless all members are of these items, in this order."""
        for member in self.members:
            if text_of(member.items) != text_of(items):
                raise DataError(
                    "The members of an ensemble must be of the same items, in the same order."
                )
