"""The paper's footnote: how often random reference rankings are 0.05-approximately separable."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.model.separability import lemma3_bound, separability_probability
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.footnote.report import PAPER_DRAWS, report

# by dispersion, from PAPER_DRAWS draws
PAPER_PROBABILITIES = {0.0: 0.933, 0.1: 0.870, 0.2: 0.793, 0.5: 0.426}
_COLUMNS = ("phi", "draws", "probability", "standard_error", "paper", "lemma3_bound", "version")
_Q, _K, _THRESHOLD = 100, 10, 0.05
_QUICK_DRAWS, _DRAWS = PAPER_DRAWS, 20 * PAPER_DRAWS


class FootnoteTask(NamedTuple):
    """A dispersion, and the number of draws."""

    phi: float
    draws: int

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)


def _tasks(request: Request) -> list[FootnoteTask]:
    """Quick: as many draws as in the paper; else twenty times as many."""
    draws = _QUICK_DRAWS if request.quick else _DRAWS
    return [FootnoteTask(phi, draws) for phi in PAPER_PROBABILITIES]


def _rows(tasks: Iterable[FootnoteTask], request: Request) -> Iterator[Row]:
    """The probability for each dispersion; all dispersions have the same references."""
    progress = request.progress
    count = (lambda done, total: progress("draws", done, total)) if progress else None
    for phi, draws in tasks:
        found = separability_probability(
            _Q, _K, phi, threshold=_THRESHOLD, n_draws=draws, progress=count
        )
        yield {
            "phi": phi,
            "draws": draws,
            "probability": found.probability,
            "standard_error": found.standard_error,
            "paper": PAPER_PROBABILITIES[phi],
            "lemma3_bound": lemma3_bound(_Q, _K, phi, _THRESHOLD),
            "version": __version__,
        }


def _describe(row: Mapping[str, Any]) -> str:
    return f"φ = {row['phi']}: {row['probability']:.3f} (the paper {row['paper']:.3f})"


EXPERIMENT = Experiment(_COLUMNS, ("phi", "draws"), _tasks, _rows, _describe, report)
