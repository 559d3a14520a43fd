"""The paper's footnote: how often random reference rankings are 0.05-approximately separable, at Q = 100 and K = 10."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.model.separability import lemma3_bound, separability_probability
from mallowmix.paper.experiment import Experiment, Report, Request, Row, digits, key, markdown_table
from mallowmix.paper.pictures import save_picture

PRINTED = {0.0: 0.933, 0.1: 0.870, 0.2: 0.793, 0.5: 0.426}  # from 1000 draws
COLUMNS = ("phi", "draws", "probability", "standard_error", "paper", "lemma3_bound", "version")
Q, K, THRESHOLD, PAPER_DRAWS = 100, 10, 0.05, 1000


class Task(NamedTuple):
    """A dispersion, and how many draws."""

    phi: float
    draws: int

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by."""
        return key(self.phi, self.draws)


def tasks(request: Request) -> list[Task]:
    """As many draws as in the paper, or twenty times as many."""
    return [Task(phi, PAPER_DRAWS if request.quick else 20 * PAPER_DRAWS) for phi in PRINTED]


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """The probability for each dispersion, the references being the same for all."""
    for task in todo:
        tell = request.progress
        report = (lambda done, total, tell=tell: tell("draws", done, total)) if tell else None
        found = separability_probability(
            Q, K, task.phi, threshold=THRESHOLD, n_draws=task.draws, progress=report
        )
        yield {
            "phi": task.phi,
            "draws": task.draws,
            "probability": found.probability,
            "standard_error": found.standard_error,
            "paper": PRINTED[task.phi],
            "lemma3_bound": lemma3_bound(Q, K, task.phi, THRESHOLD),
            "version": __version__,
        }


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    return f"φ = {row['phi']}: {row['probability']:.3f} (the paper {row['paper']:.3f})"


def report(found: list[dict[str, str]], todo: list[Task]) -> Report:
    """The paper's probability beside ours, with the distance in standard errors of both."""
    heading = (
        "φ",
        "paper",
        "here",
        "standard error",
        "difference in standard errors",
        "Lemma 3's bound",
    )
    lines = [_line(row) for row in found]
    text = "\n".join(
        [_BEFORE.format(draws=int(found[0]["draws"])), markdown_table(heading, lines), "", _AFTER]
    )
    return Report(
        text,
        lambda path: save_picture(path, lambda figure: _paint(figure, found), (6, 4)),
        heading,
        lines,
    )


def _line(row: Mapping[str, str]) -> tuple[str, ...]:
    p, error, paper = (float(row[name]) for name in ("probability", "standard_error", "paper"))
    off = (p - paper) / (error**2 + paper * (1 - paper) / PAPER_DRAWS) ** 0.5
    return (
        row["phi"],
        digits(paper, 3),
        digits(p),
        digits(error),
        f"{off:+.1f}",
        f"{float(row['lemma3_bound']):.1f}",
    )


_BEFORE = """# How often random references are separable

The share of {draws:,} draws of ten uniformly random reference rankings of 100 items that are 0.05-approximately separable
(Definition 1), beside the paper's, which comes from 1000 draws. Written by `mallowmix reproduce footnote`.
"""
_AFTER = """- *difference*: ours less the paper's, in standard errors of the difference; beyond ±2 is rare if both count the same
  thing.
- *Lemma 3's bound* on the same probability says nothing at this size: it is below 0.
"""


def _paint(figure: Any, found: list[dict[str, str]]) -> None:
    axes = figure.subplots()
    phi = [float(row["phi"]) for row in found]
    ours, error, paper = (
        [float(row[name]) for row in found] for name in ("probability", "standard_error", "paper")
    )
    spread = [2 * (p * (1 - p) / PAPER_DRAWS) ** 0.5 for p in paper]
    axes.errorbar(
        [x - 0.004 for x in phi],
        paper,
        spread,
        fmt="s",
        color="#b5651d",
        label="the paper (± 2 standard errors)",
    )
    axes.errorbar(
        [x + 0.004 for x in phi],
        ours,
        [2 * e for e in error],
        fmt="o",
        color="#08306b",
        label="here",
    )
    axes.set(xlabel="dispersion φ", ylabel="probability of 0.05-separability", ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


EXPERIMENT = Experiment(COLUMNS, ("phi", "draws"), tasks, rows, said, report)
