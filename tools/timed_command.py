"""A command for at most so many seconds: then it is interrupted, as by Ctrl-C."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
_GRACE_SECONDS, _LOOK_SECONDS = 120.0, 0.2
# what is started in the background (`nohup … &`) ignores Ctrl-C, and so would its pieces
_HEAR_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


def run_for(
    command: list[str],
    seconds: float,
    *,
    stop: threading.Event | None = None,
    environment: Mapping[str, str] | None = None,
) -> int | None:
    """Run a command; after so many seconds it is interrupted, as by Ctrl-C.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    seconds : float
        The most it may take.
    stop : threading.Event, optional
        Interrupts it, too, when it is set.
    environment : mapping, optional
        Its environment; this process's unless given.

    Returns
    -------
    int or None
        Its exit code; None where it was interrupted.
    """
    end = time.monotonic() + seconds
    program = [sys.executable, "-S", "-c", _HEAR_CTRL_C, *command]
    # a group of its own: Ctrl-C in a terminal comes once, from here, and not into its record
    process = subprocess.Popen(program, cwd=HERE, env=environment, process_group=0)
    try:
        while (left := end - time.monotonic()) > 0 and not (stop and stop.is_set()):
            try:
                return process.wait(min(_LOOK_SECONDS, left))
            except subprocess.TimeoutExpired:
                pass
    finally:
        if process.poll() is None:
            _interrupt(process)
    return None


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
