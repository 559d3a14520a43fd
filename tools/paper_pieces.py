"""What `make paper` runs: experiments in large pieces one by one, or in small ones side by side.

A small piece is a command of few rows that share their work: a population of Figure 3 and a method,
a K of Figure 4 and the systems that share a fit. Its processor seconds are expected ones, measured
on one core: the dearest pieces begin first, and none that would be cut off by the end of the time.
"""

import hashlib
import heapq
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mallowmix.paper.experiment import Request
from mallowmix.paper.registry import EXPERIMENTS
from mallowmix.paper.row_selection import RowSelection, selected_tasks

_N_SEEDS = {"table1": 3, "fig3": 3}  # of others that have several, the default
_OTHER_SECONDS = 300.0  # a piece of an experiment that nobody timed
# the recovery table: all settings of a seed by one method
_RECOVERY_SECONDS = {"full": 300.0, "paper": 200.0, "oracle": 80.0, "short": 80.0, "none": 40.0}
# Figure 3, by the number of people: the default fit, and the paper's method (from 4 million
# comparisons on, both learn most from a sample); references from films take time in each process
_FIT_SECONDS = {300: 10.0, 1000: 15.0, 3000: 20.0, 10_000: 70.0, 30_000: 50.0, 100_000: 130.0}
_PAPER_SECONDS = {300: 10.0, 1000: 12.0, 3000: 15.0, 10_000: 30.0, 30_000: 35.0, 100_000: 70.0}
_REFERENCES_SECONDS = {"movielens": 4.0, "pmf": 16.0, "random": 0.0}
_ALIKE = 1.8  # fits of references from MovieLens, which are more alike, take so much longer
# Figure 4, of each component: the systems that share a fit together, by the first of them
_SYSTEM_SECONDS = {
    "M4": 17.0,
    "M4, Algorithms 1–4": 22.0,
    "TM, not rounded": 8.0,
    "mixed-membership BTL": 14.0,
    "mixture of Mallows": 5.0,
}
# Table 2, at each K, the constants that a system has to choose included
_RATING_SECONDS = {"TM": 900.0, "M4, Algorithms 1–4": 1200.0}


class Piece(NamedTuple):
    """Rows of one experiment: its name, and the options that select them."""

    experiment: str
    options: tuple[str, ...] = ()

    def command(self, folder: Path) -> list[str]:
        """What is run."""
        program = [sys.executable, "-m", "mallowmix", "reproduce", self.experiment]
        return [*program, *self.options, "--output", str(folder), "--quiet"]

    @property
    def words(self) -> str:
        """The experiment and the options, as they are typed."""
        return shlex.join((self.experiment, *self.options))

    @property
    def slug(self) -> str:
        """A name for a folder: the same for the same options."""
        return f"{self.experiment}-{hashlib.sha256(self.words.encode()).hexdigest()[:10]}"


class SmallPiece(NamedTuple):
    """A piece with the keys of its rows, and its expected seconds on one core."""

    piece: Piece
    keys: frozenset[tuple[str, ...]]
    seconds: float


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


def request_of(experiment: str, *, quick: bool) -> Request:
    """How `make paper` runs an experiment."""
    return Request(quick=quick, n_seeds=_N_SEEDS.get(experiment, Request.n_seeds))


def small_pieces(experiments: Sequence[str], *, quick: bool = False) -> list[SmallPiece]:
    """Pieces of few rows that share their work, dearest first.

    Parameters
    ----------
    experiments : sequence of str
        Which experiments.
    quick : bool
        Whether of their quick versions.
    """
    found = [piece for name in experiments for piece in _pieces_of(name, quick)]
    return sorted(found, key=lambda small: -small.seconds)


def expected_hours(pieces: Sequence[SmallPiece], n_jobs: int) -> float:
    """How long pieces take side by side, the dearest first.

    Parameters
    ----------
    pieces : sequence of SmallPiece
        As `small_pieces` orders them.
    n_jobs : int
        How many run at a time, each on a core of its own.
    """
    ends = [0.0] * n_jobs  # of what each core has begun
    for piece in pieces:
        heapq.heappushpop(ends, ends[0] + piece.seconds)
    return max(ends) / 3600


def _pieces_of(name: str, quick: bool) -> list[SmallPiece]:
    request = request_of(name, quick=quick)
    tasks = EXPERIMENTS[name].load().tasks(request)
    seeds = ("--n-seeds", str(request.n_seeds)) if name in _N_SEEDS else ()
    about = ("--quick",) if quick else seeds
    pieces = []
    for selection in dict.fromkeys(_selection(name, task) for task in tasks):
        mine = selected_tasks(tasks, selection)
        keys = frozenset(task.key for task in mine)
        piece = Piece(name, (*about, *selection.options()))
        pieces.append(SmallPiece(piece, keys, _seconds(name, mine[0])))
    return pieces


def _selection(name: str, task: Any) -> RowSelection:
    """The rows that are computed together with that of a task."""
    if name == "fig3":
        ours = task.method in ("full", "oracle")
        return RowSelection(
            method=("full", "oracle") if ours else (task.method,),
            references=(task.references,),
            n_users=(task.users,),
            phi=(task.phi,),
            seed=(task.seed,),
        )
    if name == "fig4":
        return RowSelection(system=_sharing(task.system), n_components=(task.k,))
    if name == "recovery":
        return RowSelection(method=(task.method,), seed=(task.seed,))
    if name == "table2":
        return RowSelection(system=_of_one_fit(task.system), n_components=(task.k,) * bool(task.k))
    return RowSelection(seed=(task.seed,)) if hasattr(task, "seed") else RowSelection()


def _sharing(system: str) -> tuple[str, ...]:
    """The systems of Figure 4 that share a fit with this one, as one names them."""
    groups = (("M4", "TM"), ("mixed-membership BTL", "mixture of BTL"))
    if system == "M4 above TM":
        return groups[0]
    return next((group for group in groups if system in group), (system,))


def _of_one_fit(system: str) -> tuple[str, ...]:
    """The systems of Table 2 that share a fit with this one; each chooses its constants anew."""
    group = ("TM", "M4", "predictor")
    return group if system in group else (system,)


def _seconds(name: str, first: Any) -> float:
    """What the piece that begins with a task is expected to take on one core."""
    if name == "fig3":
        references = _REFERENCES_SECONDS[first.references]
        if first.method.startswith("paper"):
            return references + _PAPER_SECONDS[first.users]
        alike = _ALIKE if first.references == "movielens" else 1.0
        return references + alike * _FIT_SECONDS[first.users]
    if name == "recovery":
        return _RECOVERY_SECONDS[first.method]
    if name == "table2":
        return _RATING_SECONDS.get(first.system, 100.0)
    if name == "fig4":
        return 20.0 + _SYSTEM_SECONDS.get(first.system, 0.0) * first.k
    return _OTHER_SECONDS
