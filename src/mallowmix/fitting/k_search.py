"""One procedure for the number of components, behind `fit`, `choose_k` and the report.

A model of each number predicts what is held out of users whom it was not learnt from, with the
likelihood weight that predicts the users of the other folds best. Which numbers are tried is in
`fitting.k_numbers`.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import split_users
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import MallowmixWarning, OptionError
from mallowmix.fitting.k_choice import Choice, KRow
from mallowmix.fitting.k_numbers import search_numbers
from mallowmix.fitting.k_rules import (
    SAME,
    Evidence,
    best_of,
    difference,
    ratio,
    recommend,
    within_one_error,
)
from mallowmix.fitting.k_users import (
    ChoiceFold,
    HeldOutSplit,
    make_choice_folds,
    users_for_choice,
)
from mallowmix.fitting.new_users import N_FOLDS
from mallowmix.infer.heldout.scored_on import Questions, ScoredOn, ScoredPeople, hard_questions
from mallowmix.infer.pooled_prediction import mixed_membership_probabilities
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.learn.spectral.estimator import fit_briefly, fit_spectral
from mallowmix.learn.spectral.number_of_components import ComponentCount, count_components
from mallowmix.learn.spectral.signed_moment import count_pairs
from mallowmix.learn.spectral.subspace import pair_statistics
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.permutations import match_components
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array, Progress

_LEAST_USERS = 8  # fewer cannot be split into folds and halves
_MOST = 40  # components, of the numbers that are tried without being asked for
_FEW_NUMBERS = 6  # about how many numbers are tried, for the progress
_TYPICAL = 3.0  # median users, for which the most active may count: their few do not decide
_ONE_EACH = (
    "cannot tell: nobody made two comparisons, and only several by the same person show whether "
    "people have different rankings."
)
LIKELIHOOD_GRID = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)


def search_k(
    comparisons: Comparisons | StoredComparisons,
    ks: list[int] | None = None,
    *,
    n_folds: int = N_FOLDS,
    refine: Literal["short", "full"] = "short",
    details: bool = False,
    seed: int = 0,
    engine: Engine,
    learn_on: Engine | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Choose a number of components by predictions of new users.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        All users; of many, a sample is used.
    ks : list of int, optional
        The numbers to try, with 1; as many as are needed unless given.
    n_folds : int
        Users are split into so many parts.
    refine : {"short", "full"}
        How far each model is refined.
    details : bool
        Whether to add what does not decide the number: the agreement of two halves of the users,
        and the spectrum.
    seed : int
        Of the split; 0 in `fit`, whatever its seed, so that one file has one answer.
    engine, progress
        As in `fit`.
    learn_on : Engine, optional
        Where the sample, which is in memory, is learnt from; threads unless given.

    Returns
    -------
    Choice
    """
    users = users_for_choice(comparisons, engine, seed)
    if users.n_users < _LEAST_USERS:
        people = "person is" if users.n_users == 1 else "people are"
        return Choice(
            None,
            f"cannot tell: {users.n_users} {people} too few to learn from some and test on others.",
            False,
            (),
        )
    if not _anybody_made_two(users):
        return Choice(None, _ONE_EACH, False, ())
    if n_folds > users.n_users:
        expected = f"at most the number of people, {users.n_users}"
        raise OptionError(option="n_folds", value=n_folds, expected=expected)
    with threadpool_limits(1):  # as in `fit`
        own = child_seed(seed, Step.CHOICE_FIT)
        questions = hard_questions(users)
        trials = make_choice_folds(users, questions, n_folds, seed)
        expected = (n_folds + 2 * details) * (_FEW_NUMBERS if ks is None else len({1, *ks}))
        local = learn_on or ThreadEngine(engine.n_jobs)
        work = _Work(users, trials, refine, own, local, progress, expected)
        tried = _try_numbers(work, ks)
        spectrum = _spectrum(work, max(row.k for row in tried)) if details else None
        found = [_with_details(work, row, spectrum) for row in tried] if spectrum else tried
    k, reason, certain = recommend(found, None if spectrum is None else spectrum.n_components)
    asked = {row.k for row in found} if ks is None else {*ks, k}
    best = best_of(found)
    table = tuple(_row(row, best) for row in found if row.k in asked)
    return Choice(k, reason, certain, table, ScoredOn(ScoredPeople.NEW, Questions(questions[0])))


