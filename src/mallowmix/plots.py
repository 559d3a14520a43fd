"""Pictures: every function takes a result and gives a matplotlib Figure, to be saved or shown by whoever asked."""

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mallowmix.assess.choose_k import Choice
from mallowmix.assess.compare import Compared, SystemScore
from mallowmix.assess.intervals import Intervals
from mallowmix.assess.k_rules import AGREE
from mallowmix.assess.reliability import Reliability

_INK, _LIGHT, _ACCENT = "#22303c", "#8a97a3", "#c8452d"


def plot_choice(choice: Choice) -> Figure:
    """What speaks for each number of components: new people foretold, agreement between halves, the spectrum; the chosen red."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    held_out, stable, spectrum = figure.subplots(1, 3)
    k = [row.k for row in choice.table]
    _held_out(held_out, choice, k)
    _points(stable, k, [row.agreement for row in choice.table], choice.k)
    stable.set_ylim(min([0.45, *(row.agreement for row in choice.table)]) - 0.02, 1.02)
    _limit(stable, AGREE, "needed")
    _titles(stable, "Found again in both halves", "agreement of the least stable taste")
    _spectrum(spectrum, choice)
    figure.suptitle(choice.reason, fontsize=11, color=_INK, wrap=True)
    return figure


def plot_intervals(found: Intervals, component: int = 1) -> Figure:
    """The ranking of a component (numbered from 1), best on top, with the run of places that each item may have."""
    k, names = component - 1, [safe_label(item) for item in found.items.tolist()]
    order = np.argsort(found.position[k], kind="stable")
    figure = Figure(figsize=(6, 1 + 0.22 * len(order)), layout="constrained")
    axes = figure.subplots()
    low, high = found.position_low[k][order] + 1, found.position_high[k][order] + 1
    rows = np.arange(len(order))
    axes.hlines(rows, low, high, color=_LIGHT, linewidth=4)
    axes.plot(found.position[k][order] + 1, rows, "o", color=_INK, markersize=4)
    axes.set_yticks(rows, [names[i] for i in order], fontsize=8)
    axes.invert_yaxis()
    axes.set_title(f"Component {component}: share {100 * found.share[k]:.1f} %", fontsize=10, color=_INK)
    axes.set_xlabel(f"place, with intervals at {100 * found.level:g} %", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def plot_reliability(found: Reliability) -> Figure:
    """How often favourites won against how often they were held to; the size of a point is how often that was."""
    figure = Figure(figsize=(4, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([0.5, 1], [0.5, 1], color=_LIGHT, linestyle="--", linewidth=1)
    most = max((row.n_comparisons for row in found.table), default=1.0)
    sizes = [10 + 90 * row.n_comparisons / most for row in found.table]
    axes.scatter([row.foretold for row in found.table], [row.observed for row in found.table], sizes, color=_INK)
    axes.set_title(f"Foretold and seen: slope {found.slope:.2f} ± {found.slope_error:.2f}", fontsize=10, color=_INK)
    axes.set_xlabel("foretold probability of the favourite", fontsize=9)
    axes.set_ylabel("how often it won", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def plot_compared(found: Compared) -> Figure:
    """Log-loss and accuracy with their intervals, and the calibration slope, a line each system, best on top."""
    rows = [row for row in found.table if row.log_loss is not None]
    figure = Figure(figsize=(10.5, 1.4 + 0.28 * len(rows)), layout="constrained")
    loss, accuracy, slope = figure.subplots(1, 3, sharey=True, gridspec_kw={"width_ratios": [2, 2, 1.4]})
    _line_each(loss, rows, "log_loss", "low", "high", "log-loss a comparison (less is better)")
    _line_each(accuracy, rows, "accuracy", "accuracy_low", "accuracy_high", "share foretold right")
    _slopes(slope, rows)
    _mark(loss, math.log(2))
    _mark(accuracy, 0.5)
    loss.set_yticks(range(len(rows)), [safe_label(row.name) for row in rows], fontsize=8)
    loss.invert_yaxis()
    people = f"{found.n_comparisons:,.0f} held-out comparisons of {found.n_people:,} people, split by {found.split}"
    figure.suptitle(f"{people}; intervals at 95 % over people; dashed: a coin, and a slope of 1", fontsize=10, color=_INK)
    return figure


def _line_each(axes: Any, rows: list[SystemScore], value: str, low: str, high: str, label: str) -> None:
    for n, row in enumerate(rows):
        mean = getattr(row, value)
        ends = [mean if getattr(row, end) is None else getattr(row, end) for end in (low, high)]
        axes.hlines(n, *ends, color=_LIGHT, linewidth=3)
        axes.plot(mean, n, "o", color=_ACCENT if row.system == "m4" else _INK, markersize=5, zorder=3)
    _sides(axes, label)


def _slopes(axes: Any, rows: list[SystemScore]) -> None:
    for n, row in enumerate(rows):
        if row.slope is not None:
            error = 1.96 * (row.slope_error or 0.0)
            axes.hlines(n, row.slope - error, row.slope + error, color=_LIGHT, linewidth=3)
            axes.plot(row.slope, n, "o", color=_ACCENT if row.system == "m4" else _INK, markersize=5, zorder=3)
    _mark(axes, 1.0)
    _sides(axes, "calibration slope")


def _mark(axes: Any, value: float) -> None:
    axes.axvline(value, color=_LIGHT, linestyle="--", linewidth=1)


def _sides(axes: Any, label: str) -> None:
    axes.set_xlabel(label, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def safe_label(label: object) -> str:
    """A label as plain text: a dollar sign would begin a formula, and what does not print is spelled out."""
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(label))
    return text.replace("$", r"\$")


def _held_out(axes: Any, choice: Choice, k: list[int]) -> None:
    """Bars are the standard error of the difference to the best: what comparing two numbers rests on."""
    values = [row.log_likelihood_per_comparison for row in choice.table]
    axes.errorbar(k, values, [row.difference_error for row in choice.table], fmt="none", ecolor=_LIGHT, capsize=3)
    _points(axes, k, values, choice.k)
    _limit(axes, -math.log(2), "a coin")
    _titles(axes, "New people foretold", "log-likelihood per comparison")


def _spectrum(axes: Any, choice: Choice) -> None:
    rows = [row for row in choice.table if row.eigenvalue is not None]
    _points(axes, [row.k for row in rows], [row.eigenvalue for row in rows], choice.k)
    if rows:
        _limit(axes, rows[0].noise_edge, "noise")
        axes.set_ylim(bottom=0)
    axes.set_xticks([row.k for row in choice.table])
    _titles(axes, "Spectrum", "eigenvalue that the last taste rests on")


def _points(axes: Any, k: list[int], values: Any, chosen: int | None) -> None:
    axes.plot(k, values, color=_INK, marker="o", markersize=4, linewidth=1)
    marked = [(x, y) for x, y in zip(k, values, strict=True) if x == chosen]
    if marked:
        axes.plot(*np.transpose(marked), "o", color=_ACCENT, markersize=8, zorder=3)
    axes.set_xticks(k)


def _limit(axes: Any, value: float, name: str) -> None:
    axes.axhline(value, color=_LIGHT, linestyle="--", linewidth=1)
    axes.annotate(
        name, (1, value), (-2, 2), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right", color=_LIGHT
    )


def _titles(axes: Any, title: str, label: str) -> None:
    axes.set_title(title, fontsize=10, color=_INK)
    axes.set_ylabel(label, fontsize=9)
    axes.set_xlabel("number of tastes, K", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
