"""Calibration by person-level validation: what to make of one comparison, and of the prior, so that predictions hold up.

A learnt model is too sure of a person. Comparisons made from one ranking, or from ratings, repeat each other; the learnt prior is
sharper than people are; and some people hold one component alone. How much of each is true is read off people themselves: part of
their comparisons is told, the rest is foretold, and the calibration that foretells best is kept.
"""

import dataclasses
import warnings
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, make_blocks, parallel_map
from mallowmix.errors import DataError, MallowmixWarning, OptionError, check_at_least, check_choice
from mallowmix.fitting.fit import METHODS, fit
from mallowmix.infer.collapsed_variational import Lens, views
from mallowmix.infer.heldout.completion import Split, foretold, split_block
from mallowmix.model.calibration import Calibration
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key, generator

EVIDENCE = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05)
SCALE = (0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
VERTEX = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SPAM = (0.0, 0.02, 0.05, 0.1, 0.2)
_STEP = 67
_ROUNDS = 3  # of going through the settings one after the other
_MANY = 300  # people whose one deal is enough
_MOST_DEALS = 12
_FITS = 4  # enough of several fits to see how far their average can be trusted
# a setting must gain so many nats, and so many standard errors of its gain, or the simpler one
# stays
_LEAST, _SURE = (0.0005, 1.0)
Array = NDArray[np.float64]
Progress = Callable[[str, int, int], None]


def calibrate(
    model: M4,
    comparisons: Comparisons,
    *,
    split: Split | Literal["auto"] = "auto",
    given: float = 0.5,
    spam: bool = False,
    most_people: int = 1000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> M4:
    """The model with the calibration that foretells these people best.

    comparisons : of people whom the model has not seen. If they are the very data that it was learnt from, a model is learnt in
        the same way from two thirds of the people, and its calibration on the others is taken
    split, given : what is told of a person, as in `completion`; "auto" deals out items where that leaves enough to ask (pairs of
        two items not told of are what a new question is like), else comparisons
    spam : also look for a share of coin-flip answers
    most_people : so many, at random, are enough

    The score is the log-loss per comparison, mean over people. `report["calibration"]` keeps it before and after.
    """
    check_choice("split", split, ("auto", "comparisons", "items"))
    check_at_least("most_people", most_people, 1)
    if not 0 <= given < 1:
        raise OptionError(
            f"given is {given}; it must be at least 0 and below 1, so that something is left to foretell."
        )
    comparisons = comparisons.with_items(model.items)
    trials = [(model, comparisons)]
    if model.report.get("fingerprint") == comparisons.fingerprint():
        trials = _learnt_anew(model, comparisons, seed, n_jobs, progress)
    trials = [(judged, _some(people, most_people, seed)) for judged, people in trials]
    chosen = split if split != "auto" else _best_split(trials[0][1], given, seed)
    search = _Search(trials, chosen, given, seed, n_jobs, progress)
    best = search.run(spam)
    before, after = (float(search.losses(trust).mean()) for trust in (Calibration(), best))
    found = {"split": chosen, "users": search.n_users, "before": before, "after": after}
    return dataclasses.replace(
        model, calibration=best, report=dict(model.report) | {"calibration": found}
    )


def _learnt_anew(
    model: M4, comparisons: Comparisons, seed: int, n_jobs: int | None, progress: Progress | None
) -> list[tuple[M4, Comparisons]]:
    """Models of two thirds of the people, learnt as the given one was, each with the comparisons of the other third.

    One is enough where a third is many people; else each third is left out in turn.
    """
    order = generator(seed, _STEP).permutation(comparisons.n_users)
    thirds = np.array_split(order, 3)
    known = model.report.get("method") in METHODS
    options = dict(model.report.get("options", {})) if known else {}
    if "n_fits" in options:
        options["n_fits"] = min(options["n_fits"], _FITS)
    trials = []
    for third in thirds[: 1 if len(thirds[0]) >= _MANY else 3]:
        others = comparisons.take_users(np.setdiff1d(order, third))
        with warnings.catch_warnings():
            # said when the model itself was learnt
            warnings.simplefilter("ignore", MallowmixWarning)
            method = model.report["method"] if known else "spectral"
            learnt = fit(
                others,
                model.n_components,
                method=method,
                seed=seed,
                n_jobs=n_jobs,
                progress=progress,
                **options,
            )
        trials.append((learnt, comparisons.take_users(np.sort(third))))
    return trials


def _some(comparisons: Comparisons, most: int, seed: int) -> Comparisons:
    if comparisons.n_users <= most:
        return comparisons
    drawn = generator(seed, _STEP, 1).choice(comparisons.n_users, most, replace=False)
    return comparisons.take_users(np.sort(drawn))


def _best_split(comparisons: Comparisons, given: float, seed: int) -> Split:
    """Items, if at least a tenth of the comparisons are then told and asked."""
    told, asked = (0.0, 0.0)
    for block in make_blocks(comparisons):
        parts = split_block(block, given, "items", as_key(seed))
        told, asked = told + parts[0].sum(), asked + parts[1].sum()
    return "items" if min(told, asked) > 0.1 * comparisons.n_comparisons else "comparisons"


class _Search:
    """Coordinate descent over the settings; every score is computed once."""

    def __init__(
        self,
        trials: list[tuple[M4, Comparisons]],
        split: Split,
        given: float,
        seed: int,
        n_jobs: int | None,
        progress: Progress | None,
    ) -> None:
        self.n_jobs, self.progress = n_jobs, progress
        deals = min(_MOST_DEALS, -(-_MANY // max(1, sum(people.n_users for _, people in trials))))
        self.trials = [
            (model, _dealt(make_blocks(people), split, given, seed, deals))
            for model, people in trials
        ]
        self.n_scores = sum(
            int(np.count_nonzero(_sums(deal.block, deal.asked)))
            for _, dealt in self.trials
            for deal in dealt
        )
        self.n_users = round(self.n_scores / deals)
        if not self.n_scores:
            raise DataError(
                "Nobody has comparisons to foretell after some were told: give more people, or lower given."
            )
        self.seen: dict[Calibration, Array] = {}

    def run(self, spam: bool) -> Calibration:
        """Settings one after the other, each at its best for the others, until nothing moves."""
        best = Calibration()
        grids = {"evidence": EVIDENCE, "scale": SCALE, "vertex": VERTEX} | (
            {"spam": SPAM} if spam else {}
        )
        for done in range(_ROUNDS):
            before = best
            for name, grid in grids.items():
                best = self._better(best, name, grid)
                if self.progress:
                    self.progress(
                        "calibration",
                        done * len(grids) + list(grids).index(name) + 1,
                        _ROUNDS * len(grids),
                    )
            if best == before:
                break
        return best

    def _better(self, best: Calibration, name: str, grid: tuple[float, ...]) -> Calibration:
        """The best value of one setting; it must earn its place."""
        for value in grid:
            tried = dataclasses.replace(best, **{name: value})
            gain = self.losses(best) - self.losses(tried)
            if gain.mean() > max(_LEAST, _SURE * gain.std() / np.sqrt(max(self.n_users, 1))):
                best = tried
        return best

    def losses(self, trust: Calibration) -> Array:
        """Log-loss per comparison of each person (and deal)."""
        if trust not in self.seen:
            parts = []
            for model, dealt in self.trials:
                fits = views(dataclasses.replace(model, calibration=trust))
                parts += parallel_map(partial(_loss, fits=fits), dealt, self.n_jobs)
            self.seen[trust] = np.concatenate(parts)
        return self.seen[trust]


class Deal(NamedTuple):
    """A block of people, and how much of each row is told and asked."""

    block: Block
    told: Array
    asked: Array


def _dealt(blocks: list[Block], split: Split, given: float, seed: int, deals: int) -> list[Deal]:
    """Everybody's comparisons dealt out, several times over where people are few."""
    keys = [as_key((seed + n) % 2**64) for n in range(deals)]
    return [Deal(block, *split_block(block, given, split, key)) for key in keys for block in blocks]


def _loss(deal: Deal, fits: list[Lens]) -> Array:
    """Everybody's mean log-loss, of those who are asked anything."""
    block, told, asked = deal
    rows = np.flatnonzero(asked > 0)
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))[rows]
    loss = -asked[rows] * np.log(foretold(block, fits, told, person, block.pair[rows]))
    n = _sums(block, asked)
    return np.bincount(person, loss, block.n_users)[n > 0] / n[n > 0]


def _sums(block: Block, weight: Array) -> Array:
    """(M,) everybody's summed weight."""
    person = np.repeat(np.arange(block.n_users), np.diff(block.starts))
    return np.bincount(person, weight, block.n_users).astype(np.float64)
