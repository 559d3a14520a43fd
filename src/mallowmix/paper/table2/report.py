"""Table 2 in Markdown and as a picture: the paper's errors beside ours, with a word on what each row is."""

from collections.abc import Mapping
from typing import Any

from mallowmix.paper.experiment import Report, digits, markdown_table
from mallowmix.paper.pictures import save_picture

_PAPER = {  # (system, variant): errors at K = 10, 15, 20
    ("PMF", "real"): (1.0491, 0.9127, 0.9250),
    ("BPMF", "real"): (0.8254, 0.8236, 0.8213),
    ("BPMF", "rounded"): (0.8723, 0.8734, 0.8678),
    ("TM", "printed rule"): (0.8840, 0.8780, 0.8721),
    ("M4", "printed rule"): (0.8509, 0.8296, 0.8241),
}
PRINTED = {
    (*about, k): value
    for about, values in _PAPER.items()
    for k, value in zip((10, 15, 20), values, strict=True)
}
_COLOURS = {"PMF": "#7f7f7f", "BPMF": "#2ca02c", "TM": "#b5651d", "M4": "#08306b"}


def report(found: list[dict[str, str]], todo: list[Any]) -> Report:
    """One line a system and variant, one column a K."""
    ks = sorted({int(row["k"]) for row in found} - {0})
    heading = (
        "system",
        "prediction",
        *(f"K = {k}{whose}" for k in ks for whose in ("", ", paper")),
    )
    about = dict.fromkeys((row["system"], row["variant"]) for row in found)
    lines = [_line(found, *names, ks) for names in about]
    text = "\n".join([_BEFORE, markdown_table(heading, lines), "", _AFTER])
    return Report(
        text,
        lambda path: save_picture(path, lambda figure: _paint(figure, found), (9, 5)),
        heading,
        lines,
    )


def _line(found: list[dict[str, str]], system: str, variant: str, ks: list[int]) -> tuple[str, ...]:
    cells = {
        int(row["k"]): row for row in found if (row["system"], row["variant"]) == (system, variant)
    }
    numbers = [cells.get(k, cells.get(0)) for k in ks]  # what has no K is the same at all
    return (
        system,
        variant,
        *(digits(row[name] if row else "") for row in numbers for name in ("rmse", "paper")),
    )


_BEFORE = """# Ratings of MovieLens predicted

Root mean squared error on the test ratings of the 100 most rated films, in the split that the paper uses, beside the
paper's Table 2. The standard error of such a number is about .005; differences between rows are surer, since all have the
same test ratings. Written by `mallowmix reproduce table2`.
"""
_AFTER = """- *PMF, BPMF*: with the settings of the published code. PMF's number hangs on the seed: it overfits so small a matrix.
- *printed rule*: the paper's, the number of stars that makes the person's comparisons with the film most probable, ties
  ignored; from one fit. We do not come near the paper's numbers with it, for TM or for M4. It multiplies dozens of
  comparisons that come from one set of ratings as if they were independent, and drops most of them at the person's
  commonest number of stars, which it then chooses far too often. An integer prediction with an error of .8241 would need
  a real-valued one near .78, where BPMF has .82.
- *posterior*: the same comparisons, tempered and with a prior from the person's histogram (`predict_ratings`), four fits
  averaged; the mean, or that rounded.
- *star profiles*: what following a taste adds to each film's stars, learnt by regression on people's weights; a person's
  stars then say how much of each taste they have (`mallowmix.paper.table2.star_profiles`). The tastes, and so which films
  are alike, come from M4's comparisons.
- What is tuned is tuned on a tenth of the training ratings, held out of what is told of people (the components, learnt
  from all training ratings, have seen them). The test ratings were looked at once, by this table.
"""


def _paint(figure: Any, found: list[dict[str, str]]) -> None:
    axes = figure.subplots()
    lines = [
        row for row in found if row["k"] == max((r["k"] for r in found), key=int) or row["k"] == "0"
    ]
    for y, row in enumerate(lines):
        axes.plot(
            float(row["rmse"]), y, "o", color=_COLOURS.get(row["system"], "black"), markersize=8
        )
        if row["paper"]:
            axes.plot(
                float(row["paper"]),
                y,
                "x",
                color=_COLOURS.get(row["system"], "black"),
                markersize=9,
                markeredgewidth=2,
            )
    axes.set_yticks(range(len(lines)), [_words(row) for row in lines])
    axes.set(
        xlabel="root mean squared error on test ratings (dot: here; cross: the paper)",
        ylim=(len(lines) - 0.5, -0.5),
    )
    axes.grid(alpha=0.3)


def _words(row: Mapping[str, str]) -> str:
    k = f", K = {row['k']}" if row["k"] != "0" else ""
    return f"{row['system']}, {row['variant']}{k}"
