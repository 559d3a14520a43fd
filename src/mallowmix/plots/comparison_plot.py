"""A picture of `compare`: systems side by side."""

import math
from typing import TYPE_CHECKING

from mallowmix.assess.compare import Compared, SystemScore
from mallowmix.data.argument_kinds import check_kind
from mallowmix.plots.plot_style import ACCENT, INK, LIGHT, new_figure, safe_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_compared(found: Compared) -> "Figure":
    """Draw log-loss, accuracy and calibration slope of each system with their intervals.

    Parameters
    ----------
    found : Compared
        From `compare`.

    Returns
    -------
    Figure
        A line for each system, best on top.
    """
    hint = "Draw compare(comparisons)."
    check_kind("found", found, Compared, "what `compare` or `compare_on_split` returns", hint)
    rows = [row for row in found.table if row.log_loss is not None]
    figure = new_figure(10.5, 1.4 + 0.28 * len(rows))
    loss, accuracy, slope = figure.subplots(
        1, 3, sharey=True, gridspec_kw={"width_ratios": [2, 2, 1.4]}
    )
    _line_each(loss, rows, "log_loss", "low", "high", "log-loss a comparison (less is better)")
    _line_each(accuracy, rows, "accuracy", "accuracy_low", "accuracy_high", "share predicted right")
    _slopes(slope, rows)
    _mark(loss, math.log(2))
    _mark(accuracy, 0.5)
    loss.set_yticks(range(len(rows)), [safe_label(row.name) for row in rows], fontsize=8)
    loss.invert_yaxis()
    data = f"{found.n_comparisons:,.0f} held-out comparisons of {found.n_users:,} people"
    how = "a prepared split" if found.split == "prepared" else f"split by {found.split}"
    figure.suptitle(
        f"{data}, {how}; intervals at 95 % over people; dashed: a coin, and a slope of 1",
        fontsize=10,
        color=INK,
    )
    return figure


def _line_each(
    axes: "Axes", rows: list[SystemScore], value: str, low: str, high: str, label: str
) -> None:
    for n, row in enumerate(rows):
        mean = getattr(row, value)
        ends = [mean if getattr(row, end) is None else getattr(row, end) for end in (low, high)]
        axes.hlines(n, *ends, color=LIGHT, linewidth=3)
        axes.plot(
            mean, n, "o", color=ACCENT if row.system == "mallowmix" else INK, markersize=5, zorder=3
        )
    _sides(axes, label)


def _slopes(axes: "Axes", rows: list[SystemScore]) -> None:
    for n, row in enumerate(rows):
        if row.slope is not None:
            error = 1.96 * (row.slope_error or 0.0)
            axes.hlines(n, row.slope - error, row.slope + error, color=LIGHT, linewidth=3)
            axes.plot(
                row.slope,
                n,
                "o",
                color=ACCENT if row.system == "mallowmix" else INK,
                markersize=5,
                zorder=3,
            )
    _mark(axes, 1.0)
    _sides(axes, "calibration slope")


def _mark(axes: "Axes", value: float) -> None:
    axes.axvline(value, color=LIGHT, linestyle="--", linewidth=1)


def _sides(axes: "Axes", label: str) -> None:
    axes.set_xlabel(label, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
