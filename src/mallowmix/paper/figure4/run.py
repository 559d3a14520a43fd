"""Figure 4: the log-likelihood of held-out users' comparisons of MovieLens, for several K.

Two estimates per comparison: document completion (half of a user's comparisons predicted from the
other half), and the likelihood of all of a user's comparisons together by left-to-right, the
paper's kind, on a subset of the users, since it is slow.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.infer.heldout.heldout_scores import paired_difference
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.figure4.fitted_systems import PAPER_SYSTEM, FittedSystems
from mallowmix.paper.figure4.movielens_split import read_movielens_split
from mallowmix.paper.figure4.report import MARGIN_SYSTEM, SCORING_METHODS, report

_KS, _QUICK_KS = (5, 10, 15, 20, 25), (5, 10)
_KEY = ("system", "k", "size", "method")
_MEASURED = ("log_likelihood", "standard_error", "users", "comparisons", "settings")
_COLUMNS = (*_KEY, *_MEASURED, "version")
# systems that share a fit stand together
_GROUPS = (
    ("M4", "TM", MARGIN_SYSTEM),
    (PAPER_SYSTEM,),
    ("TM, not rounded",),
    ("mixed-membership BTL", "mixture of BTL"),
    ("mixture of Mallows",),
)
_MARGIN = ("M4", "TM")  # what the paper claims: the first is above the second
_SLOW = (PAPER_SYSTEM, "TM, not rounded")  # Algorithms 2 and 3 take long at 200 films


class Figure4Task(NamedTuple):
    """A system with K components, the size ("quick", "whole" or "full"), and how it is scored.

    One ranking for all users is M4 with K = 1. The margin of M4 over TM is a row of its own, whose
    standard error is that of users' own differences.
    """

    system: str
    k: int
    size: str
    method: str

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)

    @property
    def compares(self) -> tuple[str, ...]:
        """The systems of which this is the difference."""
        return _MARGIN if self.system == MARGIN_SYSTEM else ()


def _tasks(request: Request) -> list[Figure4Task]:
    """One ranking, M4 and TM at every K, then the others."""
    size, ks = request.size, _QUICK_KS if request.quick else _KS
    groups = [group for group in _GROUPS if not (request.quick and group[0] in _SLOW)]
    systems = [
        ("one ranking", 1),
        *((system, k) for group in groups for k in ks for system in group),
    ]
    return [
        Figure4Task(system, k, size, method) for system, k in systems for method in SCORING_METHODS
    ]


def _rows(tasks: Iterable[Figure4Task], request: Request) -> Iterator[Row]:
    """One row for each task; M4's fit is also where TM begins."""
    split, systems = None, None
    for task in tasks:
        if split is None or systems is None:
            split = read_movielens_split(request.data, task.size)
            systems = FittedSystems(split, request)
        if task.compares:
            ours, theirs = (systems.scored(name, task.k, task.method) for name in task.compares)
            found, settings = paired_difference(ours.score, theirs.score), ""
        else:
            found, settings = systems.scored(task.system, task.k, task.method)
        measured = (
            found.log_likelihood_per_comparison,
            found.standard_error,
            found.n_users,
            found.n_comparisons,
            settings,
        )
        yield dict(zip(_COLUMNS, (*task, *measured, __version__), strict=True))


def _describe(row: Mapping[str, Any]) -> str:
    about = f"{row['system']}, K = {row['k']}, {row['method']}"
    half = 1.96 * row["standard_error"]  # of a 95% interval
    chosen = f" ({row['settings']})" if row["settings"] else ""
    return f"{about}: {row['log_likelihood']:.4f} ± {half:.4f}{chosen}"


EXPERIMENT = Experiment(_COLUMNS, _KEY, _tasks, _rows, _describe, report)
