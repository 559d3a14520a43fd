"""`compare`: M4 and other systems on the same held-out comparisons.

Every system learns from the same users and predicts the same held-out comparisons of the others
from the same given ones (`assess.prediction_task`). Each gets its log-loss, accuracy, calibration,
time and memory (`assess.system_scores`). Intervals are over users: comparisons of one user are not
independent.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mallowmix.assess.prediction_task import By, Task, make_task
from mallowmix.assess.resource_meter import Meter
from mallowmix.assess.system_scores import Compared, SystemRun, score_systems
from mallowmix.assess.system_scores import SystemScore as SystemScore
from mallowmix.assess.thinning import draw_users, thinning_note
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.rankings import Rankings
from mallowmix.data.ratings import RatingTable, rating_table
from mallowmix.data.splits import check_given
from mallowmix.engine import Engine
from mallowmix.engine.conversion import as_comparisons_in_memory
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.selection import EngineName
from mallowmix.errors import (
    DataError,
    DataWarning,
    Option,
    OptionError,
    check_at_least,
    check_choice,
)
from mallowmix.infer.rating_prediction import predict_ratings
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.btl import MixedBTL
from mallowmix.peers.component_mixture import FittedMixture
from mallowmix.peers.interface import FittedRatings, rmse
from mallowmix.peers.mixed_mallows_peer import MixedMallowsPeer
from mallowmix.peers.systems import ON_REQUEST, SYSTEMS
from mallowmix.peers.validation import predicted_rows
from mallowmix.typing import Progress

_MANY = 1_000_000  # comparisons to learn from, beyond which there is a warning about the time


def compare(
    data: Any,
    n_components: int,
    *,
    systems: Sequence[str] | None = None,
    split: By = "people",
    given: float = 0.5,
    n_users: int | None = None,
    max_per_user: int | None = None,
    n_splits: int = 1,
    seed: int = 0,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Measure systems on the same held-out comparisons.

    A system that fails becomes a row that says why.

    Parameters
    ----------
    data : Comparisons, Rankings, or ratings
        Comparisons, or what they are made from: rankings, or whatever `rating_table` reads; in
        memory.
    n_components : int
        K, for the systems that have components.
    systems : sequence of str, optional
        Names from `mallowmix.peers.systems.SYSTEMS`; all that apply, except those in `ON_REQUEST`,
        unless given.
    split : {"people", "items", "comparisons"}
        What is held out (`mallowmix.assess.prediction_task`).
    given : float
        The part of a user's items (or comparisons) that is given; the rest is predicted.
    n_users : int, optional
        So many users, at random, the same in all splits; all users unless given.
    max_per_user : int, optional
        At most so many comparisons of a user, at random, in each part: train, given and held out.
        All unless given; but 150 where the data are ratings, and of n ratings never more than 6 n.
        Systems for ratings and rankings learn from theirs whole.
    n_splits : int
        So many random splits; the users of all of them make up one interval.
    seed : int
        Of the splits and the fits.
    engine : str or Engine, optional
        Where M4 ("m4", "m4-one") and mixed-membership BTL are fitted, as in `fit`; the other
        systems run on threads of this machine.
    progress : callable, optional
        Called as ``progress(system, done, total)``.

    Returns
    -------
    Compared
        One row for each system, best log-loss first.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes()
    >>> found = mm.compare(dishes.comparisons, 3, systems=["borda", "coin"], n_users=90)
    >>> [row.system for row in found.table]
    ['borda', 'coin']
    """
    check_choice("split", split, ("people", "items", "comparisons"))
    check_at_least("n_components", n_components, 1)
    check_at_least("n_splits", n_splits, 1)
    check_at_least("n_users", 3 if n_users is None else n_users, 3)
    check_at_least("max_per_user", 1 if max_per_user is None else max_per_user, 1)
    check_given(given)
    if isinstance(data, StoredComparisons):
        as_comparisons_in_memory(data, "A comparison of systems")
    data = draw_users(
        data if isinstance(data, Comparisons | Rankings) else rating_table(data), n_users, seed
    )
    rankings = data if isinstance(data, Rankings) else None
    table = data.comparisons() if isinstance(data, Rankings) else data
    names = _named(
        systems,
        "rankings" if rankings else "comparisons" if isinstance(data, Comparisons) else "ratings",
    )
    tasks = [
        make_task(table, split, given, child_seed(seed, Step.COMPARE_SPLIT, n), max_per_user)
        for n in range(n_splits)
    ]
    _warn_of_time(tasks[0].train)
    known = rankings if split == "people" else None
    runs = _all_runs(names, tasks, known, n_components, seed, engine, progress)
    found = score_systems(names, runs, tasks, split, n_components)
    made, kept = sum(task.made for task in tasks), sum(task.kept for task in tasks)
    return replace(
        found,
        notes=found.notes
        + thinning_note(made, kept, max_per_user, of_ratings=isinstance(table, RatingTable)),
    )


def _named(systems: Sequence[str] | None, given: str) -> list[str]:
    if systems is None:
        return [
            name
            for name, make in SYSTEMS.items()
            if make().needs in ("comparisons", given) and name not in ON_REQUEST
        ]
    for name in systems:
        check_choice("systems", name, tuple(SYSTEMS))
    if not systems:
        raise OptionError(
            Option("systems"),
            " is empty; name one at least.",
            option="systems",
            value=(),
            expected="at least one name",
        )
    return list(dict.fromkeys(systems))


def _warn_of_time(train: Comparisons) -> None:
    if train.n_comparisons > _MANY:
        warnings.warn(
            DataWarning(
                f"There are {train.n_comparisons:,.12g} comparisons to learn from, "
                "which takes long. At most 150 of a person (",
                Option("max_per_user", 150),
                ") or 3,000 people (",
                Option("n_users", 3000),
                ") often tell the systems apart as well.",
            ),
            stacklevel=3,
        )


def _all_runs(
    names: list[str],
    tasks: list[Task],
    rankings: Rankings | None,
    K: int,
    seed: int,
    engine: EngineName | Engine | None,
    progress: Progress | None,
) -> dict[str, list[SystemRun] | str]:
    """Every system on every task; the reason in words for one that failed."""
    runs: dict[str, list[SystemRun] | str] = {}
    for n, name in enumerate(names):
        if progress:
            progress(name, n, len(names))
        try:
            runs[name] = [
                _run(name, task, rankings, K, child_seed(seed, Step.COMPARE_FIT, t), engine)
                for t, task in enumerate(tasks)
            ]
        except Exception as error:  # whatever one system does, the others are still measured
            runs[name] = str(error) or type(error).__name__
    if progress:
        progress(names[-1], len(names), len(names))
    return runs


def _run(
    name: str,
    task: Task,
    rankings: Rankings | None,
    K: int,
    seed: int,
    engine: EngineName | Engine | None,
) -> SystemRun:
    peer = SYSTEMS[name]()
    if isinstance(peer, MixedMallowsPeer | MixedBTL):
        peer = replace(peer, engine=engine)
    data = _to_learn_from(peer.needs, task, rankings)
    with Meter() as meter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = peer.fit(data, K, seed=seed)
        p = predicted_rows(fitted, task.given, task.held_out, by_name=peer.needs == "ratings")
    return SystemRun(
        p,
        _rating_error(fitted, task),
        meter.seconds,
        meter.megabytes,
        tuple(getattr(fitted, "settings", ())),
    )


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
    if not isinstance(fitted, FittedMixture) or fitted.model is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rmse(predict_ratings(fitted.model, task.ratings.given, (user, item)).mean, rating)
