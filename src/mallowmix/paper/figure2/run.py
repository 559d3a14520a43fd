"""Figure 2: the rows of E with three components lie in a triangle; which are its corners."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mallowmix._version import __version__
from mallowmix.learn.paper.pair_moments import HalfMoments
from mallowmix.paper.experiment import Experiment, Request, Row, task_key
from mallowmix.paper.figure2.plane import Plane, example_plane
from mallowmix.paper.figure2.report import N_PER_USER, report
from mallowmix.paper.theory.solid_angles import hull_coordinates, solid_angles
from mallowmix.typing import Array

_N_USERS = (0, 1000, 10_000, 100_000)  # 0: the limit, E itself
_COLUMNS = ("users", "pair", "role", "x", "y", "novelty", "exact", "directions", "version")


class Figure2Task(NamedTuple):
    """An ordered pair, in E itself (0 users) or in E estimated from so many users."""

    users: int
    pair: str

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies its row."""
        return task_key(*self)


def _tasks(request: Request) -> list[Figure2Task]:
    """All ordered pairs, in E itself and from samples; quick: without the largest sample."""
    sizes = _N_USERS[:-1] if request.quick else _N_USERS
    return [Figure2Task(n_users, pair) for n_users in sizes for pair in example_plane().names]


def _rows(tasks: Iterable[Figure2Task], request: Request) -> Iterator[Row]:
    """Where each row lies in the plane, and its solid angle."""
    plane, found = example_plane(), {}
    for task in tasks:
        if task.users not in found:
            found = {task.users: _estimated(plane, task.users)}
        n = plane.names.index(task.pair)
        points, directions = found[task.users]
        yield {
            "users": task.users,
            "pair": task.pair,
            "role": plane.role[n],
            "x": float(points[n, 0]),
            "y": float(points[n, 1]),
            "novelty": float(plane.novelty[n]),
            "exact": float(plane.solid_angle[n]),
            "directions": float(directions[n]),
            "version": __version__,
        }


def _estimated(plane: Plane, n_users: int) -> tuple[Array, Array]:
    """(W, 2) the rows of E or Ê in the plane, and (W,) their solid angles from random directions.

    Directions are drawn in all W dimensions of a row, where the noise of an estimate lies too.
    """
    if not n_users:
        return plane.points, solid_angles(plane.points).q
    comparisons = plane.model.sample(n_users, N_PER_USER, seed=0).comparisons
    estimate = HalfMoments(comparisons).rows(plane.moments.pairs)[:, plane.moments.pairs]
    return (estimate - plane.origin) @ plane.axes.T, solid_angles(hull_coordinates(estimate)).q


def _describe(row: Mapping[str, Any]) -> str:
    about = f"{row['users']:,} people, {row['pair']} ({row['role']})"
    return f"{about}: solid angle {row['directions']:.4f}"


EXPERIMENT = Experiment(_COLUMNS, ("users", "pair"), _tasks, _rows, _describe, report)
