"""Interactive figures: plotly's data and layout as plain values."""

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.diagnose.disagreement import polarising
from mallowmix.assess.diagnose.reliability import Reliability
from mallowmix.data.labels import text_of
from mallowmix.data.short_labels import short_labels
from mallowmix.fitting.choose_k import Choice
from mallowmix.fitting.k_rules import AGREE
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.plots.plot_style import colour
from mallowmix.report.lanes import lanes
from mallowmix.typing import Array

Figure = dict[str, Any]
INK, SOFT, LINE, ACCENT = "#1c1e24", "#5a5f6b", "#e2e0da", "#3346b8"  # as in report.css
SHOWN = 24  # items in the figure of places
_LONG = 22  # letters of a label
_MARK = 17  # pixels
_NARROW = 300  # pixels of the figure of places on a small screen, without its labels
_NARROWEST = 150  # of it on a phone: no mark is cut at its edges there


def plotly_labels(names: Iterable[object], letters: int = _LONG) -> list[str]:
    """Escape and shorten names for plotly, which reads tags and entities in labels."""
    return [escape(text, quote=False) for text in short_labels(names, letters)]


def positions(model: AnyModel, by_share: list[int]) -> Figure:
    """Draw the positions of items in every component; of many, the most and least polarising.

    Marks that would cover each other are one above the other, and a line is as high as it needs.
    """
    names = plotly_labels(text_of(model.items))
    near = _MARK / _NARROW * model.n_items  # positions that a mark covers on a small screen
    edge = 0.6 * _MARK / _NARROWEST * model.n_items
    rows, lane = _fitting(model, near)
    y = _first_lanes(lane)
    data = [_spans(model, rows, y)]
    data += [
        _positions_of(model, k, rows, [names[i] for i in rows], y + lane[:, k]) for k in by_share
    ]
    axis = {
        "title": {"text": "place, 1 is best"},
        "range": [1 - edge, model.n_items + edge],
        "tickvals": _places(model.n_items),
        "zeroline": False,
        "side": "top",
    }
    end = float(y[-1] + lane[-1].max() + 0.8)
    ticks = {
        "tickvals": y.tolist(),
        "ticktext": [names[i] for i in rows],
        "range": [end, -0.8],
        "showgrid": False,
    }
    layout = {"xaxis": axis, "yaxis": ticks | {"zeroline": False}, "showlegend": False}
    return styled_figure(data, 60 + round(_ROW * (end + 0.8)), layout)


_ROW, _PAGE = 19, 760  # pixels of one lane, and of all of them on paper


def _fitting(model: AnyModel, near: float) -> tuple[list[int], NDArray[Any]]:
    """As many items as fit on a page, and (rows, K) the lanes of their marks."""
    for most in range(SHOWN, 2, -2):
        rows = _rows(model, most)
        lane = np.array([lanes(model.sigma[:, i].tolist(), near) for i in rows])
        if _ROW * (lane.max(axis=1) + 1.35).sum() <= _PAGE:
            break
    return rows, lane


def _first_lanes(lane: NDArray[Any]) -> Array:
    """(rows,) where the first lane of each row is: a third of a lane between two rows."""
    return np.r_[0.0, np.cumsum(lane.max(axis=1) + 1.35)[:-1]]


