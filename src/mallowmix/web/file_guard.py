"""The file of votes must stay the one that was opened: what goes into a deleted file is lost."""

import logging
import threading
from pathlib import Path

_log = logging.getLogger("mallowmix.web")
_Identity = tuple[int, int] | None


class VotesGone(Exception):
    """The file of votes, or its write-ahead log, was deleted or replaced."""

    retry_after = 60  # seconds


class FileGuard:
    """Knows which file was opened, and notices when its name leads to another one, or to none.

    Parameters
    ----------
    path : Path or None
        The file; None where votes are kept by a database server.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._opened = None if path is None else _identity(path)
        self._log_file: _Identity = None
        self._lock, self._reported = threading.Lock(), False

    @property
    def intact(self) -> bool:
        """Whether the file is there, and the same."""
        if self._path is None:
            return True
        with self._lock:
            found = _identity(self._path) == self._opened and self._log_is_intact(self._path)
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

    def forget_log(self) -> None:
        """The connection is closed: its write-ahead log may go with it."""
        with self._lock:
            self._log_file = None

    def _log_is_intact(self, path: Path) -> bool:
        """The log exists from the first commit until the connection is closed."""
        found = _identity(path.with_name(path.name + "-wal"))
        if self._log_file is None:
            self._log_file = found
        return found == self._log_file


def _identity(path: Path) -> _Identity:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