def _anybody_made_two(users: Comparisons) -> bool:
    """Whether anybody compared two pairs, or one pair twice; a tie, half for either, is once."""
    Q = users.n_items
    low, high = np.minimum(users.winner, users.loser), np.maximum(users.winner, users.loser)
    pairs = np.unique(users.user.astype(np.int64) * Q**2 + low.astype(np.int64) * Q + high)
    return bool(
        (np.diff(pairs // Q**2) == 0).any() or np.bincount(users.user, users.weight).max() > 1
    )


@dataclass
class _Work:
    """The users, how to learn, and how many of the models are done."""

    users: Comparisons
    trials: list[ChoiceFold]
    refine: Literal["short", "full"]
    seed: int
    local: Engine
    progress: Progress | None
    expected: int
    done: int = 0

    def learn(self, users: Comparisons, k: int) -> FittedModel:
        """A model of k components; warnings about a part of the users are left out."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            fit_one = fit_briefly if self.refine == "short" else fit_spectral
            model = fit_one(users, k, seed=self.seed, engine=self.local)
        self.done += 1
        if self.progress:
            self.progress("numbers", self.done, max(self.done, self.expected))
        return model


def largest_number(users: Comparisons) -> int:
    """The largest K that half of the users and the number of pairs allow."""
    n_pairs = users.n_items * (users.n_items - 1) // 2
    return max(1, min(users.n_users // 2, n_pairs + 1))


def _try_numbers(work: _Work, ks: list[int] | None) -> list[Evidence]:
    """Those that were asked for, with 1; or as many as are needed, and the neighbours."""
    most = largest_number(work.users)
    if ks is not None:
        return [_evidence(work, k) for k in sorted({1, *ks}) if k <= most]
    found: list[Evidence] = []

    def attempt(k: int) -> None:
        found.append(_evidence(work, k))

    search_numbers(
        attempt,
        best=lambda: _smallest_best(found).k,
        chosen=lambda: within_one_error(found).k,
        most=min(most, _MOST),
    )
    return sorted(found, key=lambda row: row.k)


def _smallest_best(found: list[Evidence]) -> Evidence:
    """The smallest number that predicts as well as the best but for next to nothing."""
    most = best_of(found).mean
    return min((row for row in found if row.mean >= most - SAME), key=lambda row: row.k)


def _evidence(work: _Work, k: int) -> Evidence:
    """Held-out scores of every user, each by the likelihood weight that suits the other folds."""
    grid = LIKELIHOOD_GRID if k > 1 else (1.0,)
    table, counts = np.zeros((len(grid), work.users.n_users)), np.zeros(work.users.n_users)
    shares = []
    for trial in work.trials:
        model = work.learn(trial.train, k)
        shares.append(float(model.share.min()))
        for split in trial.splits:
            user, n = split.held_out.users(), len(trial.test)
            counts[trial.test] += np.bincount(user, split.weight, n)
            for g, weight in enumerate(grid):
                log_p = np.log(_probabilities(model, split, weight))
                table[g, trial.test] += np.bincount(user, split.weight * log_p, n)
    user_weight = work.users.user_weight * _tempered(counts)
    scores, chosen = _cross_fitted(table * user_weight, work.trials)
    rows = np.column_stack([scores, counts * user_weight])
    return Evidence(k, rows, float(np.mean(shares)), float(np.mean([grid[g] for g in chosen])))


def _tempered(counts: Array) -> Array:
    """(M,) a factor by which nobody counts for more than a few typical users."""
    most = _TYPICAL * float(np.median(counts[counts > 0])) if counts.any() else 1.0
    return np.minimum(1.0, most / np.maximum(counts, 1e-300))


def _probabilities(model: FittedModel, split: HeldOutSplit, likelihood_weight: float) -> Array:
    prepared = prepare_components(model.m4, Calibration(likelihood_weight=likelihood_weight))
    return mixed_membership_probabilities(split.given, prepared, split.held_out)


def _cross_fitted(table: Array, trials: list[ChoiceFold]) -> tuple[Array, list[int]]:
    """(M,) each user's score, with the row of `table` that is best for the users of other folds."""
    scores, chosen = np.zeros(table.shape[1]), []
    total = table.sum(axis=1)
    for trial in trials:
        best = int(np.argmax(total - table[:, trial.test].sum(axis=1)))
        scores[trial.test] = table[best, trial.test]
        chosen.append(best)
    return scores, chosen


# ---- what does not decide ----


def _spectrum(work: _Work, most: int) -> ComponentCount:
    """The leading eigenvalues of the signed moment of the users, and the noise edge."""
    blocks = make_blocks(work.users)
    pairs = pair_statistics(count_pairs(blocks, work.local), work.users.n_items)
    return count_components(blocks, pairs, work.local, most=most, seed=work.seed)


def _with_details(work: _Work, row: Evidence, spectrum: ComponentCount) -> Evidence:
    k, values = row.k, spectrum.values
    value = float(values[k - 2]) if 2 <= k <= len(values) + 1 else None
    return row._replace(
        agreements=_agreements(work, k), eigenvalue=value, edge=float(spectrum.edge)
    )


def _agreements(work: _Work, k: int) -> tuple[float, ...]:
    """Models of either half of the users, matched: 1 − Kendall's fraction, most first."""
    half = split_users(work.users.n_users, 2, seed=work.seed, draw=1)
    one, other = (work.learn(work.users.take_users(half == h), k) for h in (0, 1))
    return tuple(
        sorted((1 - match_components(one.sigma, other.sigma).kendall).tolist(), reverse=True)
    )


def _row(row: Evidence, best: Evidence) -> KRow:
    mean, error = ratio(row.scores)
    gap, gap_error = difference(row, best) if row is not best else (0.0, 0.0)
    return KRow(
        row.k,
        mean,
        error,
        gap,
        gap_error,
        row.agreements[-1] if row.agreements else math.nan,
        row.agreements,
        row.smallest_share,
        row.eigenvalue,
        row.edge,
        row.likelihood_weight,
    )
