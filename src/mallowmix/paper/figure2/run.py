"""Figure 2: the rows of E with three components lie in a triangle; which of them are its corners, and by how much.

Every row of E is a convex combination of three ideal corners. Novel pairs lie near these; other rows can stick out of the novel
pairs' own triangle, but only just. The solid angle, the share of directions in which a row is furthest, tells the two apart.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix._version import __version__
from mallowmix.learn.paper.pair_moments import HalfMoments
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.m4 import M4
from mallowmix.model.population_moments import (
    PopulationMoments,
    population_moments,
)
from mallowmix.model.separability import novel_pairs
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.paper.experiment import Experiment, Report, Request, Row, digits, key, markdown_table
from mallowmix.paper.pictures import save_picture
from mallowmix.paper.theory.solid_angles import hull_coordinates, solid_angles
from mallowmix.typing import Array

# λ = .019, and two of 20 rows stick out
ORDERS, PHI, ALPHA, PER_USER = (("abcde", "bcdea", "dbace"), 0.1, 1 / 3, 100)
REFERENCES = ", ".join(ORDERS)
PEOPLE = (0, 1000, 10_000, 100_000)  # 0: the limit, E itself
COLUMNS = ("people", "pair", "role", "x", "y", "novelty", "exact", "directions", "version")
ROLES = ("novel 1", "novel 2", "novel 3", "extreme", "other")


class Task(NamedTuple):
    """An ordered pair, in E itself (0 people) or in E from so many people."""

    people: int
    pair: str

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by."""
        return key(self.people, self.pair)


class Plane(NamedTuple):
    """The plane of the rows of E: its origin and axes in the W coordinates of a row, and everything in it."""

    model: AnyModel
    moments: PopulationMoments
    origin: Array  # (W,)
    axes: Array  # (2, W)
    corners: Array  # (3, 2) the ideal extreme points
    points: Array  # (W, 2) the rows of E
    exact: Array  # (W,) their solid angles
    novelty: Array  # (W,) the second largest β of a row over its largest: λ of the pair
    role: list[str]  # (W,)

    @property
    def names(self) -> list[str]:
        """a>b for each row."""
        items, Q = self.model.items, self.model.n_items
        return [f"{items[pair // Q]}>{items[pair % Q]}" for pair in self.moments.pairs]


@cache
def plane() -> Plane:
    """The example: five items, three references, φ = .1 as in the paper's caption."""
    model = M4.from_orders(ORDERS, PHI, [ALPHA] * 3)
    moments = population_moments(model.beta(), *dirichlet_moments(model.alpha))
    rows = moments.B_bar @ moments.Y  # (W, W): E
    origin = moments.Y.mean(axis=0)
    # an orthonormal basis of the plane of the three corners
    axes = np.linalg.svd(moments.Y - origin)[2][:2]
    points = (rows - origin) @ axes.T
    beta = np.sort(model.beta().reshape(3, -1)[:, moments.pairs], axis=0)
    exact = planar_solid_angles(points)
    corners = (moments.Y - origin) @ axes.T
    return Plane(
        model,
        moments,
        origin,
        axes,
        corners,
        points,
        exact,
        beta[1] / beta[2],
        _roles(model, moments.pairs, exact),
    )


def _roles(model: AnyModel, pairs: NDArray[np.int64], exact: Array) -> list[str]:
    """Each component's novel pair; of the other rows, the one that sticks out most."""
    best = novel_pairs(model.beta())
    role = {
        int(i * model.n_items + j): ROLES[k]
        for k, (i, j) in enumerate(zip(best.winner, best.loser, strict=True))
    }
    others = [place for place, pair in enumerate(pairs) if pair not in role]
    role[int(pairs[max(others, key=lambda place: exact[place])])] = "extreme"
    return [role.get(int(pair), "other") for pair in pairs]


def planar_solid_angles(points: Array) -> Array:
    """Exact solid angles of points in the plane: (π − interior angle) / 2π at the corners of their hull, 0 elsewhere."""
    from scipy.spatial import ConvexHull

    corners = ConvexHull(points).vertices  # in the order of the boundary
    forth, back = (points[np.roll(corners, -step)] - points[corners] for step in (1, -1))
    lengths = np.linalg.norm(forth, axis=1) * np.linalg.norm(back, axis=1)
    angles = np.zeros(len(points))
    angles[corners] = (
        np.pi - np.arccos(np.clip(np.sum(forth * back, axis=1) / lengths, -1, 1))
    ) / (2 * np.pi)
    return angles


def tasks(request: Request) -> list[Task]:
    """All ordered pairs, in E itself and from samples; the quick twin leaves the largest sample out."""
    sizes = PEOPLE[:-1] if request.quick else PEOPLE
    return [Task(people, pair) for people in sizes for pair in plane().names]


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """Where each row lies in the plane, and its solid angle."""
    here, found = plane(), {}
    for task in todo:
        if task.people not in found:
            found = {task.people: _seen(here, task.people)}
        place = here.names.index(task.pair)
        points, directions = found[task.people]
        yield {
            "people": task.people,
            "pair": task.pair,
            "role": here.role[place],
            "x": float(points[place, 0]),
            "y": float(points[place, 1]),
            "novelty": float(here.novelty[place]),
            "exact": float(here.exact[place]),
            "directions": float(directions[place]),
            "version": __version__,
        }


