"""`compare`: M4 and other systems on the same held-out comparisons.

Every system learns from the same users and predicts the same held-out comparisons of the others
from the same given ones (`assess.prediction_task`). Each gets its log-loss, accuracy, calibration,
time and memory (`assess.system_scores`). Intervals are over users: comparisons of one user are not
independent.
"""

import warnings
from collections.abc import Sequence, Set
from dataclasses import replace
from os import PathLike
from typing import Any

from mallowmix.assess.kept_runs import KeptRuns
from mallowmix.assess.prediction_task import By, make_task
from mallowmix.assess.system_runs import System, run_systems
from mallowmix.assess.system_scores import Compared, score_systems
from mallowmix.assess.system_scores import SystemScore as SystemScore
from mallowmix.assess.thinning import draw_users, thinning_note
from mallowmix.data.argument_kinds import as_path
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import frame_kind
from mallowmix.data.rankings import Rankings
from mallowmix.data.ratings import RatingTable, holds_ratings, rating_table
from mallowmix.data.splits import check_given
from mallowmix.engine import Engine
from mallowmix.engine.conversion import as_comparisons_in_memory
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.selection import EngineName
from mallowmix.errors import (
    DataWarning,
    Option,
    OptionError,
    check_choice,
    check_count,
)
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.btl import MixedBTL
from mallowmix.peers.component_choice import Candidates
from mallowmix.peers.mixed_mallows_peer import DefaultFit, MixedMallowsPeer
from mallowmix.peers.systems import ON_REQUEST, SYSTEMS
from mallowmix.peers.validation import HoldOut
from mallowmix.typing import Progress

COMPONENTS = (1, 2, 3, 5)
"""Numbers of components that each system tries first, unless others are given."""
_MANY = 1_000_000  # comparisons to learn from, beyond which there is a warning about the time


def compare(
    data: Any,
    n_components: int | Sequence[int] | None = None,
    *,
    systems: Sequence[str] | None = None,
    split: By = "people",
    given: float = 0.5,
    n_users: int | None = None,
    max_per_user: int | None = None,
    n_splits: int = 3,
    seed: int = 0,
    engine: EngineName | Engine | None = None,
    keep_in: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Measure systems on the same held-out comparisons.

    Each system is used at its best: its settings, and the number of components where there are
    several candidates, are chosen on training users of whom the same is held out as of the test
    users. A system that fails becomes a row that says why.

    Parameters
    ----------
    data : Comparisons, or whatever `read_comparisons` takes; Rankings, or ratings
        Comparisons, or what they are made from: rankings, or whatever `rating_table` reads; in
        memory.
    n_components : int or sequence of int, optional
        K, for the systems that have components; of several numbers each system chooses one. Unless
        given, each tries 1, 2, 3 and 5, and larger ones as long as the largest is the best.
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
        So many random splits; a user who is predicted in several of them counts once in the
        intervals.
    seed : int
        Of the splits and the fits.
    engine : str or Engine, optional
        Where `fit` ("mallowmix"), M4 ("m4", "m4-one") and mixed-membership BTL are fitted, as in
        `fit`; the other systems run on threads of this machine.
    keep_in : str or path, optional
        A folder for what each system predicts. With the same folder, data and options a comparison
        that was interrupted goes on where it was.
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
    candidates = checked_components(n_components)
    check_count("n_splits", n_splits, 1)
    check_count("n_users", 3 if n_users is None else n_users, 3)
    check_count("max_per_user", 1 if max_per_user is None else max_per_user, 1)
    check_given(given)
    if isinstance(data, StoredComparisons):
        as_comparisons_in_memory(data, "A comparison of systems")
    kind = data.frame_kind if isinstance(data, Comparisons) else frame_kind(data)
    data = draw_users(_data(data), n_users, seed)
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
    hold_out = HoldOut("comparisons" if split == "comparisons" else "auto", given)
    measured = [named_system(name, engine) for name in names]
    settings = [hold_out, candidates, rankings is not None, seed]
    kept = None if keep_in is None else KeptRuns(as_path(keep_in), tasks, settings)
    runs = run_systems(
        measured,
        tasks,
        hold_out,
        candidates,
        rankings=rankings if split == "people" else None,
        seed=seed,
        kept=kept,
        progress=progress,
    )
    found = score_systems(measured, runs, tasks, split, candidates)
    made, kept = sum(task.made for task in tasks), sum(task.kept for task in tasks)
    return replace(
        found,
        notes=found.notes
        + thinning_note(made, kept, max_per_user, of_ratings=isinstance(table, RatingTable)),
        frame_kind=kind,
    )


def _data(given: Any) -> Comparisons | Rankings | RatingTable:
    """What was given, in one of three forms; what holds no ratings is read as comparisons."""
    if isinstance(given, Comparisons | Rankings | RatingTable):
        return given
    return (
        rating_table(given)
        if holds_ratings(given)
        else as_comparisons_in_memory(given, "A comparison of systems")
    )


def checked_components(n_components: int | Sequence[int] | None) -> Candidates:
    """The candidates for K, each once, in the order given."""
    if n_components is None:
        return Candidates(COMPONENTS, further=True)
    values = n_components if isinstance(n_components, Sequence) else (n_components,)
    for value in values:
        check_count("n_components", value, 1)
    if not values:
        raise OptionError(option="n_components", value=(), expected="one or more whole numbers")
    return Candidates(tuple(dict.fromkeys(int(value) for value in values)))


def named_system(name: str, engine: EngineName | Engine | None = None) -> System:
    """A system by its name in `SYSTEMS`; those that take an engine run on it."""
    peer = SYSTEMS[name]()
    if engine is not None and isinstance(peer, MixedMallowsPeer | MixedBTL | DefaultFit):
        peer = replace(peer, engine=engine)
    return System(name, peer.name, peer)


def _named(systems: Sequence[str] | None, given: str) -> list[str]:
    if systems is None:
        return [
            name
            for name, make in SYSTEMS.items()
            if make().needs in ("comparisons", given) and name not in ON_REQUEST
        ]
    systems = [systems] if isinstance(systems, str) else systems
    if not isinstance(systems, Sequence | Set):
        known = f"a list of names, from {', '.join(map(repr, SYSTEMS))}"
        raise OptionError(option="systems", value=systems, expected=known)
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
