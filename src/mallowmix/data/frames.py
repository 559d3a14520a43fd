"""Labelled tables out, in the caller's kind: pandas, polars, Arrow, whatever narwhals knows."""

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import pyarrow as pa

from mallowmix.errors import OptionError

KINDS = ("pandas", "polars", "pyarrow", "modin", "cudf")


def as_frame(columns: Mapping[str, Any] | pa.Table, like: Any = None) -> Any:
    """A table of these columns: Arrow, or the kind that `like` names ("pandas", "polars") or is.

    A lazy table, or one that cannot be made from memory (a DuckDB relation), is answered with an Arrow table.
    """
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    backend = _backend(like)
    return table if backend == "pyarrow" else nw.from_arrow(table, backend=backend).to_native()


def frame_kind(source: Any) -> str | None:
    """The kind of dataframe that something is, by name; None where it is none (or one that cannot be made from memory)."""
    frame = nw.from_native(source, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    kind = frame.implementation.value
    return kind if kind in KINDS else None


def _backend(like: Any) -> Any:
    if like is None:
        return "pyarrow"
    if not isinstance(like, str):
        return frame_kind(like) or "pyarrow"
    if like not in KINDS:
        expected = f"a table, or one of {', '.join(map(repr, KINDS))}"
        raise OptionError(option="like", value=like, expected=expected)
    return like
