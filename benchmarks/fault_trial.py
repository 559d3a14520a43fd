"""A command on small data that is disturbed again and again: what it should write, and what is
left.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mallowmix.model.m4 import M4
from mallowmix.model.model_file import save

BEFORE = b"as it was"
_PATIENCE = 600.0  # seconds for one run


@dataclass(frozen=True)
class Command:
    """A command on `votes.csv` and `model.m4`, and the files that it writes."""

    words: str
    outputs: tuple[str, ...]


COMMANDS = {
    "fit": Command("fit votes.csv -k 2 -o out.m4 -q", ("out.m4",)),
    "fit from disk": Command("fit votes.csv -k 2 --engine disk -o out.m4 -q", ("out.m4",)),
    "update": Command("update model.m4 votes.csv -o out.m4 -q", ("out.m4",)),
    "calibrate": Command("calibrate model.m4 votes.csv -o out.m4 -q", ("out.m4",)),
    "simulate": Command(
        "simulate out.csv --truth out.m4 --weights out.parquet --n-users 500 -q",
        ("out.csv", "out.m4", "out.parquet"),
    ),
    "weights": Command("weights model.m4 votes.csv -o out.csv -q", ("out.csv",)),
    "choose-k": Command("choose-k votes.csv --ks 1,2 -o out.csv -q", ("out.csv",)),
    "intervals": Command(
        "intervals model.m4 votes.csv --n-replicates 20 -o out.csv -q", ("out.csv",)
    ),
    "report": Command("report model.m4 votes.csv -o out.html -q", ("out.html",)),
    **{
        f"convert to {ending}": Command(f"convert votes.csv out.{ending} -q", (f"out.{ending}",))
        for ending in ("csv.zst", "parquet", "sqlite", "duckdb")
    },
}
# the bytes of a DuckDB file differ from run to run; that it opens is checked by size alone
_VARYING = (".duckdb",)


def prepare(folder: Path) -> None:
    """Write small votes and a small model."""
    truth = M4.from_orders(["abcdef", "fedcba"], 0.3, 0.4)
    rows = truth.sample(60, 20, seed=1).comparisons.to_arrow().to_pylist()
    lines = [",".join(str(value) for value in row.values()) for row in rows]
    (folder / "votes.csv").write_text("user,winner,loser,weight\n" + "\n".join(lines) + "\n")
    save(truth, folder / "model.m4")


class Trial:
    """One command in one folder: what it should write, and what it left after a fault."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command, self.folder = command, folder
        prepare(folder)
        self.inputs = self._files(("votes.csv", "model.m4"))
        start = time.monotonic()
        done = self.run()
        self.seconds = time.monotonic() - start
        if done.returncode:
            raise RuntimeError(f"{command.words}: {done.stderr}")
        self.wanted = self._files(command.outputs)
        self.left_by_itself = {file.name for file in folder.iterdir()}

    def _files(self, names: tuple[str, ...]) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in names}

    def arguments(self) -> list[str]:
        """The command as a process."""
        return [sys.executable, "-m", "mallowmix", *self.command.words.split()]

    def run(
        self, arguments: list[str] | None = None, limit: Callable[[], None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            arguments or self.arguments(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_PATIENCE,
            preexec_fn=limit,
        )

    def reset(self) -> None:
        """Leave the inputs, and the outputs as they were before."""
        for file in self.folder.iterdir():
            if file.is_file() and file.name not in self.inputs:
                file.unlink()
        for name in self.command.outputs:
            (self.folder / name).write_bytes(BEFORE)

    def left(self) -> tuple[str, int]:
        """What the outputs are, "old", "new", "some new" or "broken"; and how many other files."""
        kinds = {self._kind(name) for name in self.command.outputs}
        if self._files(tuple(self.inputs)) != self.inputs:
            kinds.add("broken")
        others = {file.name for file in self.folder.iterdir()} - self.left_by_itself
        kind = "broken" if "broken" in kinds else "some new" if len(kinds) > 1 else kinds.pop()
        return kind, len(others)

    def _kind(self, name: str) -> str:
        file = self.folder / name
        data = file.read_bytes() if file.is_file() else b""
        if data == BEFORE:
            return "old"
        same = data == self.wanted[name]
        if name.endswith(_VARYING):
            same = len(data) == len(self.wanted[name])
        return "new" if same else "broken"
