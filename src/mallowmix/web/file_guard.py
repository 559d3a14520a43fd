"""The file of votes must stay the one that was opened: what goes into a deleted file is lost.

Another file under the same name has another inode. A file that was emptied, or overwritten with
another one, keeps its inode; but its size and time of change move while this process writes
nothing. Then the file itself is asked: is it whole, and does it have the key that was made with it?
"""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

_log = logging.getLogger("mallowmix.web")
_SECONDS = 2.0  # for a lock, when the file is asked


class VotesGone(Exception):
    """The file of votes, or its write-ahead log, was deleted or replaced."""

    retry_after = 60  # seconds


class _Stamp(NamedTuple):
    """When a file was last changed, and how large it was then."""

    changed: int
    size: int


_Identity = tuple[int, int] | None


class FileGuard:
    """Knows which file was opened, and notices when its name leads to another one, or to none.

    Parameters
    ----------
    path : Path or None
        The file; None where votes are kept by a database server.
    secret : str
        A key in the table `meta` that no other file of votes has.
    """

    def __init__(self, path: Path | None, secret: str = "") -> None:
        self._path, self._secret = path, secret
        self._opened = None if path is None else _identity(path)
        self._log_file: _Identity = None
        # after our last write; None where that is not known
        self._stamp = None if path is None else _stamp(path)
        self._refused: _Stamp | None = None  # of a file that is not ours
        self._writing = 0
        self._lock, self._reported = threading.Lock(), False

    @property
    def intact(self) -> bool:
        """Whether the file is there, and the same."""
        if self._path is None:
            return True
        with self._lock:
            found = (
                _identity(self._path) == self._opened
                and self._log_is_intact(self._path)
                and (self._writing > 0 or self._is_unchanged(self._path))
            )
            if not found and not self._reported:
                _log.error(
                    "%s was deleted or replaced while the server runs. Votes are refused until it "
                    "is back: put it back, or stop the server.",
                    self._path,
                )
            self._reported = not found
        return found

    def check(self) -> None:
        """Raise `VotesGone` unless the file is intact."""
        if not self.intact:
            raise VotesGone

    @contextmanager
    def own_write(self) -> Iterator[None]:
        """What changes the file in the meantime is this process; `VotesGone` if it is not intact.

        The file is looked at before and after. Whoever overwrites it between these two moments is
        noticed only if it has another inode.
        """
        self.check()
        with self._lock:
            self._writing += 1
        try:
            yield
        finally:
            with self._lock:
                self._writing -= 1
                self._stamp = None if self._path is None else _stamp(self._path)
        self.check()

    def forget_log(self) -> None:
        """The connection is closed: its write-ahead log may go with it, into the file."""
        with self._lock:
            self._log_file = self._stamp = None

    def _log_is_intact(self, path: Path) -> bool:
        """The log exists from the first commit until the connection is closed."""
        found = _identity(path.with_name(path.name + "-wal"))
        if self._log_file is None:
            self._log_file = found
        return found == self._log_file

    def _is_unchanged(self, path: Path) -> bool:
        """Whether the file is as we left it, or else ours and whole."""
        now = _stamp(path)
        if now is None or now.size == 0 or now == self._refused:
            return False  # an empty file is not asked: SQLite would delete its log
        if now != self._stamp:
            if not _is_whole(path, self._secret):
                self._refused = now
                return False
            self._stamp, self._refused = now, None
        return True


def _identity(path: Path) -> _Identity:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _Stamp(found.st_mtime_ns, found.st_size)


def _is_whole(path: Path, secret: str) -> bool:
    """Whether the database has our key, and every page that it should have.

    A connection of its own asks: others would answer from their memory.
    """
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_SECONDS)) as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()
            whole = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error:
        return False
    return found == (secret,) and whole == ("ok",)
