"""The gain of K components over one ranking for all, on the same held-out comparisons."""

import dataclasses
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mallowmix.assess.diagnose.reliability import Reliability, reliability
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import HeldOutBy, counted_users
from mallowmix.engine import Engine
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.fitting.new_users import predict_new_users
from mallowmix.infer.heldout.held_out_rows import HeldOutRows, predict_held_out
from mallowmix.infer.heldout.scored_on import (
    Questions,
    ScoredOn,
    ScoredPeople,
    hard_questions,
    people_beside,
    people_of,
)
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.typing import Array

LEAST_PEOPLE = 30  # fewer are not split into train and test
MOST_REFITTED = 100_000  # comparisons: of more, one part of the users alone is predicted
MOST_COMPARISONS = 5_000_000  # of more, nothing is learnt anew
CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class PredictionScore:
    """How well a model predicts.

    Attributes
    ----------
    name : str
    log_likelihood : float
        Per comparison.
    accuracy, accuracy_error : float
        The fraction predicted right (ties count half), and its standard error.
    """

    name: str
    log_likelihood: float
    accuracy: float
    accuracy_error: float


@dataclass(frozen=True)
class AgainstOne:
    """K components against one ranking for all.

    Attributes
    ----------
    several, one : PredictionScore
        Of the K components, and of one.
    gain, gain_error : float
        The gain in log-likelihood per comparison, and its standard error, paired by user.
    right, right_error : float
        The gain in accuracy, and its standard error, paired by user.
    reliability : Reliability
        Of the probabilities that the K components predict.
    n_people, n_comparisons : int, float
        Of what was held out.
    scored_on : ScoredOn
        On whom and on which questions.
    """

    several: PredictionScore
    one: PredictionScore
    gain: float
    gain_error: float
    right: float
    right_error: float
    reliability: Reliability
    n_people: int
    n_comparisons: float
    scored_on: ScoredOn

    @property
    def better(self) -> bool:
        """Whether the components predict better than one ranking, by two standard errors."""
        return self.gain > CLEAR * self.gain_error

    @property
    def unclear(self) -> bool:
        """Whether they predict better by less than that, so that it may be chance."""
        return self.gain > 0 and not self.better


