"""`make paper`: all experiments of the paper, in pieces of at most an hour, again and again.

A piece is a command `mallowmix reproduce …`, which adds a row to its CSV file when it is computed,
with a record of where it comes from. A piece that is not done after its hour is interrupted (it
writes the record of its rows) and takes its next turn after the others. What was computed is not
computed again, also after a reboot: run the same command. It ends when all is done, when HOURS are
over, or when no piece gets any further.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent.parent
_PIECE_SECONDS, _GRACE_SECONDS = 3600.0, 120.0


class Piece(NamedTuple):
    """Rows of one experiment: its name, and the options that select them."""

    experiment: str
    options: tuple[str, ...] = ()

    def command(self, folder: Path) -> list[str]:
        """What is run."""
        program = [sys.executable, "-m", "mallowmix", "reproduce", self.experiment]
        return [*program, *self.options, "--output", str(folder), "--quiet"]


FULL = (
    Piece("footnote"),
    Piece("fig2"),
    Piece("table1", ("--n-seeds", "3")),
    Piece("recovery"),
    Piece("fig4", ("--system", "one ranking", "--system", "M4", "--system", "TM")),
    Piece("table2"),
    Piece("fig3", ("--n-seeds", "3")),
    Piece("fig4"),
)
QUICK = tuple(
    Piece(name, ("--quick",))
    for name in ("footnote", "fig2", "table1", "fig3", "fig4", "table2", "recovery")
)


def main() -> int:
    """Run what is left, and say what is not done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the quick version of each")
    parser.add_argument("--output", type=Path, help="the folder of the results")
    parser.add_argument("--hours", type=float, default=8.0, help="after which it ends")
    parser.add_argument("--dry-run", action="store_true", help="only print the commands")
    given = parser.parse_args()
    pieces = QUICK if given.quick else FULL
    results = HERE / "benchmarks" / "results"
    folder = given.output or (HERE / "build" / "paper-quick" if given.quick else results)
    if given.dry_run:
        for piece in pieces:
            print(" ".join(piece.command(folder)[2:]))
        return 0
    left = run_pieces(pieces, folder, seconds=given.hours * 3600)
    for piece in left:
        print(f"not done: {piece.experiment} {' '.join(piece.options)}".rstrip())
    return int(bool(left))


def run_pieces(
    pieces: Sequence[Piece],
    folder: Path,
    *,
    seconds: float,
    piece_seconds: float = _PIECE_SECONDS,
    run: Callable[[list[str], float], int | None] | None = None,
) -> list[Piece]:
    """Run pieces in turn until all are done, the time is over, or none gets any further.

    Parameters
    ----------
    pieces : sequence of Piece
        What is to be run.
    folder : Path
        Where the results are.
    seconds, piece_seconds : float
        The time for all, and for a turn of one.
    run : callable, optional
        Runs a command for at most so many seconds: its exit code, or None where it was interrupted.

    Returns
    -------
    list of Piece
        Those that are not done; a piece that fails, or has no new row after its turn, is left.
    """
    run, end = run or run_for, time.monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    waiting, failed = list(pieces), []
    while waiting and (left := end - time.monotonic()) > 0:
        piece = waiting.pop(0)
        before, limit = _n_rows(piece, folder), min(piece_seconds, left)
        code = run(piece.command(folder), limit)
        if code == 0:
            print(f"done: {piece.experiment} {' '.join(piece.options)}".rstrip(), flush=True)
        elif code is None and _n_rows(piece, folder) > before:
            waiting.append(piece)
        else:
            failed.append(piece)
    return [*failed, *waiting]


def run_for(command: list[str], seconds: float) -> int | None:
    """Run a command; after so many seconds it is interrupted, as by Ctrl-C.

    Returns
    -------
    int or None
        Its exit code; None where it was interrupted.
    """
    process = subprocess.Popen(command, cwd=HERE, preexec_fn=_hear_ctrl_c)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None


def _hear_ctrl_c() -> None:
    """What is started in the background (`nohup … &`) ignores Ctrl-C, and so would its pieces."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _n_rows(piece: Piece, folder: Path) -> int:
    file = folder / f"{piece.experiment}.csv"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
