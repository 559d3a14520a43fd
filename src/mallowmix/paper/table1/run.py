"""Table 1: every ranking mixture that the paper names, on data of its own model and on M4's data.

M4 runs on the data of each one's model too. A system has recovered a model where the mean fraction
of discordant pairs between its rankings and the planted ones, matched, is at most .02. The held-out
log-loss is that of new users' comparisons, given those of half of their items.
"""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.assess.system_scores import clustered
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.rankings import Rankings
from mallowmix.errors import MallowmixError
from mallowmix.model.permutations import match_components
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.table1.mixtures import RANKING_MIXTURES
from mallowmix.paper.table1.populations import DrawnPopulation, population_of_model
from mallowmix.paper.table1.report import report
from mallowmix.peers.grade_of_membership import FittedGradeOfMembership, GradeOfMembership
from mallowmix.peers.interface import FittedPeer, Peer
from mallowmix.peers.validation import predicted_rows
from mallowmix.typing import Array, Positions

_RECOVERED = 0.02  # the largest error that counts as recovered
_KEY = ("data", "system", "size", "seed")
_MEASURES = ("recovered", "error", "log_loss", "standard_error", "seconds", "note")
_COLUMNS = (*_KEY, *_MEASURES, "version")


class Table1Task(NamedTuple):
    """A system on data of one model, of the size "quick" or "whole"."""

    data: str
    system: str
    size: str
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)


@dataclass(frozen=True)
class _Measures:
    """In the order of the columns.

    The note is the reason where a system refuses the data, or R-hat of α where one draws it.
    """

    recovered: str = ""
    error: float | str = ""
    log_loss: float | str = ""
    standard_error: float | str | None = ""
    seconds: float | str = ""
    note: str = ""


def _tasks(request: Request) -> list[Table1Task]:
    """Each system on its own data and on M4's, M4 on all; all with one model's data together."""
    size, n_seeds = ("quick", 1) if request.quick else ("whole", request.n_seeds)
    own = {system: mixture.own_model for system, mixture in RANKING_MIXTURES.items()}
    return [
        Table1Task(data, system, size, seed)
        for data in dict.fromkeys(own.values())
        for seed in range(n_seeds)
        for system in own
        if system == "M4" or data in ("M4", own[system])
    ]


def _rows(tasks: Iterable[Table1Task], request: Request) -> Iterator[Row]:
    """One row for each task; a population is drawn once for the systems that follow each other."""
    population, drawn = None, None
    for number, task in enumerate(tasks := list(tasks)):
        if population is None or drawn != (task.data, task.seed):
            population = population_of_model(task.data, task.size, task.seed)
            drawn = (task.data, task.seed)
        if request.progress:
            request.progress(f"{task.system} on {task.data}", number, len(tasks))
        values = (*task, *astuple(_measured(task, population)), __version__)
        yield dict(zip(_COLUMNS, values, strict=True))


def _measured(task: Table1Task, population: DrawnPopulation) -> _Measures:
    peer = RANKING_MIXTURES[task.system].make(task.size == "quick")
    data, started = _usable(population.train, peer), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = peer.fit(data, len(population.sigma), seed=task.seed)
            seconds = time.perf_counter() - started
            p = predicted_rows(fitted, population.given, population.held_out)
    except MallowmixError as refusal:
        return _Measures(note=str(refusal))
    error = kendall_error(fitted.components, population.sigma)
    recovered = "yes" if error <= _RECOVERED else "no"
    losses, seconds = _log_loss(population.held_out, p), round(seconds, 2)
    return _Measures(recovered, error, *losses, seconds, _agreement(fitted))


def _agreement(fitted: FittedPeer) -> str:
    """How well chains agree about α; nothing where there are none."""
    if not isinstance(fitted, FittedGradeOfMembership):
        return ""
    return f"R-hat of α {float(fitted.diagnostics()['r_hat']['alpha']):.3f}"


def _usable(train: Comparisons | Rankings, peer: Peer) -> Comparisons | Rankings:
    """Rankings for the systems that learn from them, else comparisons."""
    from_rankings = peer.needs == "rankings" or isinstance(peer, GradeOfMembership)
    return train.comparisons() if isinstance(train, Rankings) and not from_rankings else train


def _log_loss(held_out: Comparisons, p: Array) -> tuple[float, float | None]:
    """The mean per comparison, and its standard error over users."""
    losses = np.bincount(held_out.user, -held_out.weight * np.log(p), held_out.n_users)
    return clustered(losses.astype(float), held_out.per_user())


def kendall_error(components: Array, sigma: Positions) -> float:
    """The mean fraction of discordant pairs between estimated and planted rankings, matched.

    Parameters
    ----------
    components : (K, Q) array of float
        The estimated scores, higher is better.
    sigma : (K, Q) array of int
        The planted rankings, as positions.

    Returns
    -------
    float
        0 where all are recovered exactly.
    """
    found = np.argsort(np.argsort(-components, axis=1, kind="stable"), axis=1, kind="stable")
    return float(match_components(found, sigma).kendall.mean())


def _describe(row: Mapping[str, Any]) -> str:
    about = f"{row['system']} on data of {row['data']}"
    if row["error"] == "":
        return f"{about}: {row['note']}"
    numbers = f"error {row['error']:.3f}, log-loss {row['log_loss']:.3f}"
    return f"{about}: {numbers}, {row['seconds']:.1f} s"


EXPERIMENT = Experiment(_COLUMNS, _KEY, _tasks, _rows, _describe, report)
