"""Figure 2 in Markdown and as a picture: solid angles, exact and from samples, and the plane."""

from collections.abc import Mapping
from typing import Any

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.figure2.plane import EXAMPLE_ORDERS, EXAMPLE_PHI, ROW_ROLES, example_plane
from mallowmix.paper.markdown import decimal_text, markdown_table
from mallowmix.paper.pictures import save_picture

N_PER_USER = 100  # comparisons of each user in the samples


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """The novel pairs and the row that sticks out most; the rest in one line.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of Figure2Task
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    samples = [f"{n_users:,} people" for n_users in _sizes(rows) if n_users]
    heading = ("pair", "β of component 1, 2, 3", "λ", "exact", "E itself", *samples)
    lines = [_line(rows, role) for role in ROW_ROLES]
    text = "\n".join([_BEFORE, markdown_table(heading, lines), "", _AFTER])

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, rows), (10, 5.2))

    return ExperimentReport(text, draw, heading, lines)


def _sizes(rows: list[TextRow]) -> list[int]:
    """The numbers of users, ascending; 0 is E itself."""
    return sorted({int(row["users"]) for row in rows})


def _line(rows: list[TextRow], role: str) -> tuple[str, ...]:
    """One pair; or the sums over the other rows."""
    mine = [row for row in rows if row["role"] == role]
    groups = [[row for row in mine if int(row["users"]) == size] for size in _sizes(rows)]
    exact = sum(float(row["exact"]) for row in groups[0])
    sampled = [sum(float(row["directions"]) for row in group) for group in groups]
    about = _about_pair(mine[0], role)
    if role == "other":
        about = (f"the other {len(groups[0])}, together", "", "")
    return (*about, *map(decimal_text, (exact, *sampled)))


def _about_pair(row: Mapping[str, str], role: str) -> tuple[str, str, str]:
    """Its name, its β in each component, and its λ."""
    plane = example_plane()
    pair = plane.moments.pairs[plane.names.index(row["pair"])]
    beta = plane.model.beta().reshape(3, -1)[:, pair]
    name = f"{row['pair']}, {'sticks out' if role == 'extreme' else role}"
    return name, ", ".join(decimal_text(b, 3) for b in beta), decimal_text(row["novelty"], 3)


_REFERENCES = ", ".join(EXAMPLE_ORDERS)
_BEFORE = f"""\
# The geometry of three components

Three reference rankings of five items ({_REFERENCES}), φ = {EXAMPLE_PHI}, α = 1/3 each: the
example is ours, since the numbers in the paper's Figure 2 are not in its text. The normalised
solid angle of each row of E: the fraction of directions in which it is the furthest of all.
Written by `mallowmix reproduce fig2`.
"""
_AFTER = f"""\
- *exact*: from the angles of the convex hull of the rows of E, which lie in a plane; *E itself*:
  the same from 100,000 random directions; *people*: rows of Ê from so many people with
  {N_PER_USER} comparisons each, in all dimensions.
- The paper's caption says β ≈ .01 at L = 3 (a gap of two) and ≈ .1 at L = 2 for φ = .1; exactly,
  they are .0172 and .0909.
- What the paper says holds: novel pairs have solid angles near 1/3, and rows that are no novel
  pairs but stick out of the novel pairs' triangle have small ones. From few people the noise of Ê
  adds corners: other rows take more of the angle.
"""


def _paint(figure: Any, rows: list[TextRow]) -> None:
    """The plane twice: E itself, and the rows of the largest sample."""
    plane, most = example_plane(), max(_sizes(rows))
    titles = {0: "E itself", most: f"Ê from {most:,} people"}
    for axes, n_users in zip(figure.subplots(1, 2, sharex=True, sharey=True), titles, strict=True):
        axes.fill(
            *plane.corners.T, facecolor="#eeeeee", edgecolor="black", linestyle="--", linewidth=0.8
        )
        for row in rows:
            if int(row["users"]) == n_users:
                _mark(axes, row)
        axes.set(title=titles[n_users], aspect="equal", xticks=[], yticks=[])
    figure.supxlabel(
        "dashed: the triangle of the ideal corners; number: solid angle", fontsize="small"
    )


def _mark(axes: Any, row: Mapping[str, str]) -> None:
    colour = {"extreme": "#d62728", "other": "#9ecae1"}.get(row["role"], "#08306b")
    x, y = float(row["x"]), float(row["y"])
    axes.plot(x, y, "o", color=colour, markersize=4 if row["role"] == "other" else 7)
    if row["role"] != "other":
        label = f"{row['pair']}  {float(row['directions']):.3f}"
        style = {"textcoords": "offset points", "xytext": (6, 6), "fontsize": "small"}
        axes.annotate(label, (x, y), color=colour, **style)
