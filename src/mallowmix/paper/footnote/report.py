"""The footnote in Markdown and as a picture: the paper's probabilities beside ours."""

from collections.abc import Mapping
from typing import Any

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.markdown import decimal_text, markdown_table
from mallowmix.paper.pictures import save_picture

PAPER_DRAWS = 1000
_HEADING = (
    "φ",
    "paper",
    "here",
    "standard error",
    "difference in standard errors",
    "Lemma 3's bound",
)


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """The paper's probability beside ours, and their difference in standard errors.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of FootnoteTask
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    lines = [_line(row) for row in rows]
    before = _BEFORE.format(draws=int(rows[0]["draws"]))
    text = "\n".join([before, markdown_table(_HEADING, lines), "", _AFTER])

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, rows), (6, 4))

    return ExperimentReport(text, draw, _HEADING, lines)


def _line(row: Mapping[str, str]) -> tuple[str, ...]:
    p, error, paper = (float(row[name]) for name in ("probability", "standard_error", "paper"))
    difference = (p - paper) / (error**2 + paper * (1 - paper) / PAPER_DRAWS) ** 0.5
    return (
        row["phi"],
        decimal_text(paper, 3),
        decimal_text(p),
        decimal_text(error),
        f"{difference:+.1f}",
        f"{float(row['lemma3_bound']):.1f}",
    )


_BEFORE = """\
# How often random references are separable

The fraction of {draws:,} draws of ten uniformly random reference rankings of 100 items that are
0.05-approximately separable (Definition 1), beside the paper's, which comes from 1000 draws.
Written by `mallowmix reproduce footnote`.
"""
_AFTER = """\
- *difference*: ours less the paper's, in standard errors of the difference; beyond ±2 is rare if
  both count the same thing.
- *Lemma 3's bound* on the same probability says nothing at this size: it is below 0.
"""


def _paint(figure: Any, rows: list[TextRow]) -> None:
    axes = figure.subplots()
    phi, ours, error, paper = (
        [float(row[name]) for row in rows]
        for name in ("phi", "probability", "standard_error", "paper")
    )
    spread = [2 * (p * (1 - p) / PAPER_DRAWS) ** 0.5 for p in paper]
    series = (
        (-0.004, paper, spread, "s", "#b5651d", "the paper (± 2 standard errors)"),
        (0.004, ours, [2 * e for e in error], "o", "#08306b", "here"),
    )
    for shift, values, errors, marker, colour, label in series:
        at = [x + shift for x in phi]
        axes.errorbar(at, values, errors, fmt=marker, color=colour, label=label)
    axes.set(xlabel="dispersion φ", ylabel="probability of 0.05-separability", ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
