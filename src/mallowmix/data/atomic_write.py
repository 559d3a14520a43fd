"""Write a file whole or not at all: under a temporary name first, then renamed."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mallowmix.errors import FileError

# of the temporary file and of what SQLite and DuckDB put beside it
_ENDINGS = ("", "-journal", "-wal", "-shm", ".wal")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A context with a temporary path to write to, which replaces `path` when the block ends well.

    When it does not (an error, a full disk, Ctrl-C), the temporary file is removed and the file at
    `path` stays as it was::

        with replacing("weights.csv") as temporary:
            table.to_csv(temporary)

    Parameters
    ----------
    path : str or path
        The file to write. Where it is a link, the file that it points to is replaced.

    Yields
    ------
    Path
        The temporary file, empty, in the same folder.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
    with _as_file_error(path):
        mode = _mode_of(target)
        temporary = _create_beside(target)
    try:
        with _as_file_error(path):
            yield temporary
            _flush(temporary, os.O_RDWR)
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(target)
    finally:
        for ending in _ENDINGS:
            with suppress(OSError):
                # gone already where it was renamed
                temporary.with_name(temporary.name + ending).unlink(missing_ok=True)
    with suppress(OSError):
        _flush(target.parent, os.O_RDONLY)


@contextmanager
def _as_file_error(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{os.fspath(path)} cannot be written: {error.strerror or error}."
        ) from None


def _mode_of(target: Path) -> int | None:
    """The permissions of the file to be replaced, which must be a plain file; None without one."""
    if not target.parent.is_dir():
        raise FileError(
            f"{target.name} cannot be written: there is no folder {target.parent}; make it first."
        )
    if target.is_symlink():  # what is left of a link that was followed to its end
        raise FileError(
            f"{target} cannot be written: it is a link that leads to itself; remove it first."
        )
    if not target.exists():
        return None
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if target.is_dir() else "not a plain file"
        raise FileError(f"{target} cannot be written: it is {kind}; give the name of a file.")
    return stat.S_IMODE(status.st_mode)


def _create_beside(target: Path) -> Path:
    """A new, empty, hidden file in the same folder, with the user's usual permissions."""
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    temporary.open("xb").close()
    return temporary


def _flush(path: Path, flags: int) -> None:
    """Have the disk hold what was written: a crash cannot leave an empty file of the new name."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
