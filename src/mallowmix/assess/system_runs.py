"""One system on one task: it learns, as well as it can, and predicts what was held out."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mallowmix.assess.kept_runs import KeptRuns, SystemRun
from mallowmix.assess.prediction_task import Task
from mallowmix.assess.resource_meter import Meter
from mallowmix.data.labels import text_of
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError, FileError
from mallowmix.infer.rating_prediction import predict_ratings
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.component_choice import (
    Candidates,
    best_components,
    component_losses,
    has_components,
)
from mallowmix.peers.component_mixture import FittedMixture
from mallowmix.peers.fitted_predictor import FittedPredictor
from mallowmix.peers.interface import FittedRatings, Peer, rmse
from mallowmix.peers.validation import HoldOut, predicted_rows
from mallowmix.typing import Progress


@dataclass(frozen=True)
class System:
    """What is measured.

    Attributes
    ----------
    label, name : str
        Its key, and its name in tables.
    learns : Peer or None
        A system that learns from the training users.
    fitted : UserPredictor or None
        One that has learnt already, where `learns` is None.
    """

    label: str
    name: str
    learns: Peer | None = None
    fitted: Any = None


def run_systems(
    systems: Sequence[System],
    tasks: Sequence[Task],
    hold_out: HoldOut,
    candidates: Candidates,
    *,
    rankings: Rankings | None = None,
    seed: int = 0,
    kept: KeptRuns | None = None,
    progress: Progress | None = None,
) -> dict[str, list[SystemRun] | str]:
    """Run every system on every task.

    Parameters
    ----------
    systems : sequence of System
    tasks : sequence of Task
        The splits.
    hold_out : HoldOut
        What is held out of the test users; settings are chosen by training users of whom the same
        is held out.
    candidates : Candidates
        Numbers of components, from which each system with components chooses one.
    rankings : Rankings, optional
        What the comparisons were made of, for systems that learn from rankings.
    seed : int
        Of the fits.
    kept : KeptRuns, optional
        Runs of an earlier comparison that was interrupted; those of this one are added.
    progress : callable, optional
        Called as ``progress(system, done, total)``.

    Returns
    -------
    dict
        For each label a run per task, or the reason why the system failed.
    """

    def run_once(system: System, split: int) -> SystemRun:
        known = kept and kept.read(system.label, split)
        if known:
            return known
        own = child_seed(seed, Step.COMPARE_FIT, split)
        run = _run(system, tasks[split], rankings, hold_out, candidates, own)
        if kept:
            kept.write(system.label, split, run)
        return run

    runs: dict[str, list[SystemRun] | str] = {}
    for n, system in enumerate(systems):
        if progress:
            progress(system.label, n, len(systems))
        try:
            runs[system.label] = [run_once(system, split) for split in range(len(tasks))]
        except FileError:  # of what is kept: nothing that a system does
            raise
        except Exception as error:  # whatever one system does, the others are still measured
            runs[system.label] = str(error) or type(error).__name__
    if progress:
        progress(systems[-1].label, len(systems), len(systems))
    return runs


def _run(
    system: System,
    task: Task,
    rankings: Rankings | None,
    hold_out: HoldOut,
    candidates: Candidates,
    seed: int,
) -> SystemRun:
    K, by_name = None, False
    with Meter() as meter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = system.fitted
        if system.learns is not None:
            peer, by_name = tuned_for(system.learns, hold_out), system.learns.needs == "ratings"
            data = _to_learn_from(peer.needs, task, rankings)
            K = chosen_k(peer, data, candidates, hold_out, seed)
            fitted = peer.fit(data, candidates.values[0] if K is None else K, seed=seed)
        p = predicted_rows(fitted, task.given, task.held_out, by_name=by_name)
    error, settings = _rating_error(fitted, task), tuple(getattr(fitted, "settings", ()))
    return SystemRun(p, error, meter.seconds, meter.megabytes, settings, K)


def tuned_for(peer: Any, hold_out: HoldOut) -> Any:
    """The same system, whose settings are chosen for this task."""
    return replace(peer, hold_out=hold_out) if hasattr(peer, "hold_out") else peer


def chosen_k(
    peer: Peer, data: Any, candidates: Candidates, hold_out: HoldOut, seed: int
) -> int | None:
    """K, chosen on training users where there are several; None where it plays no part."""
    if not has_components(peer):
        return None
    if len(candidates.values) == 1:
        return candidates.values[0]
    return best_components(component_losses(peer, data, candidates, seed=seed, hold_out=hold_out))


def _to_learn_from(needs: str, task: Task, rankings: Rankings | None) -> Any:
    """The training data, in the form that a system needs."""
    if needs == "rankings":
        if rankings is None:
            raise DataError("This system learns from rankings, split by people.")
        number = {text: m for m, text in enumerate(text_of(rankings.users))}
        return rankings.take_users([number[text] for text in text_of(task.train.users)])
    if needs == "ratings":
        if task.ratings is None:
            raise DataError("This system learns from ratings, split by people or by items.")
        return task.ratings.train
    return task.train


def _rating_error(fitted: Any, task: Task) -> float | None:
    """RMSE of the held-out ratings; models of comparisons predict them by `predict_ratings`."""
    if task.ratings is None:
        return None
    user, item, rating = task.ratings.held_out
    if isinstance(fitted, FittedRatings):
        return rmse(fitted.predict(user, item), rating)
    if not isinstance(fitted, FittedMixture | FittedPredictor) or fitted.model is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rmse(predict_ratings(fitted.model, task.ratings.given, (user, item)).mean, rating)
