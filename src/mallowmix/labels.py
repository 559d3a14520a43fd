"""Names become numbers here, once: labels are numbered in the order of their text, so the order of rows never matters."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mallowmix.errors import DataError

Labels: TypeAlias = NDArray[Any]


def as_column(values: object, name: str) -> pa.ChunkedArray:
    """Any sequence of labels (list, numpy, Arrow, a dataframe's column) as one Arrow column of a plain type."""
    try:
        column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values, from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"Column {name!r} mixes kinds of values or holds none that can name a thing: {error}.") from None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    if not (pa.types.is_primitive(column.type) or pa.types.is_string(column.type)):
        raise DataError(f"Column {name!r} has the type {column.type}, which cannot name a thing: give text or numbers.")
    return column


def text_of(labels: Sequence[object] | Labels) -> list[str]:
    """Labels as text, the form in which they enter a model file and are compared between tables."""
    return [str(label) for label in (labels.tolist() if isinstance(labels, np.ndarray) else labels)]


def as_labels(values: Sequence[object] | Labels) -> Labels:
    """A list of labels as a read-only array: numbers stay numbers, text is held as Python strings."""
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = np.array([str(value) for value in values], dtype=object)
    array = array.copy()
    array.setflags(write=False)
    return array


def encode(*columns: pa.ChunkedArray) -> tuple[list[NDArray[np.int32]], Labels]:
    """Number the labels of the columns together, in the order of their text. No value may be missing.

    Columns of different types are numbered by their text: 7 and "7" are the same label.
    """
    if len({column.type for column in columns}) > 1:
        columns = tuple(pa.chunked_array([pa.array(text_of(column.to_pylist()), pa.string())]) for column in columns)
    together = pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=columns[0].type)
    encoded = together.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # what combine_chunks gives for no chunk at all, or more than 2 GB of text
        encoded = encoded.unify_dictionaries().combine_chunks()
    by_text = _text_order(encoded.dictionary)
    number = np.empty(len(by_text), np.int32)
    number[by_text] = np.arange(len(by_text), dtype=np.int32)
    codes = number[encoded.indices.to_numpy()]
    labels = as_labels(encoded.dictionary.take(pa.array(by_text)).to_pylist())
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), labels


def _text_order(dictionary: pa.Array) -> NDArray[np.int64]:
    if pa.types.is_integer(dictionary.type) or pa.types.is_string(dictionary.type):
        return pc.sort_indices(dictionary.cast(pa.string())).to_numpy()  # UTF-8 sorts as its code points do
    text = text_of(dictionary.to_pylist())
    return np.array(sorted(range(len(text)), key=text.__getitem__), np.int64)
