"""Labelled tables out, in the caller's kind: pandas, polars, Arrow, whatever narwhals knows."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from mallowmix.errors import DataError, OptionError


def as_frame(columns: Mapping[str, Any] | pa.Table, like: Any = None) -> Any:
    """A table of these columns: Arrow, or the kind that `like` names ("pandas", "polars") or is.

    A lazy table, or one that cannot be made from memory (a DuckDB relation), is answered with an Arrow table.
    """
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    backend = _backend(like)
    return table if backend == "pyarrow" else nw.from_arrow(table, backend=backend).to_native()


def _backend(like: Any) -> Any:
    if like is None:
        return "pyarrow"
    if isinstance(like, str):
        if like not in ("pandas", "polars", "pyarrow", "modin", "cudf"):
            raise OptionError(
                option="like",
                value=like,
                expected="a table, or one of 'pandas', 'polars', 'pyarrow', 'modin', 'cudf'",
            )
        return like
    frame = nw.from_native(like, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return "pyarrow"
    kind = frame.implementation.value
    return kind if kind in ("pandas", "polars", "modin", "cudf") else "pyarrow"


def weights_frame(users: Any, theta: ArrayLike, like: Any = None) -> Any:
    """user, component_1, …, component_K: everybody's weights with their labels.

    users : the people in the order of theta's rows: labels, or the `Comparisons` that theta was found from
    like : "pandas", "polars", "pyarrow", or a table of that kind
    """
    names, values = _labels(users), np.asarray(theta)
    if values.ndim != 2 or len(values) != len(names):
        raise DataError(
            f"theta has the shape {values.shape} for {len(names)} users; it must have a row each."
        )
    return as_frame(
        {"user": names} | {f"component_{k + 1}": values[:, k] for k in range(values.shape[1])}, like
    )


def predictions_frame(
    users: Any, pairs: Sequence[tuple[Any, Any]], probability: ArrayLike, like: Any = None
) -> Any:
    """user, first, second, probability: a row for each person and pair, people first, from what `predict` gives.

    users, like : as for `weights_frame`; pairs and probability : what was asked of `predict`, and its answer (users, pairs)
    """
    names, values = _labels(users), np.asarray(probability)
    if values.shape != (len(names), len(pairs)):
        raise DataError(
            f"probability has the shape {values.shape} for {len(names)} users and {len(pairs)} pairs."
        )
    who = pa.array(names).take(pa.array(np.repeat(np.arange(len(names)), len(pairs))))
    first, second = (pa.array([pair[side] for pair in pairs] * len(names)) for side in (0, 1))
    return as_frame(
        {"user": who, "first": first, "second": second, "probability": values.ravel()}, like
    )


def _labels(users: Any) -> list[Any]:
    labels = getattr(users, "users", users)
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
