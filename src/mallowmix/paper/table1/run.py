"""Table 1: every ranking mixture that the paper names, on data from its own model, on M4's data; and M4 on each one's data.

A system has recovered a model where the mean fraction of discordant pairs between its rankings and the planted ones, matched, is
at most .02. Held-out log-loss is that of new people's comparisons, half of whose items are told.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.assess.compare import clustered
from mallowmix.data.rankings import Rankings
from mallowmix.errors import MallowmixError
from mallowmix.model.permutations import match_components
from mallowmix.paper.experiment import Experiment, Request, Row, key
from mallowmix.paper.table1.populations import Population, population
from mallowmix.paper.table1.report import report
from mallowmix.peers.amp_em import MixtureOfRankings
from mallowmix.peers.btl import MixtureOfBT
from mallowmix.peers.grade_of_membership import GradeOfMembership
from mallowmix.peers.interface import Peer
from mallowmix.peers.mallows_mixture import MixtureOfMallows
from mallowmix.peers.mallows_rankings import MallowsFromRankings
from mallowmix.peers.mixed_mallows_peer import MixedMallowsPeer
from mallowmix.peers.mnl_tensor import MixtureOfMNL
from mallowmix.peers.mpm import MPM
from mallowmix.peers.plackett_luce import MixtureOfPL
from mallowmix.peers.sparse_choice import SparseChoice
from mallowmix.peers.tm import TM
from mallowmix.peers.top_three import TwoMallowsTopThree
from mallowmix.peers.validation import predicted_rows

RECOVERED = 0.02
COLUMNS = (
    "data",
    "system",
    "size",
    "seed",
    "recovered",
    "error",
    "log_loss",
    "standard_error",
    "seconds",
    "note",
    "version",
)
OWN = {  # system: the model whose data are its own
    "M4": "M4",
    "TM": "TM",
    "grade of membership PL": "grade of membership PL",
    "sparse choice": "sparse choice",
    "mixture of Mallows, AMP": "Mallows, pairs",
    "mixture of Mallows": "Mallows, pairs",
    "two Mallows from the top three": "two Mallows",
    "mixture of Mallows from rankings": "two Mallows",
    "mixture of BTL, tensors": "BTL",
    "mixture of BTL, EM": "BTL",
    "mixture of PL": "PL",
    "MPM": "MPM",
}
MAKE: dict[str, Callable[[bool], Peer]] = {  # given whether it is the quick twin
    "M4": lambda quick: MixedMallowsPeer(calibrated=True),
    "TM": lambda quick: TM(),
    "grade of membership PL": lambda quick: GradeOfMembership(
        n_burn=300 if quick else 1000, n_draws=100 if quick else 400
    ),
    "sparse choice": lambda quick: SparseChoice(),
    "mixture of Mallows, AMP": lambda quick: MixtureOfRankings(),
    "mixture of Mallows": lambda quick: MixtureOfMallows(),
    "two Mallows from the top three": lambda quick: TwoMallowsTopThree(),
    "mixture of Mallows from rankings": lambda quick: MallowsFromRankings(),
    "mixture of BTL, tensors": lambda quick: MixtureOfMNL(),
    "mixture of BTL, EM": lambda quick: MixtureOfBT(),
    "mixture of PL": lambda quick: MixtureOfPL(),
    "MPM": lambda quick: MPM(),
}


class Task(NamedTuple):
    """A system on data of one model."""

    data: str
    system: str
    size: str
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by."""
        return key(*self)


def tasks(request: Request) -> list[Task]:
    """Each system on its own data and on M4's, M4 on all; everything with one model's data together."""
    size, n_seeds = ("quick", 1) if request.quick else ("whole", request.n_seeds)
    data = list(dict.fromkeys(OWN.values()))
    return [
        Task(name, system, size, seed)
        for name in data
        for seed in range(n_seeds)
        for system in OWN
        if system == "M4" or name in ("M4", OWN[system])
    ]


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """One row a task; a population is drawn once for the systems that follow each other on it."""
    drawn, of = None, None
    for number, task in enumerate(todo := list(todo)):
        if drawn is None or of != (task.data, task.seed):
            drawn, of = population(task.data, task.size, task.seed), (task.data, task.seed)
        if request.progress:
            request.progress(f"{task.system} on {task.data}", number, len(todo))
        yield dict(zip(COLUMNS, (*task, *measured(task, drawn), __version__), strict=True))


def measured(task: Task, drawn: Population) -> tuple[Any, ...]:
    """Recovered or not, error, log-loss, seconds; a sentence where the system refuses the data."""
    peer, started = MAKE[task.system](task.size == "quick"), time.perf_counter()
    ranked = isinstance(drawn.train, Rankings) and (
        peer.needs == "rankings" or isinstance(peer, GradeOfMembership)
    )
    data = (
        drawn.train
        if ranked or not isinstance(drawn.train, Rankings)
        else drawn.train.comparisons()
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = peer.fit(data, len(drawn.sigma), seed=task.seed)
            seconds = time.perf_counter() - started
            p = predicted_rows(fitted, drawn.given, drawn.held_out)
    except MallowmixError as error:
        return "", "", "", "", "", str(error)
    error = kendall_error(fitted.components, drawn.sigma)
    held_out = drawn.held_out
    loss, spread = clustered(
        np.bincount(held_out.user, -held_out.weight * np.log(p), held_out.n_users).astype(float),
        held_out.per_user(),
    )
    return ("yes" if error <= RECOVERED else "no"), error, loss, spread, round(seconds, 2), ""


def kendall_error(components: np.ndarray, sigma: np.ndarray) -> float:
    """The mean fraction of discordant pairs between rows of scores, higher better, and the planted rankings, matched."""
    found = np.argsort(np.argsort(-components, axis=1, kind="stable"), axis=1, kind="stable")
    return float(match_components(found, sigma).kendall.mean())


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    if row["note"]:
        return f"{row['system']} on data of {row['data']}: {row['note']}"
    measures = f"error {row['error']:.3f}, log-loss {row['log_loss']:.3f}, {row['seconds']:.1f} s"
    return f"{row['system']} on data of {row['data']}: {measures}"


EXPERIMENT = Experiment(COLUMNS, ("data", "system", "size", "seed"), tasks, rows, said, report)
