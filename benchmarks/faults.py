"""Commands that are killed, or run out of disk, memory or permission: what is left behind.

python -m benchmarks.faults [--kills 100] [--only NAME ...]   writes benchmarks/results/faults.json

Each command runs on small data, first undisturbed: what it writes then is what it must write
always. Its outputs exist before each run, so that "nothing happened" can be told from "half of it
happened". Then, again and again:

    kill      SIGKILL at random moments, a third of them in the last tenth of the time
    writing   SIGKILL at each step of writing: before and after each flush and each rename
    disk      a limit on the size of files, up to that of the largest output
    folder    a folder that may not be written to (as another user, where root runs this)
    memory    a limit on the address space, from what Python alone needs upwards

After each, every output must be as it was or as it should be, byte by byte, and every input as it
was; a command that was not killed must leave no other file and end with a sentence. The exit code
says whether all of that was so.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.fault_trial import COMMANDS, Trial
from benchmarks.record import RESULTS, about, save

_NOBODY = 65534
# kills itself at the n-th step of writing; a step is what happens before or after a call
_STEPS = """
import os, signal, sys
n, calls = int(sys.argv.pop(1)), 0
def step():
    global calls
    calls += 1
    if calls == n:
        os.kill(os.getpid(), signal.SIGKILL)
def around(call):
    def wrapped(*given, **named):
        step()
        answer = call(*given, **named)
        step()
        return answer
    return wrapped
os.fsync, os.replace = around(os.fsync), around(os.replace)
from mallowmix.cli import main
main()
"""


# ---- the faults: each gives (what is left, other files, whether it ended with a sentence) ----

Outcome = tuple[str, int, bool]


def kills(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """SIGKILL at random moments."""
    for n in range(times):
        trial.reset()
        low = 0.9 if n % 3 == 0 else 0.0
        process = subprocess.Popen(
            trial.arguments(),
            cwd=trial.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(low, 1.05) * trial.seconds)
        process.kill()
        process.wait()
        yield *trial.left(), True


def writing(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """SIGKILL at each step of writing, until there are no more steps."""
    code = -signal.SIGKILL
    step = 0
    while code == -signal.SIGKILL and step < max(times, 8):
        step += 1
        trial.reset()
        words = [sys.executable, "-c", _STEPS, str(step), *trial.command.words.split()]
        code = trial.run(words).returncode
        yield *trial.left(), True


def disk(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """Files may only have so many bytes."""
    largest = max(len(data) for data in trial.wanted.values())
    for _ in range(max(1, times // 10)):
        most = chance.randrange(1, largest)
        yield _limited(trial, lambda most=most: _limit(resource.RLIMIT_FSIZE, most))


def memory(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """The address space may only be so large; a library may end the process by itself."""
    for _ in range(max(1, times // 10)):
        most = chance.randrange(300 * 2**20, 2 * 2**30)
        kind, others, _ = _limited(trial, lambda most=most: _limit(resource.RLIMIT_AS, most))
        yield kind, others, True


def folder(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """The folder may not be written to."""
    trial.reset()
    with read_only(trial.folder):
        user = _become_nobody if os.geteuid() == 0 else None
        if not _can_run(trial, user):
            return
        done = trial.run(limit=user)
    yield *trial.left(), _is_sentence(done)


FAULTS = {"kill": kills, "writing": writing, "disk": disk, "folder": folder, "memory": memory}


def _limited(trial: Trial, limit: Callable[[], None]) -> Outcome:
    trial.reset()
    done = trial.run(limit=limit)
    return *trial.left(), done.returncode == 0 or _is_sentence(done)


def _can_run(trial: Trial, user: Callable[[], None] | None) -> bool:
    """Whether this Python can be run as that user at all."""
    try:
        return trial.run([sys.executable, "-c", "import mallowmix.cli"], user).returncode == 0
    except OSError:
        return False


def _is_sentence(done: subprocess.CompletedProcess[str]) -> bool:
    said = [line for line in done.stderr.splitlines() if not line.startswith("Note: ")]
    return done.returncode == 1 and len(said) == 1 and said[0].startswith("Error: ")


def _limit(kind: int, most: int) -> None:
    resource.setrlimit(kind, (most, most))


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """A folder in which no file can be made, for a while."""
    mode = path.stat().st_mode
    path.chmod(0o555)
    try:
        yield
    finally:
        path.chmod(mode)


def tally(fault: str, outcomes: Iterator[Outcome]) -> dict[str, Any]:
    """Count outcomes; `wrong` counts what must never be."""
    left: Counter[str] = Counter()
    other_files = wrong = 0
    for kind, others, sentence in outcomes:
        left[kind] += 1
        killed = fault in ("kill", "writing", "memory")
        other_files += others > 0
        # files that go together are renamed one after the other: a kill may come between
        partly = kind == "some new" and not killed
        wrong += kind == "broken" or partly or not sentence or (others > 0 and not killed)
    return {
        "runs": left.total(),
        "left": dict(left),
        "with_other_files": other_files,
        "wrong": wrong,
    }


def run(times: int, names: list[str], seed: int = 0) -> dict[str, Any]:
    """Every fault for every command."""
    found: dict[str, Any] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as path:
            Path(path).chmod(0o755)
            trial, chance = Trial(COMMANDS[name], Path(path)), random.Random(f"{seed} {name}")
            found[name] = {
                fault: tally(fault, make(trial, times, chance)) for fault, make in FAULTS.items()
            }
        print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
    return {"about": about(), "kills": times, "commands": found}


def main() -> None:
    """Disturb all commands, and keep the counts."""
    parser = argparse.ArgumentParser("python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    names = list(COMMANDS)
    parser.add_argument("--only", nargs="*", default=names, choices=names, help="these alone")
    options = parser.parse_args()
    result = run(options.kills, options.only)
    save("faults", result, RESULTS)
    wrong = [each["wrong"] for faults in result["commands"].values() for each in faults.values()]
    sys.exit(1 if any(wrong) else 0)


if __name__ == "__main__":
    main()
