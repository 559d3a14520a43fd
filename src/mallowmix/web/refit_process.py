"""One run of the process that learns: its request, progress, outcome, and what it said in failing.

A process that takes too long is ended. What it writes to stderr goes to the log and, its end, to
the admin page.
"""

import json
import logging
import subprocess
import tempfile
import threading
from collections.abc import Callable
from typing import IO, Any

from mallowmix.engine.isolated_python import isolated_command

_log = logging.getLogger("mallowmix.web")
_TAIL = 4_000  # characters of its last words
WORKER = "mallowmix.web.worker"


class RefitFailed(Exception):
    """The process ended without a model; `details` is the end of what it wrote to stderr."""

    def __init__(self, reason: str, details: str = "") -> None:
        super().__init__(reason)
        self.details = details


class RefitProcess:
    """A process that learns once.

    Parameters
    ----------
    request : dict
        What the process reads from stdin: never an argument, since it may hold a password.
    seconds : float
        How long it may run; 0 sets no limit.
    module : str
        What it runs.
    """

    def __init__(self, request: dict[str, Any], seconds: float, module: str = WORKER) -> None:
        self.request, self.seconds, self.module = request, seconds, module
        self._process: subprocess.Popen[str] | None = None
        self._late, self._ended = False, False

    def end(self) -> None:
        """Give it up."""
        self._ended = True
        if self._process is not None:
            self._process.kill()

    def run(self, progress: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Return the outcome; `RefitFailed` says why there is none."""
        with tempfile.TemporaryFile("w+", errors="replace") as words:
            outcome = self._run(progress, words)
            details = _tail(words)
        if outcome is not None and "failed" not in outcome:
            return outcome
        if self._late:
            minutes = self.seconds / 60
            reason = f"The process that learns was ended: it ran longer than {minutes:g} minutes."
        elif outcome is None:
            reason = "The process that learns ended without an answer."
        else:
            reason = outcome["failed"]
        if not self._ended:
            _log.error("A refit failed. %s%s", reason, f"\n{details}" if details else "")
        raise RefitFailed(reason, details)

    def _run(
        self, progress: Callable[[dict[str, Any]], None], words: IO[str]
    ) -> dict[str, Any] | None:
        command = isolated_command(self.module)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, text=True, stderr=words, **pipes) as process:
            self._process = process
            limit = threading.Timer(self.seconds, self._end_late)
            limit.daemon = True
            if self.seconds > 0:
                limit.start()
            try:
                if self._ended:  # given up before it began
                    process.kill()
                return _talk(process, self.request, progress)
            finally:
                limit.cancel()
                process.kill()

    def _end_late(self) -> None:
        self._late = True
        if self._process is not None:
            self._process.kill()


def _talk(
    process: "subprocess.Popen[str]",
    request: dict[str, Any],
    progress: Callable[[dict[str, Any]], None],
) -> dict[str, Any] | None:
    """Hand over the request and read lines until the outcome; None where there was none."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.close()
    except BrokenPipeError:  # it has ended already: its last words say why
        return None
    for line in process.stdout:
        message = json.loads(line)
        if "step" not in message:
            return message
        progress(message)
    return None


def _tail(words: IO[str]) -> str:
    words.seek(0)
    return words.read()[-_TAIL:].strip()
