"""A command on small data that is disturbed again and again: what it should write, and what is
left.
"""

import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fault_process import Ended, Fault, WarmProcess
from mallowmix.errors import DataError, FileError
from mallowmix.model.m4 import M4
from mallowmix.model.model_file import save
from mallowmix.readers import read

BEFORE = b"as it was"
_INPUTS = ("votes.csv", "model.m4")


@dataclass(frozen=True)
class Command:
    """A command on `votes.csv` and `model.m4`, and the files that it writes.

    `keeps` is a folder that it removes at its end, and that stays after an error, for the next run.
    """

    words: str
    outputs: tuple[str, ...]
    keeps: str = ""


COMMANDS = {
    "fit": Command("fit votes.csv -k 2 -o out.m4 -q", ("out.m4",)),
    "fit from disk": Command(
        "fit votes.csv -k 2 --engine disk -o out.m4 -q", ("out.m4",), keeps="votes.blocks"
    ),
    "update": Command("update model.m4 votes.csv -o out.m4 -q", ("out.m4",)),
    "calibrate": Command("calibrate model.m4 votes.csv -o out.m4 -q", ("out.m4",)),
    "simulate": Command(
        "simulate out.csv --truth out.m4 --weights out.parquet --n-users 500 -q",
        ("out.csv", "out.m4", "out.parquet"),
    ),
    "weights": Command("weights model.m4 votes.csv -o out.csv -q", ("out.csv",)),
    "choose-k": Command(
        "choose-k votes.csv --ks 1,2 --n-folds 2 -o out -q",
        ("out/table.csv", "out/choice.json", "out/choice.png"),
    ),
    "intervals": Command(
        "intervals model.m4 votes.csv --n-replicates 20 -o out.csv -q", ("out.csv",)
    ),
    "sample-posterior": Command(
        "sample-posterior votes.csv -k 2 --n-chains 2 --n-warmup 40 --n-draws 40 -o out.nc -q",
        ("out.nc",),
    ),
    "report": Command("report model.m4 votes.csv -o out.html -q", ("out.html",)),
    **{
        f"convert to {ending}": Command(f"convert votes.csv out.{ending} -q", (f"out.{ending}",))
        for ending in ("csv.zst", "parquet", "sqlite", "duckdb")
    },
}
_VARYING = ".duckdb"  # its bytes differ from run to run: what it holds is compared


def prepare(folder: Path) -> None:
    """Write small votes and a small model."""
    truth = M4.from_orders(["abcdef", "fedcba"], 0.3, 0.4)
    rows = truth.sample(60, 20, seed=1).comparisons.to_arrow().to_pylist()
    lines = [",".join(str(value) for value in row.values()) for row in rows]
    (folder / "votes.csv").write_text("user,winner,loser,weight\n" + "\n".join(lines) + "\n")
    save(truth, folder / "model.m4")


class Trial:
    """One command in one folder: what it should write, and what it left after a fault.

    What it should write is what a process of its own writes; the others are forked from one that
    has run the command already.
    """

    def __init__(self, command: Command, folder: Path) -> None:
        self.command, self.folder = command, folder
        prepare(folder)
        self.inputs = self._bytes(_INPUTS)
        self._words = [sys.executable, "-m", "mallowmix", *command.words.split()]
        subprocess.run(self._words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        self.wanted = self._bytes(command.outputs)
        self._rows = {name: _rows(folder / name) for name in self.wanted if _varies(name)}
        self.left_by_itself = self._names()
        self._process = WarmProcess(command.words, folder)
        ended = self.run()
        if ended.code or self.left() != ("new", 0):
            raise RuntimeError(f"{command.words} is not the same twice: {ended} {self.left()}")
        self.seconds = min(ended.seconds, self.run().seconds)

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.close()

    def run(self, fault: Fault | None = None, anew: bool = True) -> Ended:
        """Run it, disturbed by a fault: from its inputs alone, or on what a run before left."""
        if anew:
            self.reset()
        return self._process.run(fault or Fault())

    def run_from_start(self, most_address_space: int, kill_after: float) -> Ended:
        """Run it from its inputs in a process of its own, with a limit on its address space."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (most_address_space, most_address_space))

        self.reset()
        start = time.monotonic()
        try:
            done = subprocess.run(
                self._words,
                cwd=self.folder,
                preexec_fn=limit,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=kill_after,
            )
        except subprocess.TimeoutExpired:
            return Ended(-signal.SIGKILL, "", kill_after)
        return Ended(done.returncode, done.stderr, time.monotonic() - start)

    def reset(self) -> None:
        """Leave the inputs, and the outputs as they were before."""
        for file in self.folder.iterdir():
            if file.is_dir():
                shutil.rmtree(file)
            elif file.name not in self.inputs:
                file.unlink()
        for name in self.command.outputs:
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(BEFORE)

    def left(self) -> tuple[str, int]:
        """What the outputs are, "old", "new", "some new" or "broken"; and how many other files.

        What the command keeps is none of these.
        """
        kinds = {self._kind(name) for name in self.command.outputs}
        if self._bytes(_INPUTS) != self.inputs:
            kinds.add("broken")
        kept = self.command.keeps
        names = self._names() - self.left_by_itself
        others = {name for name in names if not kept or Path(name).parts[0] != kept}
        kind = "broken" if "broken" in kinds else "some new" if len(kinds) > 1 else kinds.pop()
        return kind, len(others)

    def next_run_is_none_the_worse(self) -> bool:
        """Whether the command, run again where something is left, writes what it should."""
        kept = self.command.keeps
        if not self.left()[1] and not (kept and (self.folder / kept).exists()):
            return True
        return self.run(anew=False).code == 0 and self.left()[0] == "new"

    def _bytes(self, names: tuple[str, ...]) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in names}

    def _names(self) -> set[str]:
        return {str(file.relative_to(self.folder)) for file in self.folder.rglob("*")}

    def _kind(self, name: str) -> str:
        file = self.folder / name
        data = file.read_bytes() if file.is_file() else b""
        if data == BEFORE:
            return "old"
        same = _rows(file) == self._rows[name] if _varies(name) else data == self.wanted[name]
        return "new" if same else "broken"


def _varies(name: str) -> bool:
    return name.endswith(_VARYING)


def _rows(file: Path) -> list[dict[str, object]] | None:
    """The comparisons in a file; None where it cannot be read."""
    try:
        return read(file, query="SELECT * FROM votes").comparisons.to_arrow().to_pylist()
    except (FileError, DataError):
        return None