def against_one(
    model: AnyModel,
    comparisons: Any,
    *,
    held_out: Comparisons | None = None,
    refit: bool = True,
    questions: tuple[HeldOutBy, float] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> AgainstOne | None:
    """Predict part of users' comparisons from the rest, with K components and with one.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons or StoredComparisons
        Those that the model was learnt from.
    held_out : Comparisons, optional
        Others to predict, with the model as it is.
    refit : bool
        Learn the model anew from two thirds of the users and test on the others, each third in
        turn (the first alone beyond 100,000 comparisons), so that nobody tested has been seen.
        With fewer than 30 users or more than 5 million comparisons the model is tested as it is.
    questions : (split, given), optional
        What is held out, as in `predict_held_out`; the hard questions of
        `infer.heldout.scored_on.hard_questions` unless given.
    seed, n_jobs, engine
        As in `fit`.

    Returns
    -------
    AgainstOne or None
        None where nothing is held out. It is about the components alone: what a `Predictor` adds is
        in ``model.report.predictor``.
    """
    tested = comparisons if held_out is None else held_out
    split, given = questions or hard_questions(tested)
    how = {"split": split, "given": given, "seed": seed}
    with using(engine, n_jobs) as run:
        if held_out is None and refit and _enough(comparisons):
            users, people = counted_users(comparisons.with_items(model.items)), ScoredPeople.NEW
            several, one = _refitted(as_fitted(model), users, how | {"engine": run})
        else:
            people = people_of(model, tested)
            if held_out is not None and people != ScoredPeople.FITTED:
                people = people_beside(comparisons, held_out)
            users = _counted(tested.with_items(model.items))
            single = _learnt_one(as_fitted(model), comparisons.with_items(model.items), seed, run)
            several, one = (
                predict_held_out(each, users, engine=run, **how) for each in (model, single)
            )
    scored_on = ScoredOn(people, Questions(split))
    return _judged(several, one, users, scored_on) if len(several.weight) else None


def _enough(comparisons: Any) -> bool:
    """Whether there are enough users to learn from some and test on others, and not too many."""
    in_memory = isinstance(comparisons, Comparisons)
    few = comparisons.n_comparisons <= MOST_COMPARISONS
    return in_memory and few and counted_users(comparisons).n_users >= LEAST_PEOPLE


def _counted(comparisons: Any) -> Any:
    return counted_users(comparisons) if isinstance(comparisons, Comparisons) else comparisons


def _refitted(
    fitted: FittedModel, users: Comparisons, how: dict[str, Any]
) -> tuple[HeldOutRows, HeldOutRows]:
    """Held-out rows of users, by models of other users: of K components, and of one."""
    most = 1 if users.n_comparisons > MOST_REFITTED else None
    several = predict_new_users(users, partial(_learn_again, fitted, how), most_folds=most, **how)
    if fitted.n_components == 1:
        return several.rows, several.rows
    learn = partial(_learnt_one, None, seed=how["seed"], engine=how["engine"])
    return several.rows, predict_new_users(users, learn, most_folds=most, **how).rows


def _learn_again(fitted: FittedModel, how: dict[str, Any], users: Comparisons) -> FittedModel:
    """The model anew from some users, as it was learnt, with its calibration."""
    kind = "mallows" if fitted.bradley_terry is None else "bradley-terry"
    method = fitted.report.options or "spectral"
    K = min(fitted.n_components, users.n_users)
    with _quiet():
        model = fit(
            users,
            K,
            method=method,
            components=kind,
            predictor=False,
            seed=how["seed"],
            engine=how["engine"],
        )
    return dataclasses.replace(model, calibration=fitted.calibration)


def _learnt_one(
    fitted: FittedModel | None, comparisons: Any, seed: int, engine: Engine
) -> FittedModel:
    """One ranking for all; the model itself where it has one component."""
    if fitted is not None and fitted.n_components == 1:
        return fitted
    with _quiet():
        return fit(comparisons, 1, predictor=False, seed=seed, engine=engine)


def _quiet() -> warnings.catch_warnings:
    """Without warnings, which would be about a part of the users."""
    return warnings.catch_warnings(action="ignore", category=MallowmixWarning)


def _judged(several: HeldOutRows, one: HeldOutRows, users: Any, scored_on: ScoredOn) -> AgainstOne:
    M, counts = users.n_users, users.user_weight[:, None]
    (likely, right), (likely_one, right_one) = [
        (rows.per_user(M) * counts, _right(rows, M) * counts) for rows in (several, one)
    ]
    return AgainstOne(
        _predicted("K components", likely, right),
        _predicted("one ranking for all", likely_one, right_one),
        *_difference(likely, likely_one),
        *_difference(right, right_one),
        reliability(several._replace(weight=several.weight * users.user_weight[several.user])),
        int(np.count_nonzero(likely[:, 1])),
        float(several.weight.sum()),
        scored_on,
    )


def _right(held_out: HeldOutRows, n_users: int) -> Array:
    """(M, 2) held-out weight that each user's likelier side won (a tie: half), and all of it."""
    right = np.where(
        held_out.probability > 0.5, 1.0, np.where(held_out.probability == 0.5, 0.5, 0.0)
    )
    sums = [
        np.bincount(held_out.user, held_out.weight * value, n_users)
        for value in (right, np.ones(len(right)))
    ]
    return np.column_stack(sums).astype(np.float64)


def _predicted(name: str, likely: Array, right: Array) -> PredictionScore:
    return PredictionScore(name, _ratio(likely)[0], *_ratio(right))


def _ratio(scores: Array) -> tuple[float, float]:
    return clustered_ratio(scores[:, 0], scores[:, 1])


def _difference(one: Array, other: Array) -> tuple[float, float]:
    """The difference per comparison and its standard error, paired by user."""
    return _ratio(np.column_stack([one[:, 0] - other[:, 0], one[:, 1]]))
