"""The gain of K components over one ranking for all, on the same held-out comparisons."""

import dataclasses
import warnings
from dataclasses import dataclass

import numpy as np

from mallowmix.assess.diagnose.reliability import Reliability, reliability
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import counted_users, split_users
from mallowmix.engine import Engine
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.fitting.k_rules import ratio
from mallowmix.infer.heldout.held_out_rows import HeldOutRows, predict_held_out
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.typing import Array

LEAST_PEOPLE = 30  # fewer are not split into train and test


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
    new_people : bool
        Whether both were learnt from two thirds of the users and tested on the others. If not, the
        model has seen what it is tested on, and its scores are a little too good.
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
    new_people: bool


def against_one(
    model: AnyModel,
    comparisons: Comparisons,
    *,
    refit: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> AgainstOne | None:
    """Predict half of each user's comparisons from the other half, with K components and with one.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons
        Those that the model was learnt from.
    refit : bool
        Learn the model anew from two thirds of the users and test on the others, so that nothing
        held out has been seen. With fewer than 30 users, or Bradley–Terry components, the model is
        tested as it is.
    seed, n_jobs, engine
        As in `fit`.

    Returns
    -------
    AgainstOne or None
        None where nothing is held out.
    """
    fitted = as_fitted(model)
    people = counted_users(comparisons.with_items(model.items))
    new = refit and people.n_users >= LEAST_PEOPLE and fitted.bradley_terry is None
    tested = (
        split_users(people.n_users, 3, seed=seed) == 0 if new else np.ones(people.n_users, bool)
    )
    known, others = people.take_users(~tested if new else tested), people.take_users(tested)
    with using(engine, n_jobs) as run:
        several = _learn(known, model.n_components, seed, run) if new else fitted
        one = _learn(known, 1, seed, run)
        several = dataclasses.replace(several, calibration=fitted.calibration)
        first, other = (predict_held_out(m, others, seed=seed, engine=run) for m in (several, one))
    return _judged(first, other, others, new) if len(first.weight) else None


def _learn(people: Comparisons, k: int, seed: int, engine: Engine) -> FittedModel:
    """Fit without warnings: they would be about a part of the users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(people, k, predictor=False, seed=seed, engine=engine)


def _judged(several: HeldOutRows, one: HeldOutRows, people: Comparisons, new: bool) -> AgainstOne:
    scores = [
        (held_out.per_user(people.n_users), _right(held_out, people.n_users))
        for held_out in (several, one)
    ]
    counts = people.user_weight[:, None]
    (likely, right), (likely_one, right_one) = [(a * counts, b * counts) for a, b in scores]
    return AgainstOne(
        _predicted("K components", likely, right),
        _predicted("one ranking for all", likely_one, right_one),
        *_difference(likely, likely_one),
        *_difference(right, right_one),
        reliability(several),
        int(np.count_nonzero(likely[:, 1])),
        float(several.weight.sum()),
        new,
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
    return PredictionScore(name, ratio(likely)[0], *ratio(right))


def _difference(one: Array, other: Array) -> tuple[float, float]:
    """The difference per comparison and its standard error, paired by user."""
    return ratio(np.column_stack([one[:, 0] - other[:, 0], one[:, 1]]))
