"""How much better people are predicted by tastes than by one ranking for all: the same held-out choices, asked of both."""

import dataclasses
import warnings
from dataclasses import dataclass

import numpy as np

from mallowmix.assess.diagnose.reliability import Reliability, reliability
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import counted_users, split_users
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.fitting.k_rules import ratio
from mallowmix.infer.heldout.held_out_rows import HeldOutRows, predict_held_out
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.typing import Array

LEAST_PEOPLE = 30  # fewer are not cut into those to learn from and those to ask


@dataclass(frozen=True)
class PredictionScore:
    """How well one system predicts: log-likelihood per comparison, the share predicted right (ties count half), its error."""

    name: str
    log_likelihood: float
    accuracy: float
    accuracy_error: float


@dataclass(frozen=True)
class AgainstOne:
    """Tastes against one ranking for all.

    new_people : whether both were learnt from two thirds of the people and asked about the others; if not, the model has seen
        what it is asked, and judges it a little too well
    gain, gain_error : how much more log-likelihood per comparison the tastes have, paired by person
    right, right_error : how many more are predicted right, paired by person
    """

    tastes: PredictionScore
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
) -> AgainstOne | None:
    """Tell both half of everybody's choices and ask for the rest; None where nothing is left to ask.

    refit : learn the model anew from two thirds of the people and ask about the others, so that nothing asked has been seen.
        Where there are fewer than 30 people, or the columns are not Mallows', the model is judged as it is
    """
    fitted = as_fitted(model)
    people = counted_users(comparisons.with_items(model.items))
    new = refit and people.n_users >= LEAST_PEOPLE and fitted.bradley_terry is None
    tested = (
        split_users(people.n_users, 3, seed=seed) == 0 if new else np.ones(people.n_users, bool)
    )
    known, others = people.take_users(~tested if new else tested), people.take_users(tested)
    tastes = _learn(known, model.n_components, seed, n_jobs) if new else fitted
    one = _learn(known, 1, seed, n_jobs)
    first = predict_held_out(
        dataclasses.replace(tastes, calibration=fitted.calibration),
        others,
        seed=seed,
        n_jobs=n_jobs,
    )
    if not len(first.weight):
        return None
    return _judged(first, predict_held_out(one, others, seed=seed, n_jobs=n_jobs), others, new)


def _learn(people: Comparisons, k: int, seed: int, n_jobs: int | None) -> FittedModel:
    """What limits a part of the people is not worth a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return fit(people, k, seed=seed, n_jobs=n_jobs)


def _judged(tastes: HeldOutRows, one: HeldOutRows, people: Comparisons, new: bool) -> AgainstOne:
    scores = [
        (held_out.per_user(people.n_users), _right(held_out, people.n_users))
        for held_out in (tastes, one)
    ]
    counts = people.user_weight[:, None]
    (likely, right), (likely_one, right_one) = [(a * counts, b * counts) for a, b in scores]
    return AgainstOne(
        _predicted("the tastes", likely, right),
        _predicted("one ranking for all", likely_one, right_one),
        *_difference(likely, likely_one),
        *_difference(right, right_one),
        reliability(tastes),
        int(np.count_nonzero(likely[:, 1])),
        float(tastes.weight.sum()),
        new,
    )


def _right(held_out: HeldOutRows, n_users: int) -> Array:
    """(M, 2) how much of what was held out each person's favourite won, a tie for half, and how much that is."""
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
    """The difference per comparison and its standard error, paired by person."""
    return ratio(np.column_stack([one[:, 0] - other[:, 0], one[:, 1]]))
