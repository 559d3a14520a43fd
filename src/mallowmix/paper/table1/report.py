"""Table 1 in Markdown and as a picture: the paper's properties, and what each system reached."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.markdown import decimal_text, markdown_table, wrap_markdown
from mallowmix.paper.pictures import save_picture
from mallowmix.paper.table1.mixtures import RANKING_MIXTURES

_CELLS = ("on its own model", "on M4's data", "M4 on its model's data")
_LABELS = ("its own model's data", "M4's data", "M4 on its model's data")
_COLOURS = ("#08306b", "#b5651d", "#2ca02c")


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """A line for each system: its row of the paper's table, then errors and log-losses.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of Table1Task
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    systems = list(dict.fromkeys(row["system"] for row in rows))
    heading = ("system", "observation", "component", "prior", *_CELLS, "seconds")
    lines = [_line(rows, system) for system in systems]
    parts = [
        _before(rows),
        markdown_table(heading, lines),
        "",
        *_chains(rows),
        _AFTER,
        *_refusals(rows),
        "",
    ]

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, rows, systems), (10, 5.2))

    return ExperimentReport("\n".join(parts), draw, heading, lines)


def _three_parts(rows: list[TextRow], system: str) -> list[list[TextRow]]:
    """The system on its own model's data, on M4's, and M4 on the system's."""
    own = RANKING_MIXTURES[system].own_model
    parts = ((own, system), ("M4", system), (own, "M4"))
    return [[row for row in rows if (row["data"], row["system"]) == part] for part in parts]


def _mean(rows: list[TextRow], column: str) -> float | None:
    values = [float(row[column]) for row in rows if row[column] != ""]
    return float(np.mean(values)) if values else None


def _cell(rows: list[TextRow]) -> str:
    """Like "recovered, .000, .512": whether, the error, the log-loss; means over seeds."""
    if not rows:
        return "–"
    error = _mean(rows, "error")
    if error is None:
        return "refused"
    recovered = [row["recovered"] for row in rows if row["recovered"]]
    times = "" if len(recovered) == 1 else f" {recovered.count('yes')}/{len(recovered)}"
    word = "recovered" if "yes" in recovered else "not recovered"
    return f"{word}{times}, {decimal_text(error, 3)}, {decimal_text(_mean(rows, 'log_loss'), 3)}"


def _line(rows: list[TextRow], system: str) -> tuple[str, ...]:
    printed = RANKING_MIXTURES[system].printed
    about = printed[:3] if printed else ("", "", "")
    parts = _three_parts(rows, system)
    seconds = _mean(parts[0], "seconds")
    return (system, *about, *map(_cell, parts), "–" if seconds is None else f"{seconds:.1f}")


def _before(rows: list[TextRow]) -> str:
    quick = " This is the quick version, with fewer people." if rows[0]["size"] == "quick" else ""
    n_seeds = len({row["seed"] for row in rows})
    seeds = f"Means over {n_seeds} seeds." if n_seeds > 1 else "One seed."
    text = f"{_WHAT}{quick} {seeds}"
    errors = [float(row["standard_error"]) for row in rows if row["standard_error"]]
    if errors:
        low, high = (decimal_text(1.96 * value, 3) for value in (min(errors), max(errors)))
        text += f" Log-losses have 95% intervals of ± {low} to ± {high} over people, at one seed."
    return "\n".join(
        ["# The ranking mixtures of Table 1", "", *wrap_markdown(f"{text} {_PAPER}"), ""]
    )


_WHAT = """\
Each system on data drawn from its own model, on data of M4 (12 items, 3 components, φ = .3,
Dirichlet .2 each, 40 comparisons a person), and M4 on data of the system's model, all with 2,000
new people. Each cell: recovered or not (mean fraction of discordant pairs after matching at most
.02), that error, and the log-loss per held-out comparison of new people (a coin has .693)."""
_PAPER = """\
Observation, component and prior are as the paper prints them; systems without them it only cites.
Written by `mallowmix reproduce table1`."""
_AFTER = """\
- *M4* is one fit, calibrated on training people, so that it may find that every person has one
  component (the vertex prior). Of rankings it sees the comparisons, which are not independent.
- *seconds* are those of learning from the system's own data.
- *refused*: the data are of a kind that the system cannot use, and it says so:
"""


def _chains(rows: list[TextRow]) -> Sequence[str]:
    """How well the chains agree, where there are some."""
    drawn = [row for row in rows if row["note"] and row["error"]]
    texts = [f"- {row['system']} on data of {row['data']}: {row['note']}." for row in drawn]
    return [line for text in texts for line in wrap_markdown(text, "  ")]


def _refusals(rows: list[TextRow]) -> Sequence[str]:
    refused = [row for row in rows if row["note"] and not row["error"] and row["seed"] == "0"]
    texts = [f"  - {row['system']} on data of {row['data']}: “{row['note']}”" for row in refused]
    lines = [line for text in texts for line in wrap_markdown(text, "    ")]
    return lines or ["  (none)"]


def _paint(figure: Any, rows: list[TextRow], systems: list[str]) -> None:
    axes = figure.subplots()
    y = np.arange(len(systems))
    parts = [_three_parts(rows, system) for system in systems]
    for n, (label, colour) in enumerate(zip(_LABELS, _COLOURS, strict=True)):
        values = [_mean(three[n], "error") for three in parts]
        width = [0.0 if value is None else value + 0.001 for value in values]
        axes.barh(y + 0.27 * (n - 1), width, 0.25, color=colour, label=label)
        for at, value in zip(y + 0.27 * (n - 1), values, strict=True):
            if value is None:
                axes.text(0.003, at, "refused", fontsize=6, va="center", color=colour)
    axes.set_yticks(y, systems)
    axes.invert_yaxis()
    axes.set(xlabel="fraction of discordant pairs (0: exact, .5: chance)")
    axes.legend(frameon=False, fontsize="small")
