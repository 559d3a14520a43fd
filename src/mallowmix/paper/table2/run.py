"""Table 2: how well ratings of MovieLens are predicted, the error on the paper's test ratings.

All is learnt from the training ratings, and every constant is chosen on a tenth of these, held out
of what is learnt for the choice (`SettingsChoice`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.table2.rating_systems import (
    PAPER_RATING_SYSTEM,
    PREDICTOR,
    TUNED_PMF,
    RatingSystem,
)
from mallowmix.paper.table2.ratings_split import read_ratings_split
from mallowmix.paper.table2.report import report
from mallowmix.paper.table2.settings_choice import SettingsChoice
from mallowmix.peers.interface import rmse

_N_ITEMS, _KS = 100, (10, 15, 20)
_KEY = ("system", "variant", "k")
_COLUMNS = (*_KEY, "rmse", "paper", "settings", "version")
_VARIANTS = {
    "PMF": ("real",),
    TUNED_PMF: ("real",),
    "BPMF": ("real", "rounded"),
    "TM": ("printed rule", "marginals", "posterior", "posterior, rounded"),
    "M4": (
        "printed rule",
        "marginals",
        "posterior",
        "posterior, rounded",
        "star profiles",
        "star profiles, rounded",
    ),
    PREDICTOR: (
        "utilities",
        "utilities, rounded",
        "learnt on stars",
        "learnt on stars, rounded",
    ),
    PAPER_RATING_SYSTEM: ("printed rule", "posterior", "posterior, rounded"),
}
_PAPER = {  # (system, variant): errors at K = 10, 15, 20
    ("PMF", "real"): (1.0491, 0.9127, 0.9250),
    ("BPMF", "real"): (0.8254, 0.8236, 0.8213),
    ("BPMF", "rounded"): (0.8723, 0.8734, 0.8678),
    ("TM", "printed rule"): (0.8840, 0.8780, 0.8721),
    ("M4", "printed rule"): (0.8509, 0.8296, 0.8241),
    (PAPER_RATING_SYSTEM, "printed rule"): (0.8509, 0.8296, 0.8241),
}
PAPER_ERRORS = {  # (system, variant, K)
    (*about, k): value
    for about, values in _PAPER.items()
    for k, value in zip((10, 15, 20), values, strict=True)
}


class Table2Task(NamedTuple):
    """A system, which of its predictions, and K (0 where there is none to choose)."""

    system: str
    variant: str
    k: int

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)


def _tasks(request: Request) -> list[Table2Task]:
    """Everything at each K, the baseline first, the slowest last; quick: the largest K only."""
    ks = _KS[-1:] if request.quick else _KS
    baseline = [Table2Task("user + item bias", variant, 0) for variant in ("real", "rounded")]
    learnt = [
        Table2Task(system, variant, k)
        for k in ks
        for system, variants in _VARIANTS.items()
        for variant in variants
    ]
    return baseline + sorted(learnt, key=lambda task: task.system == PAPER_RATING_SYSTEM)


def _rows(tasks: Iterable[Table2Task], request: Request) -> Iterator[Row]:
    """One row for each task; a system learns once for its rows that follow each other."""
    tasks = list(tasks)
    if not tasks:
        return
    split, fitted = read_ratings_split(request.data, _N_ITEMS), None
    choice = SettingsChoice(split.train, request)
    for task in tasks:
        if fitted is None or not fitted.serves(task.system, task.k):
            fitted = RatingSystem(split, task.system, task.k, choice)
        stars, settings = fitted.predict(task.system, task.variant)
        paper = PAPER_ERRORS.get((task.system, task.variant, task.k), "")
        values = (*task, rmse(stars, split.test[2]), paper, settings, __version__)
        yield dict(zip(_COLUMNS, values, strict=True))


def _describe(row: Mapping[str, Any]) -> str:
    paper = f" (the paper {row['paper']:.4f})" if row["paper"] else ""
    return f"{row['system']}, {row['variant']}, K = {row['k'] or '–'}: {row['rmse']:.4f}{paper}"


EXPERIMENT = Experiment(_COLUMNS, _KEY, _tasks, _rows, _describe, report)
