"""Labelled tables out, as the caller's kind of dataframe: pandas, polars, Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from mallowmix.data.lazy_arrow import LazyModule, pa
from mallowmix.data.optional_packages import optional_package
from mallowmix.errors import OptionError, did_you_choose

nw: Any = LazyModule("narwhals")
_NO_FRAMES = (str, PurePath, list, tuple, dict)  # to ask narwhals about, which must be imported
KINDS = ("pandas", "polars", "pyarrow", "modin", "cudf")


def as_frame(columns: Mapping[str, Any] | pa.Table, like: Any = None) -> Any:
    """A dataframe of these columns.

    Parameters
    ----------
    columns : mapping from name to column, or Arrow table
        The columns.
    like : {"pandas", "polars", "pyarrow", "modin", "cudf"} or a table, optional
        The kind of dataframe wanted, by name or by example; Arrow unless given, and where the kind
        cannot be made from memory (a lazy table, a DuckDB relation).
    """
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    backend = _backend(like)
    if backend == "pyarrow":
        return table
    optional_package(backend, f"A table of {backend}")
    return nw.from_arrow(table, backend=backend).to_native()


class FramedResult(ABC):
    """A result with `columns` that becomes a dataframe of its caller's kind."""

    frame_kind: str | None = None

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The columns of the table, by name."""

    def to_frame(self, like: Any = None) -> Any:
        """The `columns` as a dataframe.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind of table that is wanted; the kind that the comparisons came from unless
            given, and Arrow where that is not known.
        """
        return as_frame(self.columns(), self.frame_kind if like is None else like)


def frame_kind(source: Any) -> str | None:
    """The name of a dataframe's kind; None for other objects and kinds that memory cannot make."""
    if isinstance(source, _NO_FRAMES):
        return None
    frame = nw.from_native(source, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    kind = frame.implementation.value
    return kind if kind in KINDS else None


def frame_rows(source: Any) -> Any:
    """The rows of a dataframe, each a tuple; anything else as it is."""
    if isinstance(source, _NO_FRAMES):
        return source
    frame = nw.from_native(source, pass_through=True)
    return frame.rows() if isinstance(frame, nw.DataFrame) else source


def _backend(like: Any) -> Any:
    if like is None:
        return "pyarrow"
    if not isinstance(like, str):
        return frame_kind(like) or "pyarrow"
    if like not in KINDS:
        expected = f"a table, or one of {', '.join(map(repr, KINDS))}"
        near = did_you_choose(like, KINDS).lstrip()
        raise OptionError(option="like", value=like, expected=expected, hint=near or ())
    return like