def _places(n_items: int) -> list[int]:
    """Positions that are written at the axis, the first and the last among them."""
    step = max(1, round(n_items / 8))
    return [1, *(n for n in range(step, n_items, step) if n > 1 + step // 2), n_items]


def _spans(model: AnyModel, rows: list[int], y: Array) -> Figure:
    """A line for each item, from its best position to its worst."""
    low, high = model.sigma[:, rows].min(axis=0) + 1, model.sigma[:, rows].max(axis=0) + 1
    return {
        "type": "scatter",
        "x": _breaks(low, high),
        "y": [v for n in y.tolist() for v in (n, n, None)],
        "mode": "lines",
        "hoverinfo": "skip",
        "line": {"color": LINE, "width": 5},
    }


def _rows(model: AnyModel, most: int) -> list[int]:
    """Item numbers, the most polarising first; of many, both ends."""
    number = {name: i for i, name in enumerate(text_of(model.items))}
    found = [number[row.item] for row in polarising(model, model.n_items)[1]]
    return found if len(found) <= most else found[: most // 2] + found[-(most // 2) :]


def _breaks(low: NDArray[Any], high: NDArray[Any]) -> list[int | None]:
    return [
        value
        for one, other in zip(low.tolist(), high.tolist(), strict=True)
        for value in (one, other, None)
    ]


def _positions_of(model: AnyModel, k: int, rows: list[int], names: list[str], y: Array) -> Figure:
    """The marks of one component, each with its number in it."""
    name = as_fitted(model).component_name(k + 1)
    (shown,) = plotly_labels([f"Taste {k + 1}" + (f": {name}" if name else "")])
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": shown,
        "x": (model.sigma[k, rows] + 1).tolist(),
        "y": y.tolist(),
        "text": str(k + 1),
        "textfont": {"color": "#fff", "size": 10},
        "customdata": names,
        "marker": {
            "color": colour(k + 1),
            "size": _MARK,
            "line": {"color": "#fff", "width": 1},
        },
        "hovertemplate": f"%{{customdata}}: place %{{x}} in {shown}<extra></extra>",
    }


def calibration(found: Reliability) -> Figure:
    """Draw how often favourites won against their probability; larger dots are more choices."""
    most = max((row.n_comparisons for row in found.table), default=1.0)
    right = {
        "type": "scatter",
        "mode": "lines",
        "x": [0.5, 1],
        "y": [0.5, 1],
        "hoverinfo": "skip",
        "showlegend": False,
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": [round(row.predicted, 4) for row in found.table],
        "y": [round(row.observed, 4) for row in found.table],
        "text": [f"{row.n_comparisons:,.12g} choices" for row in found.table],
        "marker": {
            "color": ACCENT,
            "size": [8 + 16 * (row.n_comparisons / most) ** 0.5 for row in found.table],
            "opacity": 0.85,
        },
        "error_y": {
            "type": "data",
            "array": [round(row.high - row.observed, 4) for row in found.table],
            "arrayminus": [round(row.observed - row.low, 4) for row in found.table],
            "color": SOFT,
            "thickness": 1.5,
        },
        "hovertemplate": "held to be %{x:.0%} likely, happened %{y:.0%}<br>%{text}<extra></extra>",
        "showlegend": False,
    }
    axis = {"tickformat": ".0%", "range": [0.47, 1.03], "tickvals": [0.5, 0.6, 0.7, 0.8, 0.9, 1]}
    lowest = min([0.47, *(row.low - 0.03 for row in found.table)])
    across = axis | {"title": {"text": "probability of the favourite"}}
    upward = {
        "tickformat": ".0%",
        "range": [lowest, 1.03],
        "title": {"text": "how often it won"},
    }
    return styled_figure(
        [right | {"line": {"color": SOFT, "dash": "dot"}}, dots],
        360,
        {"xaxis": across, "yaxis": upward},
    )


def new_people(choice: Choice) -> Figure:
    """Draw the held-out log-likelihood for each K, with the error of the difference to the best."""
    rows = choice.table
    gained = [row.log_likelihood_per_comparison for row in rows]
    error = {
        "type": "data",
        "array": [_finite(row.difference_error) for row in rows],
        "color": SOFT,
        "thickness": 1.5,
    }
    return _by_k(choice, gained, "%{y:.4f} per choice", error_y=error)


def found_again(choice: Choice) -> Figure:
    """Agreement of two halves of the people, for each number of tastes."""
    drawn = _by_k(choice, [row.agreement for row in choice.table], "%{y:.0%}")
    drawn["layout"]["yaxis"] |= {"tickformat": ".0%", "range": [0, 1.05]}
    line = {
        "type": "line",
        "x0": 0,
        "x1": 1,
        "xref": "paper",
        "y0": AGREE,
        "y1": AGREE,
        "line": {"color": SOFT, "dash": "dot"},
    }
    note = {
        "x": 1,
        "xref": "paper",
        "y": AGREE,
        "text": "needed",
        "showarrow": False,
        "yanchor": "bottom",
        "xanchor": "right",
    }
    drawn["layout"] |= {
        "shapes": [line],
        "annotations": [note | {"font": {"color": SOFT, "size": 12}}],
    }
    return drawn


def _by_k(choice: Choice, values: list[float], hover: str, **more: Any) -> Figure:
    k = [row.k for row in choice.table]
    sizes, paint = (
        [15 if n == choice.k else 9 for n in k],
        [ACCENT if n == choice.k else SOFT for n in k],
    )
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": k,
        "y": [round(value, 5) for value in values],
        "showlegend": False,
    }
    style = {"line": {"color": LINE, "width": 2}, "marker": {"color": paint, "size": sizes}}
    hover_text = {"hovertemplate": f"%{{x}} tastes: {hover}<extra></extra>"}
    axes = {
        "xaxis": {"title": {"text": "number of tastes"}, "tickvals": k, "showgrid": False},
        "yaxis": {},
    }
    return styled_figure([line | style | hover_text | more], 300, axes)


def _finite(value: float) -> float:
    return round(value, 5) if np.isfinite(value) else 0.0


def styled_figure(data: list[Figure], height: int, layout: Figure) -> Figure:
    """Return data and layout in the style of all figures here."""
    style = {
        "height": height,
        "margin": {"l": 10, "r": 14, "t": 30, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "hovermode": "closest",
        "font": {
            "family": 'system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif',
            "size": 13,
            "color": INK,
        },
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": LINE, "font": {"color": INK}},
    }
    fixed = {
        "fixedrange": True,
        "automargin": True,
        "gridcolor": LINE,
        "zerolinecolor": LINE,
        "linecolor": LINE,
    }
    axes = {name: fixed | value for name, value in layout.items() if name in ("xaxis", "yaxis")}
    return {"data": data, "layout": style | layout | axes}
