"""What `make paper` runs: experiments in large pieces one by one, or in small ones side by side.

A small piece is a command of few rows that share their work: a population of Figure 3 and a method,
a K of Figure 4 and the systems that share a fit. Its processor seconds are expected ones, measured
on one core: the dearest pieces begin first, and none that would be cut off by the end of the time.
"""

import hashlib
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
# Figure 3, for a thousand people; the oracle begins at the fit, which is in its piece
_FIT_SECONDS, _PAPER_SECONDS = 13.0, 20.0
_PAPER_LEAST = 10.0
# Figure 4, for each component
_SYSTEM_SECONDS = {"M4": 60.0, "M4, Algorithms 1–4": 120.0, "TM, not rounded": 120.0}


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


def _pieces_of(name: str, quick: bool) -> list[SmallPiece]:
    request = request_of(name, quick=quick)
    tasks = EXPERIMENTS[name].load().tasks(request)
    seeds = ("--n-seeds", str(request.n_seeds)) if name in _N_SEEDS else ()
    about = ("--quick",) if quick else seeds
    pieces = []
    for selection in dict.fromkeys(_selection(name, task) for task in tasks):
        mine = selected_tasks(tasks, selection)
        keys = frozenset(task.key for task in mine)
        seconds = sum(_seconds(name, task) for task in mine)
        pieces.append(SmallPiece(Piece(name, (*about, *selection.options())), keys, seconds))
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
    return RowSelection(seed=(task.seed,)) if hasattr(task, "seed") else RowSelection()


def _sharing(system: str) -> tuple[str, ...]:
    """The systems of Figure 4 that share a fit with this one, as one names them."""
    groups = (("M4", "TM"), ("mixed-membership BTL", "mixture of BTL"))
    if system == "M4 above TM":
        return groups[0]
    return next((group for group in groups if system in group), (system,))


def _seconds(name: str, task: Any) -> float:
    """What a row is expected to take on one core."""
    if name == "fig3":
        thousands = task.users / 1000
        if task.method.startswith("paper"):
            return _PAPER_LEAST + _PAPER_SECONDS * thousands
        return _FIT_SECONDS * thousands if task.method == "full" else thousands
    if name == "fig4":
        return _SYSTEM_SECONDS.get(task.system, 20.0) * task.k
    return _OTHER_SECONDS
