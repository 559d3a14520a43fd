"""Table 1 in Markdown and as a picture: the paper's columns, and what each system reached here."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from mallowmix.paper.experiment import Report, digits, markdown_table
from mallowmix.paper.pictures import save_picture

Rows = list[dict[str, str]]
_CELLS = ("on its own model", "on M4's data", "M4 on its model's data")
PAPER = {  # system: observation, component, prior, consistency, computation, as the paper prints them; None where it only cites
    "M4": ("pairwise", "Mallows", "general", "provable", "polynomial"),
    "TM": ("pairwise", "single ranking", "general", "provable", "polynomial"),
    "grade of membership PL": (
        "full",
        "Plackett–Luce",
        "Dirichlet",
        "not available",
        "not available",
    ),
    "sparse choice": ("pairwise", "single ranking", "vertices", "provable", "combinatorial"),
    "mixture of Mallows, AMP": (
        "pairwise",
        "Mallows",
        "vertices",
        "not available",
        "not available",
    ),
    "two Mallows from the top three": (
        "top-3 rank",
        "Mallows",
        "vertices",
        "provable",
        "polynomial",
    ),
    "mixture of BTL, tensors": (
        "pairwise",
        "Bradley–Terry–Luce",
        "vertices",
        "provable",
        "polynomial",
    ),
}
_OWN = {"mixture of Mallows, AMP": "Mallows, pairs", "mixture of Mallows": "Mallows, pairs"}
_OWN |= {
    "two Mallows from the top three": "two Mallows",
    "mixture of Mallows from rankings": "two Mallows",
}
_OWN |= {"mixture of BTL, tensors": "BTL", "mixture of BTL, EM": "BTL", "mixture of PL": "PL"}


def report(found: Rows, todo: list[Any]) -> Report:
    """A line a system: its row of the paper's table, then errors and log-losses."""
    systems = list(dict.fromkeys(row["system"] for row in found))
    heading = ("system", "observation", "component", "prior", *_CELLS, "seconds")
    lines = [_line(found, system) for system in systems]
    text = "\n".join(
        [_before(found), markdown_table(heading, lines), "", _AFTER, *_refusals(found), ""]
    )
    return Report(
        text,
        lambda path: save_picture(path, lambda figure: _paint(figure, found, systems), (10, 5.2)),
        heading,
        lines,
    )


def own_model(system: str) -> str:
    """The model whose data are a system's own."""
    return _OWN.get(system, system)


def _rows(found: Rows, data: str, system: str) -> Rows:
    return [row for row in found if (row["data"], row["system"]) == (data, system)]


def _mean(rows: Rows, column: str) -> float | None:
    values = [float(row[column]) for row in rows if row[column] != ""]
    return float(np.mean(values)) if values else None


def _cell(rows: Rows) -> str:
    """Like "recovered, .000, .512": whether, the error, the log-loss; means over seeds."""
    if not rows:
        return "–"
    error = _mean(rows, "error")
    if error is None:
        return "refused"
    done = [row["recovered"] for row in rows if row["recovered"]]
    times = "" if len(done) == 1 else f" {done.count('yes')}/{len(done)}"
    word = "recovered" if "yes" in done else "not recovered"
    return f"{word}{times}, {digits(error, 3)}, {digits(_mean(rows, 'log_loss'), 3)}"


def _line(found: Rows, system: str) -> tuple[str, ...]:
    about = PAPER.get(system, ("", "", "", "", ""))[:3]
    own = _rows(found, own_model(system), system)
    theirs = _rows(found, "M4", system)
    ours = _rows(found, own_model(system), "M4")
    seconds = _mean(own, "seconds")
    cells = (_cell(own), _cell(theirs), _cell(ours))
    return (system, *about, *cells, "–" if seconds is None else f"{seconds:.1f}")


def _before(found: Rows) -> str:
    size = found[0]["size"]
    seeds = len({row["seed"] for row in found})
    many = f"Means over {seeds} seeds." if seeds > 1 else "One seed."
    said = (
        _WHAT + (" This is the quick twin, with fewer people. " if size == "quick" else " ") + many
    )
    spread = [float(row["standard_error"]) for row in found if row["standard_error"]]
    said += (
        f" Log-losses have standard errors of {digits(min(spread), 3)} to {digits(max(spread), 3)} over people."
        if spread
        else ""
    )
    return "\n".join(["# The ranking mixtures of Table 1", "", *wrap(f"{said} {_PAPER}", 122), ""])


_WHAT = """Each system on data drawn from its own model, on data of M4 (12 items, 3 components, φ = .3, Dirichlet .2 each, 40
comparisons a person), and M4 on data of the system's model, all with 2,000 new people. Each cell: recovered or not (mean
fraction of discordant pairs after matching at most .02), that error, and the log-loss per held-out comparison of new people
(a coin has .693)."""
_PAPER = """Observation, component and prior are as the paper prints them; systems without them it only cites. Written by
`mallowmix reproduce table1`."""
_AFTER = """- *M4* is one fit, calibrated on training people, so that it may find that everybody holds one component (the
  vertex prior). Of rankings it sees the comparisons, which are not independent.
- *seconds* are those of learning from the system's own data.
- *refused*: the data are of a kind that the system cannot use, and it says so:
"""


def _refusals(found: Rows) -> Sequence[str]:
    refused = [row for row in found if row["note"] and row["seed"] == "0"]
    lines = [f"  - {row['system']} on data of {row['data']}: “{row['note']}”" for row in refused]
    return [line for text in lines for line in wrap(text, 122, subsequent_indent="    ")] or [
        "  (none)"
    ]


def _paint(figure: Any, found: Rows, systems: list[str]) -> None:
    axes = figure.subplots()
    y = np.arange(len(systems))
    parts = (
        ("its own model's data", "#08306b", lambda system: _rows(found, own_model(system), system)),
        ("M4's data", "#b5651d", lambda system: _rows(found, "M4", system)),
        ("M4 on its model's data", "#2ca02c", lambda system: _rows(found, own_model(system), "M4")),
    )
    for n, (label, colour, chosen) in enumerate(parts):
        values = [_mean(chosen(system), "error") for system in systems]
        width = [0.0 if value is None else value + 0.001 for value in values]
        axes.barh(y + 0.27 * (n - 1), width, 0.25, color=colour, label=label)
        for at, value in zip(y, values, strict=True):
            if value is None:
                axes.text(
                    0.003, at + 0.27 * (n - 1), "refused", fontsize=6, va="center", color=colour
                )
    axes.set_yticks(y, systems)
    axes.invert_yaxis()
    axes.set(xlabel="fraction of discordant pairs (0: exact, .5: chance)")
    axes.legend(frameon=False, fontsize="small")
