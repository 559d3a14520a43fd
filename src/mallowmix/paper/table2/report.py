"""Table 2 in Markdown and as a picture: the paper's errors beside ours."""

from collections.abc import Mapping
from typing import Any

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.markdown import decimal_text, markdown_table
from mallowmix.paper.pictures import save_picture

_COLOURS = {
    "PMF": "#7f7f7f",
    "BPMF": "#2ca02c",
    "TM": "#b5651d",
    "M4": "#08306b",
    "predictor": "#c51b8a",
    "M4, Algorithms 1–4": "#4292c6",
}


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """A line for each system and variant, a column for each K.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of Table2Task
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    ks = sorted({int(row["k"]) for row in rows} - {0})
    errors = [f"K = {k}{whose}" for k in ks for whose in ("", ", paper")]
    heading = ("system", "prediction", *errors)
    about = dict.fromkeys((row["system"], row["variant"]) for row in rows)
    lines = [_line(rows, *names, ks) for names in about]
    text = "\n".join([_BEFORE, markdown_table(heading, lines), "", _AFTER])

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, rows), (9, 5))

    return ExperimentReport(text, draw, heading, lines)


def _line(rows: list[TextRow], system: str, variant: str, ks: list[int]) -> tuple[str, ...]:
    mine = [row for row in rows if (row["system"], row["variant"]) == (system, variant)]
    by_k = {int(row["k"]): row for row in mine}
    cells = [by_k.get(k, by_k.get(0)) for k in ks]  # what has no K is the same at all
    errors = [row[name] if row else "" for row in cells for name in ("rmse", "paper")]
    return (system, variant, *map(decimal_text, errors))


_BEFORE = """\
# Ratings of MovieLens predicted

Root mean squared error on the test ratings of the 100 most rated films, in the split that the
paper uses, beside the paper's Table 2. The 95% interval of such a number is about ± .01;
differences between rows are surer, since all have the same test ratings. Written by
`mallowmix reproduce table2`.
"""
_AFTER = """\
Every constant is chosen on a tenth of the training ratings, held out of all that is learnt for the
choice, at K = 10 where nothing else is said (`mallowmix.paper.table2.settings_choice`). One number
is changed at a time, by factors of 2 and then of √2, and further while the best is at an end. The
column `settings` of the CSV file has what was chosen. No test rating decides anything.

- *PMF, BPMF*: with the settings of the published code; *PMF, penalty chosen*: its λ at each K.
- *printed rule*: the paper's, the number of stars that makes the person's comparisons with the
  film most probable given their others, all together (θ integrated out by 200 draws), ties
  ignored. *marginals*: the same with the product of each comparison's own probability, as if they
  were independent given the others. Ignoring ties drops most comparisons at the person's commonest
  number of stars, which both then choose far too often. An integer prediction with an error of
  .8241 would need a real-valued one near .775, where BPMF has .82.
- *M4*: one fit, the default method; how much a person counts for in learning, at most, is chosen by
  short fits (`refine="short"`).
- *Algorithms 1–4*: the paper's own method with the corrected tests, metric and ζ chosen by the
  printed rule's error at each K.
- *TM*: M4's rankings with φ = 0 and a floor, the share of coin flips, chosen by the rule in
  question.
- *posterior*: the same comparisons, tempered and with a prior from the person's histogram
  (`predict_ratings`); the mean, or that rounded.
- *star profiles*: what following a component adds to each film's stars, learnt by regression on
  people's weights; a person's stars then say how much of each component they have
  (`mallowmix.paper.table2.star_profiles`). The components, and so which films are alike, come
  from M4's comparisons.
- *predictor*: what the same call of `fit` also learns; its Gaussian utilities say how people's
  utilities of films go together. *utilities*: stars are read off them by a line, of which two
  numbers are chosen; *learnt on stars*: their covariance is where EM begins that learns the
  covariance of stars from the training ratings (`mallowmix.paper.table2.utilities_stars`).
"""


def _paint(figure: Any, rows: list[TextRow]) -> None:
    """The largest K, and what has no K."""
    axes = figure.subplots()
    largest = max((row["k"] for row in rows), key=int)
    lines = [row for row in rows if row["k"] in (largest, "0")]
    for y, row in enumerate(lines):
        colour = _COLOURS.get(row["system"], "black")
        axes.plot(float(row["rmse"]), y, "o", color=colour, markersize=8)
        if row["paper"]:
            style = {"markersize": 9, "markeredgewidth": 2}
            axes.plot(float(row["paper"]), y, "x", color=colour, **style)
    axes.set_yticks(range(len(lines)), [_words(row) for row in lines])
    axes.set(
        xlabel="root mean squared error on test ratings (dot: here; cross: the paper)",
        ylim=(len(lines) - 0.5, -0.5),
    )
    axes.grid(alpha=0.3)


def _words(row: Mapping[str, str]) -> str:
    k = f", K = {row['k']}" if row["k"] != "0" else ""
    return f"{row['system']}, {row['variant']}{k}"
