"""The plane in which the rows of E lie with three components: our example for Figure 2.

Every row of E is a convex combination of three ideal corners. Novel pairs lie near these; other
rows can stick out of the novel pairs' own triangle, but only just. The solid angle, the fraction of
directions in which a row is the furthest, separates the two.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.model.m4 import M4
from mallowmix.model.population_moments import PopulationMoments, population_moments
from mallowmix.model.separability import novel_pairs
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.typing import Array

# λ = .019, and two of 20 rows stick out
EXAMPLE_ORDERS, EXAMPLE_PHI, EXAMPLE_ALPHA = ("abcde", "bcdea", "dbace"), 0.1, 1 / 3
ROW_ROLES = ("novel 1", "novel 2", "novel 3", "extreme", "other")


class Plane(NamedTuple):
    """The plane of the rows of E, and everything in it; W is the number of rows.

    Parameters
    ----------
    model : M4
        The model.
    moments : PopulationMoments
        Its population moments.
    origin : (W,) array of float
        The origin of the plane, in the coordinates of a row.
    axes : (2, W) array of float
        Its orthonormal axes.
    corners : (3, 2) array of float
        The ideal corners, in the plane.
    points : (W, 2) array of float
        The rows of E, in the plane.
    solid_angle : (W,) array of float
        Their exact solid angles.
    novelty : (W,) array of float
        The second largest β of each row's pair over its largest: the λ of the pair.
    role : list of str
        One of `ROW_ROLES` for each row.
    """

    model: M4
    moments: PopulationMoments
    origin: Array
    axes: Array
    corners: Array
    points: Array
    solid_angle: Array
    novelty: Array
    role: list[str]

    @property
    def names(self) -> list[str]:
        """The pair of each row, like a>b."""
        items, Q = self.model.items, self.model.n_items
        return [f"{items[pair // Q]}>{items[pair % Q]}" for pair in self.moments.pairs]


@cache
def example_plane() -> Plane:
    """The plane of five items and three references, φ = .1 as in the paper's caption.

    Returns
    -------
    Plane
        The plane and what lies in it.
    """
    model = M4.from_orders(EXAMPLE_ORDERS, EXAMPLE_PHI, [EXAMPLE_ALPHA] * 3)
    moments = population_moments(model.beta(), *dirichlet_moments(model.alpha))
    E = moments.B_bar @ moments.Y  # (W, W)
    origin = moments.Y.mean(axis=0)
    # an orthonormal basis of the plane of the three corners
    axes = np.linalg.svd(moments.Y - origin)[2][:2]
    points = (E - origin) @ axes.T
    solid_angle = planar_solid_angles(points)
    beta = np.sort(model.beta().reshape(3, -1)[:, moments.pairs], axis=0)
    return Plane(
        model=model,
        moments=moments,
        origin=origin,
        axes=axes,
        corners=(moments.Y - origin) @ axes.T,
        points=points,
        solid_angle=solid_angle,
        novelty=beta[1] / beta[2],
        role=_roles(model, moments.pairs, solid_angle),
    )


def _roles(model: M4, pairs: NDArray[np.int64], solid_angle: Array) -> list[str]:
    """Each component's novel pair; of the other rows, the one that sticks out most."""
    best = novel_pairs(model.beta())
    role = {
        int(i * model.n_items + j): ROW_ROLES[k]
        for k, (i, j) in enumerate(zip(best.winner, best.loser, strict=True))
    }
    others = [row for row, pair in enumerate(pairs) if pair not in role]
    role[int(pairs[max(others, key=lambda row: solid_angle[row])])] = "extreme"
    return [role.get(int(pair), "other") for pair in pairs]


def planar_solid_angles(points: Array) -> Array:
    """Exact normalised solid angles of points in the plane.

    Parameters
    ----------
    points : (n, 2) array of float
        The points.

    Returns
    -------
    (n,) array of float
        (π − interior angle) / 2π at the corners of the convex hull, 0 elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> planar_solid_angles(np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]])).tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0]
    """
    from scipy.spatial import ConvexHull

    corners = ConvexHull(points).vertices  # in the order of the boundary
    forth, back = (points[np.roll(corners, -step)] - points[corners] for step in (1, -1))
    lengths = np.linalg.norm(forth, axis=1) * np.linalg.norm(back, axis=1)
    interior = np.arccos(np.clip(np.sum(forth * back, axis=1) / lengths, -1, 1))
    angles = np.zeros(len(points))
    angles[corners] = (np.pi - interior) / (2 * np.pi)
    return angles
