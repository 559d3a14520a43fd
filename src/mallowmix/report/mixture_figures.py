"""Interactive figures of how users mix the components."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import Any

import numpy as np

from mallowmix.assess.mixing import Mixing
from mallowmix.data.short_labels import short_labels
from mallowmix.plots.plot_style import colour
from mallowmix.plots.simplex_layout import corners, simplex_points, some_people
from mallowmix.report.figures import ACCENT, LINE, SOFT, Figure, plotly_labels, styled_figure
from mallowmix.typing import Array

_LONG, _SHORT, _CORNER = 18, 14, 20  # letters of a name; at a corner of a triangle, of a polygon
_WRAP = 11  # letters of a line of a name at a corner of a polygon
_PERCENT = {  # an axis from 0 to 100 %, both ends of it labelled
    "tickvals": [0, 0.25, 0.5, 0.75, 1],
    "ticktext": ["0%", "25%", "50%", "75%", "100%"],
    "range": [0, 1.03],
}


def mixtures(theta: Array, names: Sequence[str], seed: int = 0) -> Figure | None:
    """Draw users among the components: histogram for two, triangle for three, else polygon.

    `names` has the name of each component, or nothing where it has none.
    """
    if theta.shape[1] < 2:
        return None
    tastes = [
        f"{k} ({name})" if name else f"{k}" for k, name in enumerate(plotly_labels(names, _LONG), 1)
    ]
    some = theta[some_people(len(theta), seed)]
    if theta.shape[1] == 2:
        return _two(theta, tastes)
    if theta.shape[1] == 3:
        return _three(some, tastes, plotly_labels(names, _SHORT))
    return _many(some, tastes, short_labels(names, _CORNER))


def _two(theta: Array, tastes: list[str]) -> Figure:
    heights, edges = np.histogram(theta[:, 0], 20, (0, 1))
    bars = _bars(
        edges, heights.astype(np.float64), [colour(1 if edge >= 0.5 else 2) for edge in edges[:-1]]
    )
    axis = {
        "title": {"text": f"how much of taste {tastes[0]};<br>the rest is taste {tastes[1]}"},
        **_PERCENT,
    }
    return styled_figure([bars], 280, {"xaxis": axis, "yaxis": {"title": {"text": "people"}}})


def _dots(theta: Array, tastes: list[str]) -> Figure:
    strongest = theta.argmax(axis=1)
    marker = {
        "size": 7,
        "opacity": 0.65,
        "color": [colour(int(k) + 1) for k in strongest],
        "line": {"color": "#fff", "width": 0.7},
    }
    said = [
        ", ".join(
            f"taste {tastes[k]} {100 * row[k]:.0f} %"
            for k in np.argsort(-row)[:4]
            if row[k] >= 0.01
        )
        for row in theta
    ]
    return {
        "mode": "markers",
        "marker": marker,
        "text": said,
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _three(theta: Array, tastes: list[str], names: Sequence[str]) -> Figure:
    a, b, c = (column.tolist() for column in np.round(theta, 3).T)
    dots = {"type": "scatterternary", "a": a, "b": b, "c": c, "cliponaxis": False}
    axes = {f"{axis}axis": _side(k, names[k - 1]) for k, axis in enumerate("abc", start=1)}
    ternary = axes | {"sum": 1, "bgcolor": "rgba(0,0,0,0)"}
    return styled_figure(
        [dots | _dots(theta, tastes)],
        430,
        {"ternary": ternary, "margin": {"l": 64, "r": 64, "t": 56, "b": 56}},
    )


def _side(k: int, name: str) -> Figure:
    between = ": " if k == 1 else "<br>"  # the first is on top
    text = f"<b>Taste {k}</b>" + (f"{between}{name}" if name else "")
    title = {"text": text, "font": {"color": colour(k), "size": 14}}
    bare = {"ticks": "", "showticklabels": False, "gridcolor": LINE, "linecolor": SOFT}
    return {"title": title, "tickvals": [0.25, 0.5, 0.75]} | bare


def _many(theta: Array, tastes: list[str], names: Sequence[str]) -> Figure:
    corner, points = corners(theta.shape[1]), np.round(simplex_points(theta), 3)
    ring = [*range(len(corner)), 0]
    edge = {
        "type": "scatter",
        "mode": "lines",
        "x": corner[ring, 0].tolist(),
        "y": corner[ring, 1].tolist(),
        "hoverinfo": "skip",
    }
    where = {"type": "scatter", "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}
    dots = where | _dots(theta, tastes)
    named = any(names)
    out, room = (1.05, 1.1) if named else (1.13, 1.3)
    notes = [_corner(k + 1, names[k], *(out * corner[k])) for k in range(len(corner))]
    axis = {"visible": False, "range": [-room, room]}
    data = [edge | {"line": {"color": SOFT, "width": 1}, "showlegend": False}, dots]
    layout = {"xaxis": axis, "yaxis": axis | {"scaleanchor": "x"}, "annotations": notes}
    return styled_figure(data, 460, layout | {"margin": _OF_NAMES if named else _NONE})


_NONE = {"l": 0, "r": 0, "t": 0, "b": 0}
_OF_NAMES = {"l": 70, "r": 70, "t": 50, "b": 50}


def _corner(k: int, name: str, x: float, y: float) -> Figure:
    """The number and the name of a taste, outwards of its corner."""
    lines = "".join(
        f"<br>{escape(line, quote=False)}"
        for line in wrap(name, _WRAP, max_lines=2, placeholder="…")
    )
    text = f"<b>{k}</b>" + (f'<span style="font-size:11px">{lines}</span>' if lines else "")
    return {
        "x": float(x),
        "y": float(y),
        "text": text,
        "showarrow": False,
        "font": {"color": colour(k), "size": 15},
        "xanchor": _anchor(x, "left", "right", "center") if name else "center",
        "yanchor": _anchor(y, "bottom", "top", "middle") if name else "middle",
    }


def _anchor(at: float, positive: str, negative: str, between: str) -> str:
    return between if abs(at) < 0.5 else positive if at > 0 else negative


def largest_share(mixing: Mixing) -> Figure:
    """How many people have how much of their strongest taste."""
    bars = _bars(mixing.edges, mixing.counts, ACCENT)
    axis = {"title": {"text": "share of the strongest taste"}, **_PERCENT}
    return styled_figure([bars], 300, {"xaxis": axis, "yaxis": {"title": {"text": "people"}}})


def _bars(edges: Array, heights: Array, paint: Any) -> Figure:
    middle, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    ends = [f"{100 * low:.0f}–{100 * high:.0f} %" for low, high in pairwise(edges)]
    values = {
        "x": np.round(middle, 4).tolist(),
        "y": heights.tolist(),
        "width": 0.9 * width,
        "text": ends,
        "textposition": "none",
    }
    more = {
        "marker": {"color": paint},
        "hovertemplate": "%{text}: %{y} people<extra></extra>",
        "showlegend": False,
    }
    return {"type": "bar"} | values | more
