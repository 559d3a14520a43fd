"""How well each system predicts: log-loss, accuracy and calibration of what was held out."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.diagnose.reliability import reliability
from mallowmix.assess.kept_runs import SystemRun
from mallowmix.assess.prediction_task import Task
from mallowmix.assess.system_runs import System
from mallowmix.data.frames import FramedResult
from mallowmix.data.text import name_of, table_of
from mallowmix.infer.heldout.held_out_rows import HeldOutRows
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.peers.component_choice import Candidates
from mallowmix.typing import Array

_LEVEL = 1.96  # standard errors either side: 95%


@dataclass(frozen=True)
class SystemScore:
    """One system on what was held out; None where a number does not apply.

    Attributes
    ----------
    system, name : str
        Its key in `peers.systems.SYSTEMS` (or the label given), and its name in tables.
    log_loss, low, high : float or None
        Nats per comparison, lower is better (a coin: .693), with a 95% interval over users.
    log_loss_by_person : float or None
        The mean over users of each one's mean: those with few comparisons count as much as others.
    by_person_low, by_person_high : float or None
        Its 95% interval over users.
    behind, behind_error, behind_low, behind_high : float or None
        Log-loss above the best system's, paired by user, with its standard error and a 95%
        interval over users.
    behind_by_person, behind_by_person_low, behind_by_person_high : float or None
        The same of the mean over users.
    accuracy, accuracy_low, accuracy_high : float or None
        The fraction of comparisons whose likelier side won; even odds count one half.
    slope, slope_error : float or None
        Calibration: 1 is right, below 1 overconfident, above 1 underconfident (None: always even
        odds).
    rmse : float or None
        Of held-out ratings, where there are ratings and the system predicts them.
    seconds, megabytes : float or None
        To learn and to predict, mean over splits; memory above what was used before.
    n_components : tuple of int
        K in each split, chosen on training users where there were several candidates; empty for a
        system without components.
    settings : tuple of (str, float)
        What else the system chose by validation, in the last split.
    failed : str or None
        Why there is no result.
    """

    system: str
    name: str
    log_loss: float | None = None
    low: float | None = None
    high: float | None = None
    log_loss_by_person: float | None = None
    by_person_low: float | None = None
    by_person_high: float | None = None
    behind: float | None = None
    behind_error: float | None = None
    behind_low: float | None = None
    behind_high: float | None = None
    behind_by_person: float | None = None
    behind_by_person_low: float | None = None
    behind_by_person_high: float | None = None
    accuracy: float | None = None
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    slope: float | None = None
    slope_error: float | None = None
    rmse: float | None = None
    seconds: float | None = None
    megabytes: float | None = None
    n_components: tuple[int, ...] = ()
    settings: tuple[tuple[str, float], ...] = ()
    failed: str | None = None


@dataclass(frozen=True)
class Compared(FramedResult):
    """The table of `compare`, best system first and those that failed last.

    Attributes
    ----------
    table : tuple of SystemScore
    split : str
        What was held out; "prepared" by `compare_on_split`.
    n_components : tuple of int
        The candidates for K; unless they were given, larger ones were tried where they helped.
    n_splits : int
    n_users, n_comparisons : int, float
        Of what was held out.
    notes : tuple of str
        Where the protocol could not be followed, and how much was thinned.
    """

    table: tuple[SystemScore, ...]
    split: str
    n_components: tuple[int, ...]
    n_splits: int
    n_users: int
    n_comparisons: float
    notes: tuple[str, ...] = ()
    frame_kind: str | None = None

    def columns(self) -> dict[str, Any]:
        """System, name, log_loss, low, high, accuracy, seconds, failed: a row for each system."""
        names = ("system", "name", "log_loss", "low", "high", "accuracy", "seconds", "failed")
        return {name: [getattr(row, name) for row in self.table] for name in names}

    def _repr_html_(self) -> str:
        """The table for notebooks, best system first."""
        rows = [
            (name_of(row.name), _cell(row.log_loss), _cell(row.accuracy), name_of(row.failed or ""))
            for row in self.table
        ]
        said = f"{self.n_comparisons:,.12g} held-out comparisons of {self.n_users:,} users"
        headings = ("system", "log-loss per comparison", "accuracy", "failed")
        return table_of(headings, rows, said)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        values = asdict(self)
        del values["frame_kind"]
        values["table"] = [asdict(row) | {"settings": dict(row.settings)} for row in self.table]
        return values | {"notes": list(self.notes)}


def score_systems(
    systems: Sequence[System],
    runs: dict[str, list[SystemRun] | str],
    tasks: list[Task],
    split: str,
    candidates: Candidates,
) -> Compared:
    """Score every system on the held-out comparisons of all splits.

    Parameters
    ----------
    systems : sequence of System
    runs : dict
        For each label a `SystemRun` per task, or the reason why the system failed.
    tasks : list of Task
        The splits.
    split : str
        What was held out.
    candidates : Candidates
        Numbers of components from which systems chose.

    Returns
    -------
    Compared
    """
    rows = _Rows(
        np.concatenate([task.people[task.held_out.user] for task in tasks]),
        np.concatenate([task.held_out.weight for task in tasks]),
    )
    done = {label: found for label, found in runs.items() if not isinstance(found, str)}
    predicted = {
        label: np.concatenate([run.probability for run in found]) for label, found in done.items()
    }
    losses = {label: rows.sums(-np.log(p)) for label, p in predicted.items()}
    best = min(losses.values(), key=lambda loss: float(loss.sum()), default=None)
    table = [
        _score(system, found, predicted[system.label], losses[system.label], best, rows)
        if not isinstance(found := runs[system.label], str)
        else SystemScore(system.label, system.name, failed=found)
        for system in systems
    ]
    table.sort(key=lambda row: math.inf if row.log_loss is None else row.log_loss)
    notes = [
        *dict.fromkeys(task.note for task in tasks if task.note),
        *_at_the_end(table, candidates),
    ]
    n_users, total = int(np.count_nonzero(rows.per_user)), float(rows.weight.sum())
    K = candidates.values
    return Compared(tuple(table), split, K, len(tasks), n_users, total, tuple(notes))


def _at_the_end(table: Sequence[SystemScore], candidates: Candidates) -> list[str]:
    """Who chose the largest of the numbers that were given, where larger ones were not tried."""
    most = max(candidates.values)
    who = [row.system for row in table if most in row.n_components]
    if candidates.further or len(candidates.values) == 1 or not who:
        return []
    return [
        f"The largest number of components given ({most}) was chosen by {', '.join(who)}: more may "
        "be better still. Without candidates larger ones are tried where they help."
    ]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


class _Rows(NamedTuple):
    """The held-out comparisons of all splits: whose each is, and what it counts for."""

    person: NDArray[np.int64]
    weight: Array

    def sums(self, values: Array) -> Array:
        """(M,) the weighted sum of each user."""
        return np.bincount(self.person, self.weight * values).astype(np.float64)

    @property
    def per_user(self) -> Array:
        """(M,) how many comparisons each user has."""
        return np.bincount(self.person, self.weight).astype(np.float64)


def _score(
    system: System, runs: list[SystemRun], p: Array, loss: Array, best: Any, rows: _Rows
) -> SystemScore:
    n = rows.per_user
    fit = reliability(HeldOutRows(rows.person, np.zeros(len(p), np.int64), rows.weight, p))
    ratings = [run.rmse for run in runs if run.rmse is not None]
    memory = [run.megabytes for run in runs if run.megabytes is not None]
    right = rows.sums((p > 0.5) + 0.5 * (p == 0.5))
    return SystemScore(
        system.label,
        system.name,
        *interval(loss, n),
        *interval(*_each_once(loss, n)),
        *clustered(loss - best, n),
        *interval(loss - best, n)[1:],
        *interval(*_each_once(loss - best, n)),
        *interval(right, n),
        _known(fit.slope),
        _known(fit.slope_error),
        float(np.mean(ratings)) if ratings else None,
        float(np.mean([run.seconds for run in runs])),
        max(memory) if memory else None,
        tuple(run.n_components for run in runs if run.n_components is not None),
        runs[-1].settings,
    )


def interval(total: Array, n: Array) -> tuple[float, float | None, float | None]:
    """A ratio of sums over users with its 95% interval, which a single user does not have."""
    mean, error = clustered(total, n)
    return (
        (mean, None, None)
        if error is None
        else (mean, mean - _LEVEL * error, mean + _LEVEL * error)
    )


def _each_once(total: Array, n: Array) -> tuple[Array, Array]:
    """The same for a mean over users of each one's mean."""
    counted = n > 0
    return total[counted] / n[counted], np.ones(int(counted.sum()))


def clustered(total: Array, n: Array) -> tuple[float, float | None]:
    """`clustered_ratio`, with None for the error of a single user."""
    mean, error = clustered_ratio(total, n)
    return mean, _known(error)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
