"""Tables of numbers from a MATLAB file (version 5 to 7); some damaged files crash SciPy's reader.

A file is a header of 128 bytes, then elements: a tag (type, size), then data. Type 15 is a
compressed element, type 14 a variable, which itself consists of elements: flags, shape, name,
numbers (column by column).
"""

import struct
import zlib
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import FileError
from mallowmix.readers.unpacked_limit import most_unpacked, too_large

_VARIABLE, _COMPRESSED = 14, 15
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}


class _Damaged(Exception):
    """The file contradicts itself."""


def read_mat(file: Path, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Read the named variables that are tables of real numbers.

    Parameters
    ----------
    file : Path
        The MATLAB file.
    names : collection of str
        The variables to read; those that are absent are left out.

    Returns
    -------
    dict
        Name to array of shape (rows, columns).
    """
    data = file.read_bytes()
    try:
        order = _byte_order(data)
        elements = _elements(memoryview(data)[128:], order)
        return {
            name: table
            for kind, body in elements
            for name, table in _variables(kind, _unpacked(kind, body, file), order, names)
        }
    except (_Damaged, struct.error, zlib.error, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise FileError(
            f"{file} is not a whole MATLAB file: it is cut short, damaged, or something else "
            f"({reason})."
        ) from None


def _byte_order(data: bytes) -> str:
    mark = data[126:128]
    if mark not in (b"IM", b"MI") or len(data) < 136:
        raise _Damaged("it does not begin as one of version 5 to 7 does")
    return "<" if mark == b"IM" else ">"


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and data of one element after the other; compressed ones are not unpacked yet."""
    offset = 0
    while offset < len(data):
        first, size = struct.unpack(f"{order}II", _taken(data, offset, 8))
        # a small element: type and size share four bytes, up to four of data follow
        if first >> 16:
            yield first & 0xFFFF, _taken(data, offset + 4, min(first >> 16, 4))
            offset += 8
            continue
        yield first, _taken(data, offset + 8, size)
        offset += 8 + (size if first == _COMPRESSED else -(-size // 8) * 8)


def _taken(data: memoryview, start: int, size: int) -> memoryview:
    if start + size > len(data):
        raise _Damaged("it ends before it should")
    return data[start : start + size]


def _unpacked(kind: int, body: memoryview, file: Path) -> memoryview:
    """The element's data; where it is compressed, unpacked up to the limit."""
    if kind != _COMPRESSED:
        return body
    unpacker, most = zlib.decompressobj(), most_unpacked(file)
    data = unpacker.decompress(body, most + 1)
    if len(data) > most:
        raise too_large(file)
    if not unpacker.eof:
        raise _Damaged("a variable is cut short")
    return memoryview(data)


def _variables(
    kind: int, body: memoryview, order: str, names: Collection[str]
) -> Iterator[tuple[str, NDArray[Any]]]:
    if kind == _COMPRESSED:
        for inner, its_body in _elements(body, order):
            if inner != _COMPRESSED:
                yield from _variables(inner, its_body, order, names)
    elif kind == _VARIABLE:
        yield from _table(body, order, names)


def _table(
    body: memoryview, order: str, names: Collection[str]
) -> Iterator[tuple[str, NDArray[Any]]]:
    parts = list(islice(_elements(body, order), 4))  # flags, shape, name, numbers
    if len(parts) < 4:
        return
    (_, shape), (_, name), (kind, data) = parts[1:]
    called = bytes(name).decode("ascii", "replace")
    if called not in names:
        return
    if kind not in _TYPES:
        raise _Damaged(f"{called} is no table of numbers")
    dims = np.frombuffer(shape, f"{order}i4").astype(np.int64)
    values = np.frombuffer(data, f"{order}{_TYPES[kind]}")
    if len(dims) != 2 or np.any(dims < 0) or dims.prod() != len(values):
        raise _Damaged(f"{called} has another shape than it says")
    yield called, values.reshape(dims, order="F")
