"""A process that has run a command once, from which disturbed runs are forked: they start at once.

A run that is forked has nothing to import or to compile, so that a kill at a random moment comes
while the command works, and a hundred of them take minutes. `WarmProcess` starts the process and
asks it for runs; a request is a line of JSON, and so is the answer.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

_HERE = Path(__file__).resolve().parent.parent
_NOBODY = 65534
_PATIENCE = 600.0  # seconds for one run
_POLL = 0.002  # seconds
_LONGEST = 2**20  # bytes of last words
_LARGEST, _SMALLEST = 24, 9  # powers of two: bytes of the blocks that use up free memory


class Fault(NamedTuple):
    """What disturbs a run; nothing unless given."""

    kill_after: float | None = None  # seconds
    kill_at_step: int | None = None  # of writing: before or after a flush or a rename
    most_file_bytes: int | None = None
    more_memory: int | None = None  # bytes beyond what the process has, none of that being free
    as_nobody: bool = False


class Ended(NamedTuple):
    """How a run ended: its exit code (minus the signal's number), its last words, its time."""

    code: int
    said: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether the run was killed before its end."""
        return self.code == -signal.SIGKILL


class WarmProcess:
    """A process in a folder that has run a command there once."""

    def __init__(self, words: str, folder: Path) -> None:
        given = os.environ.get("PYTHONPATH")
        path = os.pathsep.join([str(_HERE), *([given] if given else [])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fault_process", *words.split()],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, fault: Fault) -> Ended:
        """Fork a run, and wait for its end."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps(fault._asdict()), file=self._process.stdin, flush=True)
        return Ended(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


# ---- inside the process ----


def main(words: list[str]) -> None:
    """Run the command once, then fork a run for every request."""
    import mallowmix.readers  # noqa: F401  # an error imports it; nobody may not read this Python
    from mallowmix.cli import main as command

    with os.fdopen(os.dup(1), "w") as answers:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        sys.argv = ["mallowmix", *words]
        try:
            command()
        except SystemExit as end:
            if end.code:
                raise
        gc.freeze()  # forked processes share what is there
        for line in sys.stdin:
            ended = _forked(command, Fault(**json.loads(line)))
            print(json.dumps(ended._asdict()), file=answers, flush=True)
    os._exit(0)  # DuckDB complains at an orderly end


def _forked(command: Callable[[], Any], fault: Fault) -> Ended:
    # its last words go into a pipe: a file would be cut where the size of files is limited
    said, words = os.pipe()
    os.set_blocking(said, False)
    fcntl.fcntl(words, fcntl.F_SETPIPE_SZ, _LONGEST)
    with os.fdopen(said, "rb") as reader, os.fdopen(words, "wb"):
        start = time.monotonic()
        process = os.fork()
        if process == 0:
            os.dup2(words, 2)
            sys.stderr = os.fdopen(
                2, "w", buffering=1, closefd=False
            )  # the old one may be of a file
            _work(command, fault)
        code = _end_of(process, start + (fault.kill_after or _PATIENCE))
        seconds = time.monotonic() - start
        last_words = reader.read(_LONGEST) or b""
        return Ended(code, last_words.decode(errors="replace"), seconds)


def _work(command: Callable[[], Any], fault: Fault) -> NoReturn:
    """Run the command in this process, and end it without taking the interpreter down in order."""
    _disturb(fault)
    code: Any = 0
    try:
        command()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _end_of(process: int, deadline: float) -> int:
    """Wait for a process, and kill it when its time is over."""
    ended, status = os.waitpid(process, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(_POLL)
        ended, status = os.waitpid(process, os.WNOHANG)
    if not ended:
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def _disturb(fault: Fault) -> None:
    """Have this process suffer a fault."""
    if fault.kill_at_step is not None:
        _kill_at(fault.kill_at_step)
    if fault.most_file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.most_file_bytes, fault.most_file_bytes))
    if fault.as_nobody and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    if fault.more_memory is not None:
        _limit_memory(fault.more_memory)


def _limit_memory(more: int) -> None:
    """Let this process have so many bytes more than it has, and use up those that it has free.

    A process that has run the command once has freed all that the command needs, and would
    otherwise feel no limit.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    most = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmData:"))
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    take = ctypes.CDLL(None).malloc
    take.restype, take.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    for power in range(_LARGEST, _SMALLEST - 1, -1):
        while take(2**power):
            pass
    resource.setrlimit(resource.RLIMIT_DATA, (most + more, resource.RLIM_INFINITY))


def _kill_at(n: int) -> None:
    """Kill this process at the n-th step of writing, counted from one."""
    steps = iter(range(1, n + 1))

    def step() -> None:
        if next(steps, n) == n:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            step()
            answer = call(*given, **named)
            step()
            return answer

        return wrapped

    os.fsync, os.replace, os.rename = around(os.fsync), around(os.replace), around(os.rename)


if __name__ == "__main__":
    main(sys.argv[1:])
