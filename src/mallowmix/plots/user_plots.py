"""Pictures of users: their mixtures, their strongest component, where disagreement comes from."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mallowmix.assess.diagnose.disagreement import Disagreement
from mallowmix.assess.mixing import mixing
from mallowmix.data.argument_kinds import check_kind
from mallowmix.errors import DataError
from mallowmix.infer.user_results import Weights
from mallowmix.model.component_model import weights_array
from mallowmix.plots.plot_style import INK, LIGHT, colour, component_label, one_panel
from mallowmix.plots.simplex_layout import corners, simplex_points, some_people
from mallowmix.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_mixtures(theta: Weights | ArrayLike, seed: int = 0) -> "Figure":
    """Draw users between the components.

    Parameters
    ----------
    theta : Weights or (M, K) array_like
        Users' weights, for two components or more; those of `weights` bring the components' names.
    seed : int
        Of very many users 2,000 are drawn, the same for the same seed.

    Returns
    -------
    Figure
        A histogram for two components, a triangle for three, a polygon for more.

    Raises
    ------
    DataError
        For weights of fewer than two components.
    """
    names = theta.component_names if isinstance(theta, Weights) else ()
    theta = _checked(theta)
    K = theta.shape[1]
    labels = [component_label(names, k + 1) for k in range(K)]
    figure, axes = one_panel(5.4, 2.8 if K == 2 else 5)
    shown = theta if K == 2 else theta[some_people(len(theta), seed)]
    (_two if K == 2 else _polygon)(axes, shown, labels)
    return figure


def _checked(theta: ArrayLike) -> Array:
    theta = weights_array(theta)
    if theta.ndim != 2 or theta.shape[1] < 2:
        raise DataError(
            f"theta has the shape {theta.shape}; a picture of mixtures needs a row for each user "
            "and two components or more."
        )
    return theta


def _two(axes: "Axes", theta: Array, labels: list[str]) -> None:
    _, edges, _ = axes.hist(theta[:, 0], 20, range=(0, 1), rwidth=0.9)
    for left, bar in zip(edges[:-1], axes.patches, strict=True):
        bar.set_facecolor(colour(1 if left >= 0.5 - 1e-9 else 2))
    axes.set(xlabel=f"weight of {labels[0]} (the rest is {labels[1]})", ylabel="people")


def _polygon(axes: "Axes", theta: Array, labels: list[str]) -> None:
    corner, points = corners(theta.shape[1]), simplex_points(theta)
    axes.fill(*corner.T, facecolor="none", edgecolor=LIGHT, linewidth=1)
    axes.scatter(
        *points.T,
        s=12,
        c=[colour(int(k) + 1) for k in theta.argmax(axis=1)],
        alpha=0.6,
        linewidths=0,
    )
    for k, (x, y) in enumerate(1.1 * corner):
        axes.text(
            x,
            y,
            labels[k],
            color=colour(k + 1),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
        )
    axes.set(xlim=(-1.25, 1.25), ylim=(-1.2, 1.2), aspect="equal")
    axes.axis("off")


def plot_largest_share(theta: ArrayLike, people: ArrayLike | None = None) -> "Figure":
    """Draw a histogram of users' largest weights.

    Parameters
    ----------
    theta : (M, K) array_like
        Users' weights.
    people : (M,) array_like, optional
        How often each user counts.

    Returns
    -------
    Figure
        A histogram.
    """
    found = mixing(weights_array(theta), people)
    figure, axes = one_panel(5.4, 2.8)
    axes.bar(
        found.edges[:-1], found.counts, 0.9 * np.diff(found.edges), align="edge", color="#3346b8"
    )
    axes.set(xlim=(0, 1), xlabel="weight of the strongest component", ylabel="people")
    return figure


def plot_disagreement(found: Disagreement) -> "Figure":
    """Draw where disagreement comes from: different people, mixed people, noise.

    Parameters
    ----------
    found : Disagreement
        Of a `diagnose` report.

    Returns
    -------
    Figure
        One bar in three parts.
    """
    hint = "Draw diagnose(model, comparisons).disagreement."
    check_kind("found", found, Disagreement, "the disagreement of what `diagnose` returns", hint)
    named = (
        ("different people", found.between_people, "#3346b8"),
        ("mixed people", found.within_person, "#8e9be0"),
        ("noise", found.within_component, "#b9bcc4"),
    )
    figure, axes = one_panel(6.4, 1.5)
    left = 0.0
    for name, share, paint in named:
        axes.barh(0, share, left=left, color=paint, label=f"{name} {100 * share:.0f} %")
        left += share
    axes.set(xlim=(0, 1), yticks=[])
    axes.axis("off")
    figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False, labelcolor=INK)
    return figure
