"""How well each system predicts: log-loss, accuracy and calibration of what was held out."""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.diagnose.reliability import reliability
from mallowmix.assess.prediction_task import Task
from mallowmix.infer.heldout.held_out_rows import HeldOutRows
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.peers.systems import SYSTEMS
from mallowmix.typing import Array

_LEVEL = 1.96  # standard errors either side: 95%


@dataclass(frozen=True)
class SystemScore:
    """One system on what was held out; None where a number does not apply.

    Attributes
    ----------
    system, name : str
        Its key in `peers.systems.SYSTEMS`, and its name in tables.
    log_loss, low, high : float or None
        Nats per comparison, lower is better (a coin: .693), with a 95% interval over users.
    log_loss_by_person : float or None
        The mean over users of each one's mean: those with few comparisons count as much as others.
    behind, behind_error : float or None
        Log-loss above the best system's, and its standard error, paired by user.
    accuracy, accuracy_low, accuracy_high : float or None
        The fraction of comparisons whose likelier side won; even odds count one half.
    slope, slope_error : float or None
        Calibration: 1 is right, below 1 overconfident, above 1 underconfident (None: always even
        odds).
    rmse : float or None
        Of held-out ratings, where there are ratings and the system predicts them.
    seconds, megabytes : float or None
        To learn and to predict, mean over splits; memory above what was used before.
    settings : tuple of (str, float)
        What the system chose by validation, in the last split.
    failed : str or None
        Why there is no result.
    """

    system: str
    name: str
    log_loss: float | None = None
    low: float | None = None
    high: float | None = None
    log_loss_by_person: float | None = None
    behind: float | None = None
    behind_error: float | None = None
    accuracy: float | None = None
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    slope: float | None = None
    slope_error: float | None = None
    rmse: float | None = None
    seconds: float | None = None
    megabytes: float | None = None
    settings: tuple[tuple[str, float], ...] = ()
    failed: str | None = None


@dataclass(frozen=True)
class Compared:
    """The table of `compare`, best system first and those that failed last.

    Attributes
    ----------
    table : tuple of SystemScore
    split : str
        What was held out.
    n_components, n_splits : int
    n_users, n_comparisons : int, float
        Of what was held out.
    notes : tuple of str
        Where the protocol could not be followed, and how much was thinned.
    """

    table: tuple[SystemScore, ...]
    split: str
    n_components: int
    n_splits: int
    n_users: int
    n_comparisons: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        values = asdict(self)
        values["table"] = [asdict(row) | {"settings": dict(row.settings)} for row in self.table]
        return values | {"notes": list(self.notes)}


class SystemRun(NamedTuple):
    """What one system predicted in one split, and the time and memory that it took."""

    probability: Array
    rmse: float | None
    seconds: float
    megabytes: float | None
    settings: tuple[tuple[str, float], ...]


def score_systems(
    names: list[str], runs: dict[str, list[SystemRun] | str], tasks: list[Task], split: str, K: int
) -> Compared:
    """Score every system on the held-out comparisons of all splits.

    Parameters
    ----------
    names : list of str
        Keys of `peers.systems.SYSTEMS`.
    runs : dict
        For each name a `SystemRun` per task, or the reason why the system failed.
    tasks : list of Task
        The splits.
    split : str
        What was held out.
    K : int
        The number of components.

    Returns
    -------
    Compared
    """
    person = np.concatenate([task.people[task.held_out.user] for task in tasks])
    weight = np.concatenate([task.held_out.weight for task in tasks])
    predicted_by = {
        name: np.concatenate([run.probability for run in found])
        for name, found in _done(runs).items()
    }
    losses = {name: _sums(person, -weight * np.log(p)) for name, p in predicted_by.items()}
    n = _sums(person, weight)
    best = min(losses.values(), key=lambda loss: float(loss.sum()), default=None)
    rows = [
        _score(name, found, predicted_by[name], losses[name], best, person, weight, n)
        if not isinstance(found := runs[name], str)
        else SystemScore(name, SYSTEMS[name]().name, failed=found)
        for name in names
    ]
    rows.sort(key=lambda row: math.inf if row.log_loss is None else row.log_loss)
    notes = tuple(dict.fromkeys(task.note for task in tasks if task.note))
    return Compared(
        tuple(rows), split, K, len(tasks), int(np.count_nonzero(n)), float(weight.sum()), notes
    )


def _done(runs: dict[str, list[SystemRun] | str]) -> dict[str, list[SystemRun]]:
    return {name: found for name, found in runs.items() if not isinstance(found, str)}


def _score(
    name: str,
    runs: list[SystemRun],
    p: Array,
    loss: Array,
    best: Any,
    person: NDArray[np.int64],
    weight: Array,
    n: Array,
) -> SystemScore:
    mean, error = clustered(loss, n)
    right, right_error = clustered(_sums(person, weight * ((p > 0.5) + 0.5 * (p == 0.5))), n)
    behind, behind_error = clustered(loss - best, n)
    fit = reliability(HeldOutRows(person, np.zeros(len(p), np.int64), weight, p))
    ratings = [run.rmse for run in runs if run.rmse is not None]
    memory = [run.megabytes for run in runs if run.megabytes is not None]
    return SystemScore(
        name,
        SYSTEMS[name]().name,
        mean,
        mean - _LEVEL * error if error is not None else None,
        mean + _LEVEL * error if error is not None else None,
        float(np.mean(loss[n > 0] / n[n > 0])),
        behind,
        behind_error,
        right,
        right - _LEVEL * right_error if right_error is not None else None,
        right + _LEVEL * right_error if right_error is not None else None,
        _known(fit.slope),
        _known(fit.slope_error),
        float(np.mean(ratings)) if ratings else None,
        float(np.mean([run.seconds for run in runs])),
        max(memory) if memory else None,
        runs[-1].settings,
    )


def clustered(total: Array, n: Array) -> tuple[float, float | None]:
    """`clustered_ratio`, with None for the error of a single user."""
    mean, error = clustered_ratio(total, n)
    return mean, _known(error)


def _sums(person: NDArray[np.int64], values: Array) -> Array:
    """(M,) the sum of each user."""
    return np.bincount(person, values).astype(np.float64)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
