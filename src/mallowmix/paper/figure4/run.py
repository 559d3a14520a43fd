"""Figure 4: the log-likelihood of held-out users' comparisons of MovieLens, for several K.

Two estimates per comparison: document completion (half of a user's comparisons predicted from the
other half), and the likelihood of all of a user's comparisons together by left-to-right, the
paper's kind, on a subset of the users, since it is slow.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from mallowmix._version import __version__
from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixWarning
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import NOBODY, Heldout, floored_beta, summary
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.model.fitted_model import AnyModel
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.figure4.fitted_systems import FittedSystems
from mallowmix.paper.figure4.movielens_split import MovielensSplit, read_movielens_split
from mallowmix.paper.figure4.report import SCORING_METHODS, report

_KS, _QUICK_KS = (5, 10, 15, 20, 25), (5, 10)
_KEY = ("system", "k", "size", "method")
_COLUMNS = (*_KEY, "log_likelihood", "standard_error", "users", "comparisons", "version")
# systems that share a fit stand together
_GROUPS = (
    ("M4", "TM"),
    ("TM, not rounded",),
    ("mixed-membership BTL", "mixture of BTL"),
    ("mixture of Mallows",),
)
_SLOW = ("TM, not rounded",)  # Algorithms 2 and 3 take long at 200 films
_VERTEX_SYSTEMS = ("mixture of Mallows", "mixture of BTL")  # a user has one component


class Figure4Task(NamedTuple):
    """A system with K components, the size ("quick" or "whole"), and how it is scored.

    One ranking for all users is M4 with K = 1.
    """

    system: str
    k: int
    size: str
    method: str

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)


def _tasks(request: Request) -> list[Figure4Task]:
    """One ranking, M4 and TM at every K, then the others."""
    size, ks = ("quick", _QUICK_KS) if request.quick else ("whole", _KS)
    groups = [group for group in _GROUPS if not (request.quick and group == _SLOW)]
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
            split = read_movielens_split(request.data, quick=task.size == "quick")
            systems = FittedSystems(split.learnt, request)
        found = _score(task, systems.fitted(task.system, task.k), split, request)
        numbers = (
            found.log_likelihood_per_comparison,
            found.standard_error,
            found.n_users,
            found.n_comparisons,
        )
        yield dict(zip(_COLUMNS, (*task, *numbers, __version__), strict=True))


def _score(task: Figure4Task, model: Any, split: MovielensSplit, request: Request) -> Heldout:
    if task.method == "completion":
        return completion(model, split.held_out, n_jobs=request.n_jobs)
    if task.system in _VERTEX_SYSTEMS:
        return vertex_likelihood(model, split.subset)
    options = LeftToRightOptions(max_particles=128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return left_to_right(
            model, split.subset, options, n_jobs=request.n_jobs, progress=request.progress
        )


def vertex_likelihood(model: AnyModel, comparisons: Comparisons) -> Heldout:
    """The exact likelihood of all of a user's comparisons where every user has one component.

    It is log Σ_k a_k Π_n β_(w_n),k, which needs no particles.

    Parameters
    ----------
    model : FittedModel or M4
        The components and their shares.
    comparisons : Comparisons
        The held-out users.

    Returns
    -------
    Heldout
        The log-likelihood per comparison and its standard error.
    """
    comparisons = comparisons.with_items(model.items)
    log_p = np.log(floored_beta(model))[comparisons.pair] * comparisons.weight[:, None]
    by_component = [
        np.bincount(comparisons.user, column, comparisons.n_users) for column in log_p.T
    ]
    joint = np.stack(by_component, axis=1) + np.log(model.share)  # (M, K)
    likelihood = np.asarray(logsumexp(joint, axis=1))
    return summary(np.column_stack([likelihood, comparisons.per_user()]), NOBODY)


def _describe(row: Mapping[str, Any]) -> str:
    about = f"{row['system']}, K = {row['k']}, {row['method']}"
    return f"{about}: {row['log_likelihood']:.4f} ± {row['standard_error']:.4f}"


EXPERIMENT = Experiment(_COLUMNS, _KEY, _tasks, _rows, _describe, report)
