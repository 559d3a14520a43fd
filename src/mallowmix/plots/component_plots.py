"""Pictures of a model: rankings side by side, where they differ, polarising pairs, distances."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mallowmix.assess.contrasts import distances
from mallowmix.assess.diagnose.disagreement import polarising
from mallowmix.data.labels import text_of
from mallowmix.data.short_labels import short_labels
from mallowmix.errors import check_count
from mallowmix.model.fitted_model import AnyModel, as_fitted, names_in
from mallowmix.model.pair_model import check_model
from mallowmix.plots.plot_style import (
    INK,
    LIGHT,
    colour,
    component_label,
    one_panel,
    safe_label,
    short_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 40  # items whose names can still be read


def plot_components(model: AnyModel, n_top: int = 15) -> "Figure":
    """Draw the rankings side by side, the largest share first; lines join the same item.

    Parameters
    ----------
    model : FittedModel or model
        The components.
    n_top : int
        How many items of each, from the best.

    Returns
    -------
    Figure
        A column for each component.
    """
    check_model(model)
    check_count("n_top", n_top, 1)
    rows, names = model.table(), _shown(text_of(model.items), 22)
    n_top = min(n_top, model.n_items)
    figure, axes = one_panel(1.2 + 2.2 * len(rows), 1 + 0.24 * n_top)
    order = [row["component"] - 1 for row in rows]
    _joined(axes, model, order, n_top)
    for x, k in enumerate(order):
        for position, i in enumerate(model.order[k, :n_top]):
            axes.text(
                x,
                position,
                names[i],
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                bbox=_LABEL,
            )
        name = short_label(as_fitted(model).component_name(k + 1), 22)
        title = f"Component {k + 1}\n{name + ', ' if name else ''}{100 * model.share[k]:.0f} %"
        axes.text(
            x,
            -1.1,
            title,
            ha="center",
            va="bottom",
            color=colour(k + 1),
            fontsize=10,
            fontweight="bold",
        )
    axes.set(xlim=(-0.6, len(rows) - 0.4), ylim=(n_top - 0.4, -2.2))
    axes.axis("off")
    return figure


_LABEL = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}


def _joined(axes: "Axes", model: AnyModel, order: list[int], n_top: int) -> None:
    for x, (k, other) in enumerate(pairwise(order)):
        both = np.flatnonzero((model.sigma[k] < n_top) & (model.sigma[other] < n_top))
        for i in both:
            axes.plot(
                [x, x + 1],
                [model.sigma[k, i], model.sigma[other, i]],
                color=LIGHT,
                linewidth=0.8,
                alpha=0.6,
                zorder=0,
            )


def plot_positions(model: AnyModel, n_top: int = 20) -> "Figure":
    """Draw the positions of the most polarising items in every component.

    Parameters
    ----------
    model : FittedModel or model
        The components.
    n_top : int
        How many items; 40 at most.

    Returns
    -------
    Figure
        A line for each item, a dot for each component: far apart is where components disagree.
    """
    check_model(model)
    check_count("n_top", n_top, 1)
    number = {name: i for i, name in enumerate(text_of(model.items))}
    names = _shown(text_of(model.items), 28)
    rows = [number[row.item] for row in polarising(model, min(n_top, _MOST))[1]]
    figure, axes = one_panel(6.4, 1.1 + 0.24 * len(rows))
    positions = model.sigma[:, rows] + 1
    axes.hlines(
        range(len(rows)),
        positions.min(axis=0),
        positions.max(axis=0),
        color="#e2e0da",
        linewidth=4,
        zorder=0,
    )
    for k in range(model.n_components):
        axes.plot(
            positions[k],
            range(len(rows)),
            "o",
            color=colour(k + 1),
            markersize=6,
            label=component_label(names_in(model), k + 1),
        )
    axes.set_yticks(range(len(rows)), [names[i] for i in rows], fontsize=8)
    axes.set(xlim=(0.4, model.n_items + 0.6), xlabel="position, 1 is best")
    axes.invert_yaxis()
    figure.legend(
        loc="outside upper center", ncols=min(model.n_components, 5), fontsize=8, frameon=False
    )
    return figure


def plot_pairs(model: AnyModel, n_top: int = 8) -> "Figure":
    """Draw the most polarising pairs: how often each component prefers the first item.

    Parameters
    ----------
    model : FittedModel or model
        The components.
    n_top : int
        How many pairs; 40 at most.

    Returns
    -------
    Figure
        A line for each pair, a dot for each component; dashed is the mean over users.
    """
    check_model(model)
    check_count("n_top", n_top, 1)
    pairs, names, beta = polarising(model, min(n_top, _MOST))[0], text_of(model.items), model.beta()
    figure, axes = one_panel(6.4, 1.1 + 0.34 * len(pairs))
    for row, pair in enumerate(pairs):
        i, j = names.index(pair.item), names.index(pair.other)
        axes.hlines(row, 0, 1, color="#e2e0da", linewidth=2, zorder=0)
        for k in range(model.n_components):
            name = component_label(names_in(model), k + 1) if row == 0 else None
            # so that equal components do not hide each other
            beside = 0.14 * (k - (model.n_components - 1) / 2)
            axes.plot(
                beta[k, i, j], row + beside, "o", color=colour(k + 1), markersize=6, label=name
            )
        axes.vlines(pair.win_rate, row - 0.3, row + 0.3, color=LIGHT, linestyle="--")
    shown = dict(zip(names, _shown(names, 20), strict=True))
    labels = [f"{shown[pair.item]} over {shown[pair.other]}" for pair in pairs]
    axes.set_yticks(range(len(pairs)), labels, fontsize=8)
    axes.set(xlim=(-0.03, 1.03), xlabel="probability")
    axes.invert_yaxis()
    figure.legend(
        loc="outside upper center", ncols=min(model.n_components, 5), fontsize=8, frameon=False
    )
    return figure


def plot_distances(model: AnyModel) -> "Figure":
    """Draw the distances of components: the fraction of pairs that two of them order differently.

    Parameters
    ----------
    model : FittedModel or model
        The components.

    Returns
    -------
    Figure
        A square for each two components.
    """
    check_model(model)
    apart, K = distances(model), model.n_components
    figure, axes = one_panel(1.6 + 0.55 * K, 1.3 + 0.5 * K)
    axes.imshow(apart, cmap="Blues", vmin=0, vmax=1)
    for k in range(K):
        for other in range(K):
            if k != other:
                paint = "white" if apart[k, other] > 0.6 else INK
                axes.text(
                    other,
                    k,
                    f"{apart[k, other]:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=paint,
                )
    names = [component_label(names_in(model), k + 1) for k in range(K)]
    axes.set_xticks(range(K), names, rotation=45, ha="right")
    axes.set_yticks(range(K), names)
    axes.spines[:].set_visible(False)
    return figure


def _shown(names: list[str], letters: int) -> list[str]:
    """Labels of about so many letters, no two of them alike."""
    return [safe_label(name) for name in short_labels(names, letters)]
