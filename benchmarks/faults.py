"""Commands that are killed, or run out of disk, memory or permission: what is left behind.

python -m benchmarks.faults [--kills 100] [--only NAME ...]   writes benchmarks/results/faults.json

Each command runs on small data, first undisturbed: what it writes then is what it must write
always. Its outputs exist before each run, so that "nothing happened" can be told from "half of it
happened". Then, again and again, forked from a process that has run it once (`fault_process`):

    kill      SIGKILL at random moments, a third of them in the last tenth of the time
    writing   SIGKILL at each step of writing: before and after each flush and each rename
    disk      a limit on the size of files, up to that of the largest output
    folder    a folder that may not be written to (as another user, where root runs this)
    memory    a limit on memory, none of what the process has being free: from 256 kB more, doubled
              until the command finishes; then others between the last two
    start     a limit on the address space of a process of its own, from 64 MB to 3 GB

After each, every output must be as it was or as it should be, byte by byte, and every input as it
was; a command that was not killed must leave no other file and, where it does not finish, end with
a sentence. `felt` counts the runs with too little memory that did not finish. Where something
else is left (a temporary file after a kill, comparisons sorted on disk after an error), the command
is run once more on it, and must write what it should. The exit code says whether all of that was
so.

A command's counts are a line of build/faults.jsonl: a run that was stopped goes on with the next
command. They are counted anew when the package, the command or the number of kills is another one;
after a change of these files here, remove the lines that it concerns.
"""

import argparse
import hashlib
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.fault_process import Ended, Fault
from benchmarks.fault_trial import COMMANDS, Trial
from benchmarks.record import RESULTS, about, save
from mallowmix.paper.provenance import run_record

_HERE = Path(__file__).resolve().parent.parent
ROWS = _HERE / "build" / "faults.jsonl"
_LEAST_MEMORY, _MOST_MEMORY = 2**18, 2**31
_LEAST_SPACE, _MOST_SPACE = 2**26, 3 * 2**30
_LATE = 60.0  # seconds after which a process without memory, which may wait for ever, is killed


class Outcome(NamedTuple):
    """What a fault left: the outputs, other files, and whether the command ended as it should."""

    left: str
    others: int
    as_it_should: bool
    waited: bool = False  # for ever
    felt: bool = False  # a limit of memory


# ---- the faults ----


