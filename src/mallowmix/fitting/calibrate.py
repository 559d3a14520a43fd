"""Calibration by validation on users: what a comparison and the prior count for in predictions.

A learnt model is too sure of a user. Comparisons made from one ranking, or from ratings, repeat
each other; the learnt prior is sharper than people are; and some people hold one component alone.
How much of each is true is estimated from users: part of their comparisons is given, the rest is
predicted, and the calibration that predicts best is kept. Where the comparisons say which ranking
they come from (`ranking_id`), the share of them that are independent answers is one of the
likelihood weights that are tried.
"""

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.dependence import mean_independent_share
from mallowmix.data.splits import SplitBy, check_given, split_comparisons
from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons_in_memory
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import (
    DataError,
    MallowmixWarning,
    Option,
    check_choice,
    check_count,
    check_flag,
)
from mallowmix.fitting.fit import fit
from mallowmix.infer.heldout.held_out_rows import predicted, split_block_rows
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.calibration import Calibration
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import CalibrationTrace
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.randomness import Step, as_key, child_seed, generator
from mallowmix.typing import Array, Progress

LIKELIHOOD_WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05)
PRIOR_SCALES = (0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
VERTEX_SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SPAM_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
_ROUNDS = 3  # of going through the settings one after the other
_MANY = 300  # users of whom one split is enough
_MOST_SPLITS = 12
_MOST_FITS = 4  # enough members to see how far their average can be relied on
# A setting must gain so many nats, and so many standard errors of its gain, or the simpler one
# stays.
_LEAST, _SURE = (0.0005, 1.0)


def calibrate(
    model: AnyModel,
    comparisons: ComparisonsLike,
    *,
    split: SplitBy | Literal["auto"] = "auto",
    given: float = 0.5,
    spam: bool = False,
    max_users: int = 1000,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> FittedModel:
    """Calibrate a model: find the settings of inference that predict these users best.

    Parameters
    ----------
    model : FittedModel or M4
        The model to calibrate.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        In memory, of users whom the model has not seen. If they are the very data that it was
        fitted to, a model is fitted in the same way to two thirds of the users, and its
        calibration on the others is taken.
    split : {"auto", "items", "comparisons"}
        What is held out of a user (`heldout`); "auto" holds items out where that leaves enough to
        predict (pairs of two items not compared before are what a new question is like), else
        comparisons.
    given : float
        The part that is given.
    spam : bool
        Also look for a share of coin-flip answers.
    max_users : int
        At most so many users are used, chosen at random.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not know.
    seed, n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    FittedModel
        The same model with another `calibration`; ``report.calibration`` holds the log-loss per
        comparison, mean over users, before and after.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=60)
    >>> mm.calibrate(dishes.model, dishes.comparisons).calibration.spam_share
    0.0
    """
    check_model(model)
    comparisons = as_comparisons_in_memory(comparisons, "Calibration")
    check_choice("split", split, ("auto", "comparisons", "items"))
    check_flag("spam", spam)
    check_count("max_users", max_users, 1)
    check_given(given)
    fitted = as_fitted(model)
    comparisons = comparisons.with_items(fitted.items, unknown_items=unknown_items)
    trials = [(fitted, comparisons)]
    with using(engine, n_jobs) as run:
        if fitted.report.was_fitted_to(comparisons.fingerprint()):
            trials = _fitted_anew(fitted, comparisons, seed, run, progress)
        trials = [(trial, _some(users, max_users, seed)) for trial, users in trials]
        chosen = split if split != "auto" else _best_split(trials[0][1], given, seed)
        search = _Search(trials, chosen, given, seed, run, progress)
        best = search.run(spam)
        before, after = (float(search.losses(each).mean()) for each in (Calibration(), best))
    trace = CalibrationTrace(chosen, search.n_users, before, after)
    return replace(fitted, calibration=best, report=replace(fitted.report, calibration=trace))


def _fitted_anew(
    model: FittedModel,
    comparisons: Comparisons,
    seed: int,
    engine: Engine,
    progress: Progress | None,
) -> list[tuple[FittedModel, Comparisons]]:
    """Models of two thirds of the users, fitted as `model` was, each with the other users.

    One is enough where a third is many users; else each third is left out in turn.
    """
    order = generator(seed, Step.CALIBRATION).permutation(comparisons.n_users)
    thirds, report = np.array_split(order, 3), model.report
    trials = []
    for third in thirds[: 1 if len(thirds[0]) >= _MANY else 3]:
        others = comparisons.take_users(np.setdiff1d(order, third))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)  # given by the first fit
            learnt = fit(
                others,
                model.n_components,
                method=report.options or SpectralOptions(),
                components=report.components,
                n_fits=min(report.n_fits, _MOST_FITS),
                predictor=False,
                seed=seed,
                engine=engine,
                progress=progress,
            )
        trials.append((learnt, comparisons.take_users(np.sort(third))))
    return trials


def _some(comparisons: Comparisons, most: int, seed: int) -> Comparisons:
    if comparisons.n_users <= most:
        return comparisons
    drawn = generator(seed, Step.CALIBRATION, 1).choice(comparisons.n_users, most, replace=False)
    return comparisons.take_users(np.sort(drawn))


def _best_split(comparisons: Comparisons, given: float, seed: int) -> SplitBy:
    """Items, if more than a tenth of the comparisons are then given and held out."""
    parts = split_comparisons(comparisons, "items", given, seed)
    enough = min(part.n_comparisons for part in parts) > 0.1 * comparisons.n_comparisons
    return "items" if enough else "comparisons"


class _Search:
    """Coordinate descent over the settings; every score is computed once."""

    def __init__(
        self,
        trials: list[tuple[FittedModel, Comparisons]],
        by: SplitBy,
        given: float,
        seed: int,
        engine: Engine,
        progress: Progress | None,
    ) -> None:
        self.engine, self.progress, self.split = engine, progress, (by, float(given))
        n_users = max(1, sum(users.n_users for _, users in trials))
        n_splits = min(_MOST_SPLITS, -(-_MANY // n_users))
        self.keys = [as_key(child_seed(seed, Step.CALIBRATION_SPLIT, n)) for n in range(n_splits)]
        self.trials = [(model, make_blocks(users)) for model, users in trials]
        self.seen: dict[Calibration, Array] = {}
        n_scores = len(self.losses(Calibration()))
        self.n_users = round(n_scores / n_splits)
        if not n_scores:
            raise DataError(
                "Nobody has comparisons left to predict after some were given: "
                "add users, or lower ",
                Option("given"),
                ".",
            )
        self.likelihood_weights = weights_to_try([users for _, users in trials])

    def run(self, spam: bool) -> Calibration:
        """Settings one after the other, each at its best for the others, until none changes."""
        best = Calibration()
        grids = {
            "likelihood_weight": self.likelihood_weights,
            "prior_scale": PRIOR_SCALES,
            "vertex_share": VERTEX_SHARES,
        } | ({"spam_share": SPAM_SHARES} if spam else {})
        for done in range(_ROUNDS):
            before = best
            for n, (name, grid) in enumerate(grids.items(), 1):
                best = self._better(best, name, grid)
                if self.progress:
                    self.progress("calibration", done * len(grids) + n, _ROUNDS * len(grids))
            if best == before:
                break
        return best

    def _better(self, best: Calibration, name: str, grid: tuple[float, ...]) -> Calibration:
        """The best value of one setting; its gain must be larger than chance."""
        for value in grid:
            tried = replace(best, **{name: value})
            gain = self.losses(best) - self.losses(tried)
            if gain.mean() > max(_LEAST, _SURE * gain.std() / np.sqrt(max(self.n_users, 1))):
                best = tried
        return best

    def losses(self, calibration: Calibration) -> Array:
        """Log-loss per comparison of each user (and split)."""
        if calibration not in self.seen:
            parts: list[Array] = []
            for model, blocks in self.trials:
                members = prepare_members(replace(model, calibration=calibration))
                for key in self.keys:
                    parts += self.engine.map(_losses, blocks, (members, *self.split, key))
            self.seen[calibration] = np.concatenate([np.empty(0), *parts])
        return self.seen[calibration]


def weights_to_try(users: list[Comparisons]) -> tuple[float, ...]:
    """The likelihood weights that are tried, in this order.

    Where comparisons come from rankings or ratings, the share of them that are independent answers
    follows 1: another weight is taken only if it predicts better than these two.
    """
    share = float(np.mean([mean_independent_share(each) for each in users]))
    own = () if share in LIKELIHOOD_WEIGHTS else (share,)
    return (LIKELIHOOD_WEIGHTS[0], *own, *LIKELIHOOD_WEIGHTS[1:])


@map_step("calibration losses")
def _losses(
    block: Block, broadcast: tuple[list[PreparedModel], SplitBy, float, np.uint64]
) -> Array:
    """The mean log-loss of each user of whom something is held out."""
    members, by, given, key = broadcast
    known, held_out = split_block_rows(block, given, by, key)
    rows = np.flatnonzero(held_out > 0)
    user = block.users_of_rows()[rows]
    n = np.bincount(user, held_out[rows], block.n_users)
    p = predicted(block, members, known, user, block.pair[rows])
    loss = np.bincount(user, -held_out[rows] * np.log(p), block.n_users)
    return (loss[n > 0] / n[n > 0]).astype(np.float64)
