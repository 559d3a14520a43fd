"""Labels of users and items, and their numbers.

Labels are numbered in the order of their text, so that the order of rows never matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.lazy_arrow import pa, pc
from mallowmix.errors import DataError

Labels: TypeAlias = NDArray[Any]

_FEW = 150_000  # labels; with fewer, threads cost more than they save (timed on two cores)


def as_column(values: object, name: str) -> pa.ChunkedArray:
    """A sequence of labels as one Arrow column of text, int64 or another plain type.

    Parameters
    ----------
    values : list, NumPy array, Arrow column or column of a dataframe
        The labels. Whole numbers held as floats become integers: that is what a dataframe makes
        of an integer column with a missing value.
    name : str
        The name of the column, for messages.
    """
    column = as_arrow(values, name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if (
        pa.types.is_null(column.type)
        or pa.types.is_large_string(column.type)
        or pa.types.is_string_view(column.type)
    ):
        column = column.cast(pa.string())
    if not (pa.types.is_primitive(column.type) or pa.types.is_string(column.type)):
        raise DataError(
            f"Column {name!r} has the type {column.type}, which cannot name a thing: "
            "give text or numbers."
        )
    return _whole_numbers(column)


def as_arrow(values: object, name: str) -> pa.ChunkedArray:
    """Any one-dimensional sequence as an Arrow column of its own type; NaN counts as missing."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Set | Mapping):
        raise DataError(
            f"Column {name!r} is a {type(values).__name__}, not a column of labels: "
            "give a list or an array."
        )
    if isinstance(values, np.ndarray) and values.dtype.kind == "T":
        values = values.astype(object)  # NumPy's texts of any length, which not every Arrow reads
    try:
        array = pa.array(values, from_pandas=True)
    except KeyError:  # a table: Arrow asks it for its first entry
        raise DataError(
            f"Column {name!r} is a {type(values).__name__}: give one column of it."
        ) from None
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} mixes kinds of values or holds none that can name a thing: {error}."
        ) from None
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Integers of any width as int64, and floats where all are whole; other columns unchanged."""
    if (
        not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type))
        or column.type == pa.int64()
    ):
        return column
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)  # missing
    try:
        return column.cast(pa.int64())  # refuses to lose anything: 1.5, 2**63
    except pa.ArrowInvalid:
        return column


def text_of(labels: Sequence[object] | Labels) -> list[str]:
    """Labels as text: the form in which model files hold them and tables are matched by them."""
    return [str(label) for label in (labels.tolist() if isinstance(labels, np.ndarray) else labels)]


def as_labels(values: Sequence[object] | Labels) -> Labels:
    """Labels as a read-only array: numbers stay numbers, text is held as Python strings."""
    array = np.array(values)
    if array.dtype.kind in "UST":
        array = np.array([str(value) for value in values], dtype=object)
    array.setflags(write=False)
    return array


def check_distinct(labels: Labels, what: str) -> None:
    """Raise a DataError if two labels are the same as text."""
    seen: set[str] = set()
    for text in text_of(labels):
        if text in seen:
            raise DataError(
                f"The {what} labels are not all different as text: {text!r} is there twice. "
                "Give each its own."
            )
        seen.add(text)


def alike(*columns: pa.ChunkedArray) -> tuple[pa.ChunkedArray, ...]:
    """Columns of one type: unchanged, or all as text, so that 7 and "7" are the same label."""
    return (
        columns if len({column.type for column in columns}) == 1 else tuple(map(_as_text, columns))
    )


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_integer(column.type) or pa.types.is_string(column.type):
        return column.cast(pa.string())
    return pa.chunked_array(
        [
            pa.array(
                [None if value is None else str(value) for value in column.to_pylist()], pa.string()
            )
        ]
    )


def encode(*columns: pa.ChunkedArray) -> tuple[list[NDArray[np.int32]], Labels]:
    """Number the labels of some columns together, in the order of their text.

    Parameters
    ----------
    *columns : Arrow columns
        As from `as_column`, without a missing value.

    Returns
    -------
    codes : list of (n,) arrays of int
        The number of each row's label, for each column.
    labels : (L,) array
        The different labels, in the order of their numbers.
    """
    return encode_groups(columns)[0]


def encode_groups(
    *groups: Sequence[pa.ChunkedArray],
) -> list[tuple[list[NDArray[np.int32]], Labels]]:
    """`encode` for several groups of columns, each with its own labels.

    One thread a column, where there are many labels.
    """
    groups = tuple(alike(*group) for group in groups)
    flat = [column for group in groups for column in group]
    if sum(len(column) for column in flat) < _FEW:
        hashed = map(_hashed, flat)
    else:
        with ThreadPoolExecutor(len(flat)) as threads:
            hashed = iter(list(threads.map(_hashed, flat)))
    return [_numbered([next(hashed) for _ in group]) for group in groups]


def _hashed(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[Any]]:
    """The different values of a column, and for each row which of them it is."""
    encoded = column.dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks:
        return pa.array([], column.type), np.zeros(0, np.int32)
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
    return encoded.chunk(0).dictionary, indices.to_numpy()


def _numbered(
    hashed: list[tuple[pa.Array, NDArray[Any]]],
) -> tuple[list[NDArray[np.int32]], Labels]:
    """One numbering for the values of several columns, in the order of their text."""
    together = pa.concat_arrays([values for values, _ in hashed]).dictionary_encode()
    by_text = _text_order(together.dictionary)
    number = np.empty(len(by_text), np.int32)
    number[by_text] = np.arange(len(by_text), dtype=np.int32)
    edges = np.cumsum([len(values) for values, _ in hashed])[:-1]
    # of each column's different values
    numbers = np.split(number[together.indices.to_numpy()], edges)
    codes = [own[indices] for own, (_, indices) in zip(numbers, hashed, strict=True)]
    different = together.dictionary.to_pylist()
    return codes, as_labels([different[number] for number in by_text.tolist()])


def _text_order(dictionary: pa.Array) -> NDArray[np.int64]:
    text = _as_text(pa.chunked_array([dictionary]))
    return pc.sort_indices(text).to_numpy()  # UTF-8 sorts as its code points do