def kills(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """SIGKILL at random moments."""
    for n in range(times):
        low = 0.9 if n % 3 == 0 else 0.0
        trial.run(Fault(kill_after=chance.uniform(low, 1.05) * trial.seconds))
        yield Outcome(*trial.left(), trial.next_run_is_none_the_worse())


def writing(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """SIGKILL at each step of writing, until there are no more steps."""
    step, killed = 0, True
    while killed and step < max(times, 8):
        step += 1
        killed = trial.run(Fault(kill_at_step=step)).killed
        yield Outcome(*trial.left(), trial.next_run_is_none_the_worse())


def disk(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """Files may only have so many bytes."""
    largest = max(len(data) for data in trial.wanted.values())
    for _ in range(max(1, times // 10)):
        ended = trial.run(Fault(most_file_bytes=chance.randrange(1, largest)))
        said = ended.code == 0 or is_sentence(ended)
        yield Outcome(*trial.left(), said and trial.next_run_is_none_the_worse())


def memory(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """There is only so much memory."""

    def run(more: int) -> Outcome:
        return _limited(trial, trial.run(Fault(kill_after=_LATE, more_memory=more)))

    more, felt = _LEAST_MEMORY // 2, True
    while felt and more < _MOST_MEMORY:
        more *= 2
        yield (outcome := run(more))
        felt = outcome.felt
    for _ in range(max(1, times // 10)):
        yield run(chance.randrange(more // 2, more))


def start(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """A process may only have so much address space from its start."""
    n_runs = max(1, times // 10)
    step = (_MOST_SPACE - _LEAST_SPACE) / n_runs
    for n in range(n_runs):
        most = int(_LEAST_SPACE + (n + chance.random()) * step)
        yield _limited(trial, trial.run_from_start(most, _LATE))


def _limited(trial: Trial, ended: Ended) -> Outcome:
    said = ended.code == 0 or is_sentence(ended)
    if not said:
        print(f"{trial.command.words}: {ended}", file=sys.stderr)
    left = trial.left()
    as_it_should = said and trial.next_run_is_none_the_worse()
    return Outcome(*left, as_it_should, ended.killed, ended.code != 0)


def folder(trial: Trial, times: int, chance: random.Random) -> Iterator[Outcome]:
    """The folder may not be written to."""
    trial.reset()
    with read_only(trial.folder):
        ended = trial.run(Fault(as_nobody=True), anew=False)
    yield Outcome(*trial.left(), is_sentence(ended))


FAULTS = {
    "kill": kills,
    "writing": writing,
    "disk": disk,
    "folder": folder,
    "memory": memory,
    "start": start,
}


def is_sentence(ended: Ended) -> bool:
    """Whether a run failed with one sentence."""
    said = [line for line in ended.said.splitlines() if not line.startswith("Note: ")]
    return ended.code == 1 and len(said) == 1 and said[0].startswith("Error: ")


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """A folder in which no file can be made, for a while, nor in those inside it."""
    modes = {each: each.stat().st_mode for each in (path, *path.rglob("*")) if each.is_dir()}
    for each in modes:
        each.chmod(0o555)
    try:
        yield
    finally:
        for each, mode in modes.items():
            each.chmod(mode)


def tally(fault: str, outcomes: Iterator[Outcome]) -> dict[str, Any]:
    """Count outcomes; `wrong` counts what must never be."""
    left: Counter[str] = Counter()
    other_files = wrong = n_waited = n_felt = 0
    for kind, others, as_it_should, waited, felt in outcomes:
        left[kind] += 1
        n_waited += waited
        n_felt += felt
        killed = fault in ("kill", "writing")
        other_files += others > 0
        # files that go together are renamed one after the other: a kill may come between
        partly = kind == "some new" and not killed
        wrong += kind == "broken" or partly or not as_it_should or (others > 0 and not killed)
    return {
        "runs": left.total(),
        "left": dict(left),
        "with_other_files": other_files,
        "waited": n_waited,
        "felt": n_felt,
        "wrong": wrong,
    }


# ---- commands, one after the other ----


def disturbed(name: str, times: int, seed: int = 0) -> dict[str, Any]:
    """Every fault for one command."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        chance = random.Random(f"{seed} {name}")
        with Trial(COMMANDS[name], Path(path)) as trial:
            return {
                fault: tally(fault, make(trial, times, chance)) for fault, make in FAULTS.items()
            }


def run(times: int, names: list[str], rows: Path = ROWS) -> dict[str, Any]:
    """Every fault for every command; what is in the file of rows already is taken from there."""
    known, found = _read_rows(rows), dict[str, Any]()
    for name in names:
        key = _key(name, times)
        if key not in known:
            commit = run_record([], [])["commit"]
            known[key] = {"commit": commit, "faults": disturbed(name, times)}
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "name": name} | known[key]) + "\n")
        found[name] = known[key]
        print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
    return {"about": about(), "kills": times, "total": _total(found), "commands": found}


def _read_rows(rows: Path) -> dict[str, Any]:
    rows.parent.mkdir(parents=True, exist_ok=True)
    text = rows.read_text(encoding="utf-8") if rows.exists() else ""
    text = text[: text.rfind("\n") + 1]  # the last line may be cut
    rows.write_text(text, encoding="utf-8")
    found = map(json.loads, text.splitlines())
    return {row["key"]: {name: row[name] for name in ("commit", "faults")} for row in found}


def _key(name: str, times: int) -> str:
    """What the counts of a command depend on."""
    digest = hashlib.sha256(f"{COMMANDS[name]} {times}".encode())
    for file in sorted((_HERE / "src").rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _total(found: dict[str, Any]) -> dict[str, int]:
    """Runs of each fault, and what was wrong, of all commands."""
    all_faults = [each["faults"] for each in found.values()]
    runs = {fault: sum(each[fault]["runs"] for each in all_faults) for fault in FAULTS}
    counts = [each for faults in all_faults for each in faults.values()]
    names = ("with_other_files", "waited", "felt", "wrong")
    sums = {name: sum(each[name] for each in counts) for name in names}
    return {"commands": len(found), "runs": sum(runs.values()), **runs, **sums}


def main() -> None:
    """Disturb all commands, and keep the counts."""
    parser = argparse.ArgumentParser("python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    names = list(COMMANDS)
    parser.add_argument("--only", nargs="*", default=names, choices=names, help="these alone")
    options = parser.parse_args()
    result = run(options.kills, options.only)
    save("faults", result, RESULTS)
    sys.exit(1 if result["total"]["wrong"] else 0)


if __name__ == "__main__":
    main()
