"""Pictures of how far one can rely on a model: the number of components, intervals, calibration."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mallowmix.assess.diagnose.reliability import Reliability
from mallowmix.assess.intervals.bootstrap_intervals import Intervals
from mallowmix.data.argument_kinds import check_kind
from mallowmix.errors import OptionError, check_count
from mallowmix.fitting.choose_k import Choice
from mallowmix.fitting.k_rules import AGREE
from mallowmix.model.names import component_title
from mallowmix.plots.plot_style import ACCENT, INK, LIGHT, new_figure, safe_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_choice(choice: Choice) -> "Figure":
    """Draw what speaks for each number of components, the chosen one in red.

    Parameters
    ----------
    choice : Choice
        From `choose_k`.

    Returns
    -------
    Figure
        Predictions for new users, agreement between halves of the users, and the spectrum.
    """
    hint = "Draw choose_k(comparisons)."
    check_kind("choice", choice, Choice, "what `choose_k` returns", hint)
    figure = new_figure(10, 3.6)
    held_out, stable, spectrum = figure.subplots(1, 3)
    k = [row.k for row in choice.table]
    _held_out(held_out, choice, k)
    _points(stable, k, [row.agreement for row in choice.table], choice.k)
    stable.set_ylim(min([0.45, *(row.agreement for row in choice.table)]) - 0.02, 1.02)
    _limit(stable, AGREE, "needed")
    _titles(stable, "Found again in both halves", "agreement of the least stable component")
    _spectrum(spectrum, choice)
    figure.suptitle(choice.reason, fontsize=11, color=INK, wrap=True)
    return figure


def plot_intervals(found: Intervals, component: int = 1) -> "Figure":
    """Draw the ranking of a component, best on top, with the interval of each item's position.

    Parameters
    ----------
    found : Intervals
        From `intervals`.
    component : int
        Which one, numbered from 1.

    Returns
    -------
    Figure
        A line for each item.
    """
    hint = "Draw intervals(model, comparisons)."
    check_kind("found", found, Intervals, "what `intervals` returns", hint)
    check_count("component", component, 1)
    if component > len(found.share):
        expected = f"at most {len(found.share)}, the number of components"
        raise OptionError(option="component", value=component, expected=expected)
    k, names = component - 1, [safe_label(item) for item in found.items.tolist()]
    order = np.argsort(found.position[k], kind="stable")
    figure = new_figure(6, 1 + 0.22 * len(order))
    axes = figure.subplots()
    low, high = found.position_low[k][order] + 1, found.position_high[k][order] + 1
    rows = np.arange(len(order))
    axes.hlines(rows, low, high, color=LIGHT, linewidth=4)
    axes.plot(found.position[k][order] + 1, rows, "o", color=INK, markersize=4)
    axes.set_yticks(rows, [names[i] for i in order], fontsize=8)
    axes.invert_yaxis()
    title = component_title(found.component_names, component, "Component ")
    axes.set_title(
        f"{safe_label(title)}: share {100 * found.share[k]:.1f} %", fontsize=10, color=INK
    )
    axes.set_xlabel(f"position, with intervals at {100 * found.level:g} %", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def plot_reliability(found: Reliability) -> "Figure":
    """Draw how often favourites won against the predicted probability.

    Parameters
    ----------
    found : Reliability
        Of a `diagnose` report.

    Returns
    -------
    Figure
        A point for each bin with its interval, its size the number of comparisons; dashed is
        perfect calibration.
    """
    hint = "Draw diagnose(model, comparisons).reliability."
    check_kind("found", found, Reliability, "the reliability of what `diagnose` returns", hint)
    figure = new_figure(4, 4)
    axes = figure.subplots()
    axes.plot([0.5, 1], [0.5, 1], color=LIGHT, linestyle="--", linewidth=1)
    most = max((row.n_comparisons for row in found.table), default=1.0)
    sizes = [10 + 90 * row.n_comparisons / most for row in found.table]
    at, won = [row.predicted for row in found.table], [row.observed for row in found.table]
    bars = [
        [row.observed - row.low for row in found.table],
        [row.high - row.observed for row in found.table],
    ]
    axes.scatter(at, won, sizes, color=INK)
    axes.errorbar(at, won, bars, fmt="none", ecolor=LIGHT, zorder=0)
    axes.set_title(
        f"Predicted and observed: slope {found.slope:.2f} ± {found.slope_error:.2f}",
        fontsize=10,
        color=INK,
    )
    axes.set_xlabel("predicted probability of the favourite", fontsize=9)
    axes.set_ylabel("how often it won", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _held_out(axes: "Axes", choice: Choice, k: list[int]) -> None:
    """Held-out likelihood; bars are the standard error of the difference to the best."""
    values = [row.log_likelihood_per_comparison for row in choice.table]
    axes.errorbar(
        k,
        values,
        [row.difference_error for row in choice.table],
        fmt="none",
        ecolor=LIGHT,
        capsize=3,
    )
    _points(axes, k, values, choice.k)
    _limit(axes, -math.log(2), "a coin")
    _titles(axes, "New people predicted", "log-likelihood per comparison")


def _spectrum(axes: "Axes", choice: Choice) -> None:
    rows = [row for row in choice.table if row.eigenvalue is not None]
    _points(axes, [row.k for row in rows], [row.eigenvalue for row in rows], choice.k)
    if rows:
        _limit(axes, rows[0].noise_edge, "noise")
        axes.set_ylim(bottom=0)
    axes.set_xticks([row.k for row in choice.table])
    _titles(axes, "Spectrum", "eigenvalue of the last component")


def _points(axes: "Axes", k: list[int], values: Any, chosen: int | None) -> None:
    axes.plot(k, values, color=INK, marker="o", markersize=4, linewidth=1)
    marked = [(x, y) for x, y in zip(k, values, strict=True) if x == chosen]
    if marked:
        axes.plot(*np.transpose(marked), "o", color=ACCENT, markersize=8, zorder=3)
    axes.set_xticks(k)


def _limit(axes: "Axes", value: float, name: str) -> None:
    axes.axhline(value, color=LIGHT, linestyle="--", linewidth=1)
    axes.annotate(
        name,
        (1, value),
        (-2, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        color=LIGHT,
    )


def _titles(axes: "Axes", title: str, label: str) -> None:
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_ylabel(label, fontsize=9)
    axes.set_xlabel("number of components, K", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
