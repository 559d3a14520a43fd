"""What the pages of a Parquet file say that they unpack to, read before anything is unpacked.

The footer of a file may say too little; Arrow believes the header of each page. Footer and headers
are structs in Thrift's compact form: a byte for a field's type and the step from the number of the
field before, then its value; numbers are zigzag, seven bits a byte, the lowest first. Arrow itself
is not asked where columns begin: it ends the process where that part of the footer is damaged.
"""

import os
from collections.abc import Collection, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET = range(1, 11)
_STRUCT = 12
_BITS = {_I16: 16, _I32: 32, _I64: 64}
_DEPTH = 16  # of structs within each other; Parquet has five
_LONGEST = 10  # bytes of a number
_MOST = 1_000_000  # of a list, as in Arrow

# numbers of fields in Parquet's footer, of a column, and of a page
_GROUPS, _COLUMNS, _ABOUT = (4, _LIST), (1, _LIST), (3, _STRUCT)
_N_VALUES, _PACKED_BYTES = (5, _I64), (7, _I64)
_DATA_AT, _LABELS_AT = (9, _I64), (11, _I64)
_UNPACKED, _PACKED = (2, _I32), (3, _I32)
_DATA_PAGES = ((5, _STRUCT), (8, _STRUCT))  # of the first version, and of the second
_PAGE_VALUES = (1, _I32)
_SLACK = 100  # bytes that some writers left out of a column's size; Arrow reads them, too

Fields = dict[tuple[int, int], Any]  # by number and type, as Thrift's own readers look for them


def page_bytes(path: Path, columns: Collection[int]) -> Iterator[int]:
    """Yield the bytes that each page of some columns says that it unpacks to.

    Parameters
    ----------
    path : Path
        A file that has the footer of a Parquet file.
    columns : collection of int
        Numbers of the columns, in the order of the file.

    Raises
    ------
    ValueError
        Where the footer or a page cannot be read.
    """
    with path.open("rb") as file:
        for group in _footer(file).get(_GROUPS, ()):
            for number, column in enumerate(_fields(group).get(_COLUMNS, ())):
                if number in columns:
                    yield from _pages(file, _fields(column).get(_ABOUT, {}))


def _footer(file: BufferedReader) -> Fields:
    end = file.seek(-8, os.SEEK_END)
    length = int.from_bytes(_bytes(file, 4), "little")
    if length > end:
        raise ValueError("its footer is longer than the file")
    file.seek(end - length)
    return _struct(file)


def _pages(file: BufferedReader, about: Fields) -> Iterator[int]:
    at, labels = about.get(_DATA_AT, 0), about.get(_LABELS_AT, 0)
    at = labels if 0 < labels < at else at
    end, left = at + about.get(_PACKED_BYTES, 0) + _SLACK, about.get(_N_VALUES, 0)
    while left > 0 and 0 <= at < end:
        file.seek(at)
        if not file.peek(1):
            return
        header = _struct(file)
        unpacked, packed = header.get(_UNPACKED, -1), header.get(_PACKED, -1)
        if unpacked < 0 or packed < 0:
            raise ValueError("a page has less than no bytes")
        yield unpacked
        at = file.tell() + packed
        left -= sum(header.get(kind, {}).get(_PAGE_VALUES, 0) for kind in _DATA_PAGES)


# ---- Thrift's compact form ----


def _fields(value: Any) -> Fields:
    if not isinstance(value, dict):
        raise ValueError("a list has something else than structs")
    return value


def _struct(file: BufferedReader, depth: int = 0) -> Fields:
    """A struct; of a field that stands twice, the last, as Thrift's own readers have it."""
    if depth > _DEPTH:
        raise ValueError("its structs are too deep")
    fields, number = dict[tuple[int, int], Any](), 0
    while head := _byte(file):
        step, kind = head >> 4, head & 15
        number = number + step if step else _signed(file, 16)
        fields[number, kind] = kind == _TRUE if kind <= _FALSE else _value(file, kind, depth)
    return fields


def _value(file: BufferedReader, kind: int, depth: int) -> Any:
    if kind in _BITS:
        return _signed(file, _BITS[kind])
    if kind in (_BINARY, _DOUBLE):  # not looked at
        return file.seek(8 if kind == _DOUBLE else _varint(file), os.SEEK_CUR)
    if kind == _STRUCT:
        return _struct(file, depth + 1)
    if kind in (_LIST, _SET):
        return _list(file, depth)
    if kind in (_TRUE, _FALSE, _BYTE):  # in a list a truth value takes a byte
        return _byte(file)
    raise ValueError(f"it has a field of an unknown type ({kind})")


def _list(file: BufferedReader, depth: int) -> list[Any]:
    head = _byte(file)
    size = head >> 4 if head >> 4 < 15 else _varint(file)
    if size > _MOST:
        raise ValueError("a list is too long")
    return [_value(file, head & 15, depth + 1) for _ in range(size)]


def _signed(file: BufferedReader, bits: int) -> int:
    value = _varint(file) & ((1 << max(bits, 32)) - 1)  # as in C: what is too long is cut
    return value >> 1 ^ -(value & 1)


def _varint(file: BufferedReader) -> int:
    value = 0
    for n in range(_LONGEST):
        byte = _byte(file)
        value |= (byte & 127) << 7 * n
        if byte < 128:
            return value
    raise ValueError("a number is too long")


def _byte(file: BufferedReader) -> int:
    return _bytes(file, 1)[0]


def _bytes(file: BufferedReader, n: int) -> bytes:
    found = file.read(n)
    if len(found) < n:
        raise ValueError("it ends too early")
    return found
