"""The numbers of a report, each from the function that computes it elsewhere."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from mallowmix.assess.contrasts import Agreed, Contrast, agreed, contrasts, distances
from mallowmix.assess.diagnose.diagnosis import diagnose
from mallowmix.assess.diagnose.diagnosis_results import Diagnosis
from mallowmix.assess.intervals.bootstrap_intervals import Intervals, intervals
from mallowmix.assess.mixing import Mixing, mixing
from mallowmix.assess.one_ranking_gain import AgainstOne
from mallowmix.checks.data_report import DataReport, check
from mallowmix.checks.unsure_components import unsure_reasons
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.known_items import known_comparisons_of
from mallowmix.data.splits import counted_users
from mallowmix.engine import Engine
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import DataError, MallowmixWarning, OptionError, check_count
from mallowmix.fitting.choose_k import Choice
from mallowmix.fitting.choose_k import choose_k as all_numbers
from mallowmix.infer.population_leaderboard import Leaderboard, leaderboard
from mallowmix.infer.weights import infer_weights
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.readers.reading import Reading
from mallowmix.typing import Array, Progress

T = TypeVar("T")
LEVEL = 0.9
TOP = 8  # pairs and items that are named


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything that a report shows, as numbers; what was not requested is None."""

    model: AnyModel
    comparisons: Comparisons
    reading: Reading | None
    data: DataReport
    leaderboard: Leaderboard
    theta: Array
    mixing: Mixing
    contrasts: tuple[Contrast, ...]
    agreed: tuple[Agreed, ...]
    distances: Array
    diagnosis: Diagnosis
    intervals: Intervals | None
    choice: Choice | None
    seed: int
    n_unknown: float = 0.0  # comparisons of items that the model does not know, left out

    @property
    def against_one(self) -> AgainstOne | None:
        """How well people are predicted, against one ranking for all."""
        return self.diagnosis.predictions

    @property
    def unsure(self) -> dict[int, list[str]]:
        """The numbers of unsure components, from 1, each with the reasons."""
        return unsure_reasons(self.diagnosis.unsure)

    @property
    def better(self) -> bool:
        """Whether several components predict better than one ranking, as far as is known."""
        return self.against_one is not None and self.against_one.better

    @property
    def no_gain(self) -> bool:
        """Whether several components are known to predict no better than one ranking."""
        return self.model.n_components > 1 and self.against_one is not None and not self.better


def compute_contents(
    model: AnyModel,
    comparisons: Comparisons | Reading,
    *,
    n_replicates: int = 40,
    choose_k: bool = True,
    refit: bool = True,
    n_simulations: int = 2,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Contents:
    """Compute the numbers of a report.

    Parameters
    ----------
    model, comparisons, n_replicates, choose_k, refit, n_simulations, unknown_items
        As in `make_report`.
    seed, n_jobs, engine, progress
        As in `make_report`.

    Returns
    -------
    Contents
    """
    _check(n_replicates, n_simulations)
    reading = comparisons if isinstance(comparisons, Reading) else None
    comparisons = comparisons.comparisons if isinstance(comparisons, Reading) else comparisons
    n_given = comparisons.n_comparisons
    comparisons = known_comparisons_of(comparisons, model.items, unknown_items)
    votes = counted_users(comparisons.with_items(model.items))
    if not len(votes):
        raise DataError(
            "There are no comparisons to report on: nobody compared two items of the model."
        )
    step = _Steps(progress)
    # what limits the answer is in the report
    with using(engine, n_jobs) as run, warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        common = {"seed": seed, "engine": run}
        theta = step("people", lambda: infer_weights(model, votes, engine=run))
        looked = step(
            "diagnosis",
            lambda: diagnose(
                model,
                comparisons,  # as given: its fingerprint says whether the model was learnt from it
                refit=refit,
                n_simulations=n_simulations,
                n_top=TOP,
                **common,
            ),
        )
        sure = _intervals(model, votes, n_replicates, progress, common)
        # of all users, as in `fit`: other users would be another split, and perhaps another number
        choice = all_numbers(comparisons, progress=progress, engine=run) if choose_k else None
        board = leaderboard(model, reading or comparisons, level=LEVEL)
    return Contents(
        model,
        votes,
        reading,
        check(votes, model.n_components),
        board,
        theta,
        mixing(theta, votes.user_weight),
        contrasts(model, votes, theta),
        agreed(model, TOP),
        distances(model),
        looked,
        sure,
        choice,
        int(seed),
        n_given - comparisons.n_comparisons,
    )


class _Steps:
    """Runs steps and reports their begin and end."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress or (lambda step, done, total: None)

    def __call__(self, name: str, work: Callable[[], T]) -> T:
        self.progress(name, 0, 1)
        found = work()
        self.progress(name, 1, 1)
        return found


def _check(n_replicates: int, n_simulations: int) -> None:
    check_count("n_simulations", n_simulations, 0)
    if n_replicates != 0 and n_replicates < 10:
        raise OptionError(
            option="n_replicates",
            value=n_replicates,
            expected="0, for no intervals, or at least 10",
        )


def _intervals(
    model: AnyModel,
    votes: Comparisons,
    n_replicates: int,
    progress: Progress | None,
    common: dict[str, Any],
) -> Intervals | None:
    """Return intervals, or None where not requested or the components are not Mallows models."""
    if not n_replicates or as_fitted(model).bradley_terry is not None:
        return None
    return intervals(model, votes, n_replicates, LEVEL, progress=progress, **common)
