"""Arrow, imported when first used: a model can be read and shown without it."""

import importlib
from typing import TYPE_CHECKING, Any


class LazyModule:
    """A module that is imported when one of its names is first asked for.

    Parameters
    ----------
    name : str
        The module's full name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return a name of the module."""
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LazyModule("pyarrow")
pc: Any = LazyModule("pyarrow.compute")  # its functions are made when it is imported

__all__ = ["LazyModule", "pa", "pc"]
