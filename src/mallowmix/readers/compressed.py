"""Text files that may be compressed: .gz and .zst are unpacked on the way."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from mallowmix.errors import FileError

ENDINGS = {".gz": "gzip", ".zst": "zstd"}


def unpacked_name(path: Path) -> str:
    """The file's name in small letters, without the ending that says how it is compressed."""
    name = path.name.lower()
    return name[: -len(path.suffix)] if path.suffix.lower() in ENDINGS else name


def open_bytes(path: Path) -> IO[bytes]:
    """The file's content, unpacked while it is read."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if path.suffix.lower() == ".zst":
        path.open("rb").close()  # what the operating system refuses, it refuses here
        unpacked: Any = pa.input_stream(str(path), compression="zstd")
        return io.BufferedReader(unpacked, 1 << 20)
    return path.open("rb")


@contextmanager
def whole(path: Path) -> Iterator[None]:
    """A compressed file that is cut short, damaged or something else is said to be so."""
    kind = ENDINGS.get(path.suffix.lower())
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{path} is not a whole gzip file: {error}.") from None
    except OSError as error:
        if kind != "zstd" or error.errno is not None:
            raise
        reason = " ".join(str(error).split()).rstrip(".") or "it cannot be unpacked"
        raise FileError(f"{path} is not a whole zstd file: {reason}.") from None
