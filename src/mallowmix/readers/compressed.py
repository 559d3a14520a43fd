"""Text files that may be compressed with gzip (.gz) or zstd (.zst)."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from mallowmix.errors import FileError
from mallowmix.readers.unpacked_limit import LimitedStream

ENDINGS = {".gz": "gzip", ".zst": "zstd"}


def unpacked_name(path: Path) -> str:
    """Return the file's name in lower case, without the ending of its compression."""
    name = path.name.lower()
    return name[: -len(path.suffix)] if path.suffix.lower() in ENDINGS else name


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed while it is read, up to a limit."""
    if path.suffix.lower() not in ENDINGS:
        return path.open("rb")
    unpacked: Any
    if path.suffix.lower() == ".gz":
        unpacked = gzip.open(path, "rb")  # noqa: SIM115
    else:
        _check_frames(path)
        unpacked = pa.input_stream(str(path), compression="zstd")
    return io.BufferedReader(LimitedStream(unpacked, path), 1 << 20)


def check_compressed(path: Path) -> None:
    """Unpack a compressed file once, keeping nothing: it must be whole, and within the limit."""
    if path.suffix.lower() in ENDINGS:
        with decompression_errors(path), open_bytes(path) as file:
            while file.read(1 << 20):
                pass


def _check_frames(path: Path) -> None:
    """Walk over the frames of a zstd file: pyarrow accepts a truncated one without an error."""
    with path.open("rb") as file:
        while magic := file.read(4):
            # a frame that holds nothing for us
            if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:
                _skip(file, int.from_bytes(_taken(file, 4, path), "little"), path)
            elif magic == b"\x28\xb5\x2f\xfd":
                _skip_frame(file, path)
            else:
                raise _cut(path)


def _skip_frame(file: IO[bytes], path: Path) -> None:
    """Skip a descriptor, sizes, blocks up to the last, and perhaps a checksum (RFC 8878, 3.1.1)."""
    descriptor = _taken(file, 1, path)[0]
    single, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    _skip(
        file, (1 - single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[descriptor >> 6], path
    )
    last = 0
    while not last:
        block = int.from_bytes(_taken(file, 3, path), "little")
        last, kind, size = block & 1, block >> 1 & 3, block >> 3
        _skip(file, 1 if kind == 1 else size, path)
    _skip(file, 4 * checksum, path)


def _taken(file: IO[bytes], count: int, path: Path) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise _cut(path)
    return data


def _skip(file: IO[bytes], count: int, path: Path) -> None:
    if count:
        file.seek(count - 1, 1)
        _taken(file, 1, path)


def _cut(path: Path) -> FileError:
    return FileError(
        f"{path} is not a whole zstd file: it is cut short, damaged, or something else."
    )


@contextmanager
def decompression_errors(path: Path) -> Iterator[None]:
    """Turn errors of decompression into a FileError that names the truncated or damaged file."""
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
