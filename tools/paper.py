"""`make paper`: all experiments of the paper, in pieces, again and again.

A piece is a command `mallowmix reproduce …`, which adds a row to its CSV file when it is computed,
with a record of where it comes from. What was computed is not computed again, also after a reboot:
run the same command.

One by one, a piece that is not done after its hour is interrupted (it writes the record of its
rows) and takes its next turn after the others. It ends when all is done, when HOURS are over, or
when no piece gets any further. With N_JOBS, small pieces run side by side, each in a process of one
thread, dearest first; their rows come into the one CSV file as they are computed.
"""

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mallowmix.cli.reproduce import write_report
from mallowmix.paper.registry import EXPERIMENTS
from tools.paper_pieces import FULL, QUICK, Piece, expected_hours, request_of, small_pieces
from tools.side_by_side import run_side_by_side
from tools.timed_command import HERE, run_for

_PIECE_SECONDS = 3600.0


def main() -> int:
    """Run what is left, and say what is not done."""
    given = _parser().parse_args()
    results = HERE / "benchmarks" / "results"
    folder = given.output or (HERE / "build" / "paper-quick" if given.quick else results)
    pieces = _pieces(given)
    if given.dry_run:
        for piece in pieces:
            print(shlex.join(piece.command(folder)[2:]))
        _print_hours(given)
        return 0
    seconds = given.hours * 3600
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # rows and records are kept
    if given.n_jobs > 1:
        left = _run_small(given, folder, seconds)
    else:
        left = run_pieces(pieces, folder, seconds=seconds)
    for piece in left:
        print(f"not done: {piece.words}")
    return int(bool(left))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the quick version of each")
    parser.add_argument("--experiment", action="append", choices=EXPERIMENTS, help="only this one")
    parser.add_argument("--output", type=Path, help="the folder of the results")
    parser.add_argument("--hours", type=float, default=8.0, help="after which it ends")
    parser.add_argument("--n-jobs", type=int, default=1, help="how many pieces run at a time")
    parser.add_argument("--dry-run", action="store_true", help="print commands and hours, run none")
    return parser


def _names(given: argparse.Namespace) -> list[str]:
    return list(dict.fromkeys(given.experiment or (piece.experiment for piece in FULL)))


def _pieces(given: argparse.Namespace) -> list[Piece]:
    """Large ones in their order, or small ones, dearest first."""
    names = _names(given)
    if given.n_jobs > 1:
        return [small.piece for small in small_pieces(names, quick=given.quick)]
    return [piece for piece in (QUICK if given.quick else FULL) if piece.experiment in names]


def _print_hours(given: argparse.Namespace) -> None:
    """Beside the commands of small pieces, how long they take; quick ones were never timed."""
    if given.n_jobs > 1 and not given.quick:
        hours = expected_hours(small_pieces(_names(given)), given.n_jobs)
        print(f"about {hours:.1f} hours, {given.n_jobs} at a time", file=sys.stderr)


def _run_small(given: argparse.Namespace, folder: Path, seconds: float) -> list[Piece]:
    """Side by side; then page and picture of the rows that there are."""
    names = _names(given)
    pieces = small_pieces(names, quick=given.quick)
    left = run_side_by_side(pieces, folder, n_jobs=given.n_jobs, seconds=seconds)
    for name in names:
        if (folder / f"{name}.csv").exists():
            write_report(name, request_of(name, quick=given.quick), folder)
    return [small.piece for small in left]


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
            print(f"done: {piece.words}", flush=True)
        elif code is None and _n_rows(piece, folder) > before:
            waiting.append(piece)
        else:
            failed.append(piece)
    return [*failed, *waiting]


def _n_rows(piece: Piece, folder: Path) -> int:
    file = folder / f"{piece.experiment}.csv"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
