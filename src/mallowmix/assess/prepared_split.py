"""`compare_on_split`: systems and models on a split that was made elsewhere."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mallowmix.assess.compare import checked_components, named_system
from mallowmix.assess.prediction_task import Task
from mallowmix.assess.system_runs import System, run_systems
from mallowmix.assess.system_scores import Compared, score_systems
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.errors import DataError, OptionError, check_choice
from mallowmix.model.fitted_model import FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.model.pair_model import UserPredictor
from mallowmix.peers.component_mixture import of_model
from mallowmix.peers.fitted_predictor import of_fitted
from mallowmix.peers.interface import Peer
from mallowmix.peers.systems import SYSTEMS
from mallowmix.peers.validation import hold_out_of
from mallowmix.typing import Progress


def compare_on_split(
    systems: Sequence[Any] | Mapping[str, Any],
    train: ComparisonsLike | None,
    given: ComparisonsLike,
    held_out: ComparisonsLike,
    *,
    n_components: int | Sequence[int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Compared:
    """Measure systems and models on a split of your own.

    Parameters
    ----------
    systems : sequence, or mapping from labels
        Each is a name from `mallowmix.peers.systems.SYSTEMS`, a peer with options of its own, a
        `FittedModel` or `M4`, or anything with
        ``predict_proba(comparisons, pairs)`` that gives (users, pairs) probabilities. The first two
        learn from `train`; the others are used as they are.
    train : Comparisons, whatever `read_comparisons` takes, or None
        What systems learn from; None where all have learnt already.
    given, held_out : Comparisons, or whatever `read_comparisons` takes
        Comparisons of the test users: what is known of them, and what is to be predicted. Users
        without given comparisons are predicted too; those without held-out ones are left out.
    n_components : int or sequence of int, optional
        K, for the systems that learn, as in `compare`; of several numbers each chooses one on
        training users.
    seed : int
        Of the fits.
    progress : callable, optional
        Called as ``progress(system, done, total)``.

    Returns
    -------
    Compared
        One row for each system, best log-loss first.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=60)
    >>> train, test = (dishes.comparisons.take_users(range(*ends)) for ends in ((0, 40), (40, 60)))
    >>> given, held_out = mm.split_items(test)
    >>> found = mm.compare_on_split(["borda", dishes.model], train, given, held_out)
    >>> [row.system for row in found.table]
    ['M4', 'borda']
    """
    candidates = checked_components(n_components)
    measured = _systems(systems)
    needs = [system.label for system in measured if system.learns is not None]
    if train is None and needs:
        raise OptionError(
            f"{needs[0]} learns from training users, and there are none: give their comparisons.",
            option="train",
            value=None,
            expected="comparisons",
        )
    task = prepared_task(train, given, held_out)
    hold_out = hold_out_of(task.given, task.held_out)
    runs = run_systems(measured, [task], hold_out, candidates, seed=seed, progress=progress)
    return score_systems(measured, runs, [task], "prepared", candidates)


def prepared_task(
    train: ComparisonsLike | None, given: ComparisonsLike, held_out: ComparisonsLike
) -> Task:
    """Make the task of a split: the same items in all parts, the same users given and held out.

    Parameters
    ----------
    train, given, held_out
        As in `compare_on_split`; without training users the task has those of `given`.

    Returns
    -------
    Task
    """
    parts = [
        as_comparisons(part) for part in (held_out, given, *([] if train is None else [train]))
    ]
    asked = parts[0].take_users(parts[0].per_user() > 0)
    if not len(asked):
        raise DataError("Nothing is held out: there is no comparison to predict.")
    labels = {
        text: item
        for part in parts
        for text, item in zip(text_of(part.items), part.items.tolist(), strict=True)
    }
    items = [labels[text] for text in sorted(labels)]
    asked, known, *learnt = (part.with_items(items) for part in (asked, *parts[1:]))
    known = _of_users(known, asked)
    made = sum(part.n_comparisons for part in (asked, known, *learnt))
    return Task(learnt[0] if learnt else known, known, asked, np.arange(asked.n_users), made=made)


def _of_users(known: Comparisons, asked: Comparisons) -> Comparisons:
    """What is given of the users who are predicted, in their order; nothing, of some."""
    number = {text: m for m, text in enumerate(text_of(asked.users))}
    new = np.array([number.get(text, -1) for text in text_of(known.users)], np.int64)
    rows = new[known.user] >= 0
    return Comparisons.from_codes(
        new[known.user[rows]],
        known.winner[rows],
        known.loser[rows],
        known.weight[rows],
        known.items,
        asked.users,
    )


def _systems(systems: Sequence[Any] | Mapping[str, Any]) -> list[System]:
    several = isinstance(systems, Sequence | Mapping) and not isinstance(systems, str)
    if not several or not systems:
        expected = "one or more systems or models, in a list or by their names"
        raise OptionError(option="systems", value=systems, expected=expected)
    if isinstance(systems, Mapping):
        return [_system(each, str(label)) for label, each in systems.items()]
    found, seen = [], Counter()
    for each in systems:
        system = _system(each, None)
        seen[system.label] += 1
        n = seen[system.label]
        found.append(system if n == 1 else _system(each, f"{system.label} {n}"))
    return found


def _system(given: Any, label: str | None) -> System:
    """A system by its name, a peer, a model or another predictor, under a label."""
    if isinstance(given, str):
        check_choice("systems", given, tuple(SYSTEMS))
        named = named_system(given)
        name = named.name if label in (None, given) else label
        return System(label or given, name, named.learns)
    if isinstance(given, FittedModel | M4):
        model = as_fitted(given)
        fitted = of_model(model) if model.predictor is None else of_fitted(model)
        label = label or type(given).__name__
        return System(label, label, fitted=fitted)
    if isinstance(given, Peer):
        return System(label or given.name, label or given.name, given)
    if not isinstance(given, UserPredictor):
        raise OptionError(
            option="systems",
            value=type(given).__name__,
            expected="names of systems, peers, models, or objects with `predict_proba`",
        )
    label = label or type(given).__name__
    return System(label, label, fitted=given)
