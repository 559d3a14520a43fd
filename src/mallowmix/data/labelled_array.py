"""Results with labels: an array with the labels of its rows and columns, and tables of it."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mallowmix.data.frames import FramedResult
from mallowmix.typing import Array


class LabelledArray(FramedResult, NDArrayOperatorsMixin):
    """The base of results about users: the numbers in `values`, their labels beside them.

    It can be used wherever an array can (indexing, arithmetic, NumPy's functions, the methods of an
    array); the result of that is a plain array. `to_frame` gives the numbers with their labels as a
    table of the caller's kind.
    """

    @property
    @abstractmethod
    def values(self) -> Array:
        """The numbers."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The columns of the table, by name."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self.values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = (each.values if isinstance(each, LabelledArray) else each for each in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.values, name)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)