def _seen(here: Plane, people: int) -> tuple[Array, Array]:
    """(W, 2) the rows of E, or of its estimate, in the plane of E, and (W,) their solid angles from random directions.

    Directions are drawn in all W dimensions of a row, where the noise of an estimate lives too.
    """
    if not people:
        return here.points, solid_angles(here.points).q
    votes = here.model.sample(people, PER_USER, seed=0).comparisons
    estimate = HalfMoments(votes).rows(here.moments.pairs)[:, here.moments.pairs]
    return (estimate - here.origin) @ here.axes.T, solid_angles(hull_coordinates(estimate)).q


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    return f"{row['people']:,} people, {row['pair']} ({row['role']}): solid angle {row['directions']:.4f}"


def report(found: list[dict[str, str]], todo: list[Task]) -> Report:
    """The novel pairs and the row that sticks out most; the rest in one line."""
    sizes = sorted({int(row["people"]) for row in found})
    heading = (
        "pair",
        "β of component 1, 2, 3",
        "λ",
        "exact",
        "E itself",
        *(f"{size:,} people" for size in sizes if size),
    )
    lines = [_line(found, role) for role in ROLES]
    text = "\n".join([_BEFORE, markdown_table(heading, lines), "", _AFTER])
    return Report(
        text,
        lambda path: save_picture(path, lambda figure: _paint(figure, found), (10, 5.2)),
        heading,
        lines,
    )


def _line(found: list[dict[str, str]], role: str) -> tuple[str, ...]:
    """One pair; or the largest and the sum of the other rows."""
    of_role = [row for row in found if row["role"] == role]
    sizes = sorted({int(row["people"]) for row in found})
    angles = [
        [float(row["directions"]) for row in of_role if int(row["people"]) == size]
        for size in sizes
    ]
    exact = [float(row["exact"]) for row in of_role if int(row["people"]) == sizes[0]]
    if role == "other":
        return (
            f"the other {len(exact)}, together",
            "",
            "",
            digits(sum(exact)),
            *(digits(sum(values)) for values in angles),
        )
    row = of_role[0]
    place = plane().names.index(row["pair"])
    beta = plane().model.beta().reshape(3, -1)[:, plane().moments.pairs[place]]
    name = f"{row['pair']}, {'sticks out' if role == 'extreme' else role}"
    about = (", ".join(digits(b, 3) for b in beta), digits(row["novelty"], 3))
    return (name, *about, digits(exact[0]), *(digits(values[0]) for values in angles))


_BEFORE = f"""# The geometry of three components

Three reference rankings of five items ({REFERENCES}), φ = {PHI}, α = 1/3 each: the example is ours, since the numbers in
the paper's Figure 2 are not in its text. The normalised solid angle of each row of E: the share of directions in which it
is the furthest of all. Written by `mallowmix reproduce fig2`.
"""
_AFTER = f"""- *exact*: from the angles of the convex hull of the rows of E, which lie in a plane; *E itself*: the same from
  100,000 random directions; *people*: rows of Ê from so many people with {PER_USER} comparisons each, in all dimensions.
- The paper's caption says β ≈ .01 at L = 3 (a gap of two) and ≈ .1 at L = 2 for φ = .1; exactly, they are .0172 and
  .0909.
- What the paper says holds: novel pairs have solid angles near 1/3, and rows that are no novel pairs but stick out of the
  novel pairs' triangle have small ones. From few people the noise of Ê adds corners: other rows take more of the angle.
"""


def _paint(figure: Any, found: list[dict[str, str]]) -> None:
    """The plane twice: E itself, and the rows of the largest sample."""
    here, most = plane(), max(int(row["people"]) for row in found)
    words = {0: "E itself", most: f"Ê from {most:,} people"}
    for axes, people in zip(figure.subplots(1, 2, sharex=True, sharey=True), words, strict=True):
        axes.fill(
            *here.corners.T, facecolor="#eeeeee", edgecolor="black", linestyle="--", linewidth=0.8
        )
        for row in found:
            if int(row["people"]) == people:
                _mark(axes, row)
        axes.set(title=words[people], aspect="equal", xticks=[], yticks=[])
    figure.supxlabel(
        "dashed: the triangle of the ideal corners; number: solid angle", fontsize="small"
    )


def _mark(axes: Any, row: Mapping[str, str]) -> None:
    colour = {"extreme": "#d62728", "other": "#9ecae1"}.get(row["role"], "#08306b")
    x, y = float(row["x"]), float(row["y"])
    axes.plot(x, y, "o", color=colour, markersize=4 if row["role"] == "other" else 7)
    if row["role"] != "other":
        label = f"{row['pair']}  {float(row['directions']):.3f}"
        axes.annotate(
            label, (x, y), textcoords="offset points", xytext=(6, 6), fontsize="small", color=colour
        )


EXPERIMENT = Experiment(COLUMNS, ("people", "pair"), tasks, rows, said, report)
