"""Parquet files whose pages say false sizes: the header of a page, changed byte by byte.

A page begins with Thrift's compact form of three numbers: its kind, its size once unpacked, and its
size in the file. Each is a byte 0x15 and a zigzag number, seven bits a byte, the lowest first.
"""

from pathlib import Path

import pyarrow.parquet as pq

UNPACKED, PACKED = 1, 2  # which of the three numbers
_NUMBER, _LONG = b"\x15", b"\x16"  # the next field of a struct, of 32 and of 64 bits


def number(value: int, length: int = 0) -> bytes:
    """A number in Thrift's compact form, made longer by zeros in front."""
    rest, found = 2 * value if value >= 0 else -2 * value - 1, []
    while rest > 127 or len(found) < length - 1:
        found.append(128 | rest & 127)
        rest >>= 7
    return bytes([*found, rest])


def with_size(path: Path, column: int, which: int, size: int) -> bytes:
    """The bytes of a file whose first page of a column says that it has this size.

    Where the number needs more bytes than the true one, the column must be the last: the footer
    moves, and says that the column is so much longer.
    """
    data, about = path.read_bytes(), pq.read_metadata(path).row_group(0).column(column)
    start = at = about.dictionary_page_offset or about.data_page_offset
    for _ in range(which):
        at = _after(data, at)
    end = _after(data, at)
    new = _NUMBER + number(size, end - at - 1)
    footer = start + about.total_compressed_size
    more = len(new) - (end - at)
    sizes = [about.total_uncompressed_size, about.total_compressed_size]
    old, longer = (b"".join(_LONG + number(each + added) for each in sizes) for added in (0, more))
    assert data[footer:].count(old) == 1 and len(old) == len(longer)
    tail = data[footer:].replace(old, longer) if more else data[footer:]
    return data[:at] + new + data[end:footer] + tail


def with_footer_size(path: Path, size: int) -> bytes:
    """The bytes of a file of one group whose footer says that it unpacks to so many bytes.

    Both the group's size and the columns' own are set.
    """
    data, group = path.read_bytes(), pq.read_metadata(path).row_group(0)
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    footer = data[start:-8]
    columns = [group.column(n).total_uncompressed_size for n in range(group.num_columns)]
    for old in (group.total_byte_size, max(columns)):
        written = _LONG + number(old)
        assert footer.count(written) >= 1
        footer = footer.replace(written, _LONG + number(size))
    return data[:start] + footer + len(footer).to_bytes(4, "little") + data[-4:]


def true_size(path: Path, column: int, which: int) -> int:
    """What the page says before it is changed."""
    data, about = path.read_bytes(), pq.read_metadata(path).row_group(0).column(column)
    at = about.dictionary_page_offset or about.data_page_offset
    for _ in range(which):
        at = _after(data, at)
    seven = [byte & 127 for byte in data[at + 1 : _after(data, at)]]
    return sum(part << 7 * n for n, part in enumerate(seven)) >> 1


def _after(data: bytes, at: int) -> int:
    """Where the number of 32 bits that begins here ends."""
    assert data[at : at + 1] == _NUMBER
    return next(n for n in range(at + 1, at + 7) if data[n] < 128) + 1
