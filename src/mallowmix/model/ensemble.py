"""An ensemble: further fits of the same data, over which predictions are averaged."""

from collections.abc import Iterator
from dataclasses import dataclass

from mallowmix.data.labels import Labels, text_of
from mallowmix.errors import DataError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.m4 import M4


@dataclass(frozen=True)
class Ensemble:
    """The members beside the first model: each an `M4` or a `BradleyTerryModel` of the same items.

    One fit is one of many local optima that are nearly as good. Where the members agree, their mean is what
    each says; where they do not, it is less sure.
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
