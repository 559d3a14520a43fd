"""A limit on what a compressed file may unpack to, checked while it is unpacked.

A file of 200 kB can unpack to many gigabytes. Without a limit of its own, a file may unpack to 100
times its size, and always to 256 MB; files of comparisons stay far below that. The environment
variable MALLOWMIX_MAX_UNPACKED sets another limit, as in 8GB.
"""

import io
import os
from pathlib import Path
from typing import Any

from mallowmix.data.memory_size import as_bytes
from mallowmix.errors import FileError

MAX_UNPACKED = "MALLOWMIX_MAX_UNPACKED"
_RATIO, _ALWAYS = 100, 256 * 10**6


def most_unpacked(path: Path) -> int:
    """Return the bytes that a file may unpack to."""
    named = os.environ.get(MAX_UNPACKED)
    return as_bytes(named, MAX_UNPACKED) if named else max(_RATIO * path.stat().st_size, _ALWAYS)


def check_unpacked(path: Path, n_bytes: int) -> None:
    """Raise a FileError if a file unpacks to more than it may."""
    if n_bytes > most_unpacked(path):
        raise too_large(path)


def too_large(path: Path) -> FileError:
    """Return the error for a file that unpacks to more than it may."""
    size, most = path.stat().st_size, most_unpacked(path)
    return FileError(
        f"{path} has {size:,} bytes and unpacks to more than {most:,}: if that is right, allow "
        f"more with {MAX_UNPACKED}=8GB (or more) in the environment."
    )


class LimitedStream(io.RawIOBase):
    """The unpacked bytes of a file; a FileError after the last one that is allowed."""

    def __init__(self, stream: Any, path: Path) -> None:
        super().__init__()
        self._stream, self._path, self._left = stream, path, most_unpacked(path)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack into a buffer; return how many bytes were unpacked."""
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise too_large(self._path)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()
