"""Interactive figures: plotly's data and layout as plain values."""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.assess.diagnose.disagreement import polarising
from mallowmix.assess.diagnose.reliability import Reliability
from mallowmix.data.labels import text_of
from mallowmix.data.text import printable
from mallowmix.fitting.choose_k import Choice
from mallowmix.fitting.k_rules import AGREE
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.plots.plot_style import colour

Figure = dict[str, Any]
INK, SOFT, LINE, ACCENT = "#1c1e24", "#5a5f6b", "#e2e0da", "#3346b8"  # as in report.css
SHOWN = 24  # items in the figure of places
_LONG = 22  # letters of a label


def label(name: object) -> str:
    """Escape and shorten a name for plotly, which reads tags and entities in labels."""
    text = printable(name)
    return escape(text if len(text) <= _LONG else text[: _LONG - 1] + "…", quote=False)


def positions(model: AnyModel, by_share: list[int]) -> Figure:
    """Draw the positions of items in every component; of many, the most and least polarising."""
    names, rows = text_of(model.items), _rows(model)
    low, high = model.sigma[:, rows].min(axis=0) + 1, model.sigma[:, rows].max(axis=0) + 1
    y = list(range(len(rows)))
    lines = {
        "x": _breaks(low, high),
        "y": [v for n in y for v in (n, n, None)],
        "mode": "lines",
        "hoverinfo": "skip",
    }
    data = [lines | {"type": "scatter", "line": {"color": LINE, "width": 5}, "showlegend": False}]
    data += [_positions_of(model, k, rows, [label(names[i]) for i in rows]) for k in by_share]
    axis = {
        "title": {"text": "place, 1 is best"},
        "range": [0.3, model.n_items + 0.7],
        "zeroline": False,
        "side": "top",
    }
    ticks = {
        "tickvals": y,
        "ticktext": [label(names[i]) for i in rows],
        "range": [len(rows) - 0.4, -0.6],
        "showgrid": False,
    }
    layout = {"xaxis": axis, "yaxis": ticks | {"zeroline": False}, "legend": _LEGEND}
    return styled_figure(data, 90 + 27 * len(rows), layout)


_LEGEND = {"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "xanchor": "left"}


def _rows(model: AnyModel) -> list[int]:
    """Item numbers, the most polarising first."""
    number = {name: i for i, name in enumerate(text_of(model.items))}
    found = [number[row.item] for row in polarising(model, model.n_items)[1]]
    return found if len(found) <= SHOWN else found[: SHOWN // 2] + found[-(SHOWN // 2) :]


def _breaks(low: NDArray[Any], high: NDArray[Any]) -> list[int | None]:
    return [
        value
        for one, other in zip(low.tolist(), high.tolist(), strict=True)
        for value in (one, other, None)
    ]


def _positions_of(model: AnyModel, k: int, rows: list[int], names: list[str]) -> Figure:
    name = as_fitted(model).component_name(k + 1)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"Taste {k + 1}" + (f": {label(name)}" if name else ""),
        "x": (model.sigma[k, rows] + 1).tolist(),
        "y": list(range(len(rows))),
        "text": names,
        "marker": {"color": colour(k + 1), "size": 12, "line": {"color": "#fff", "width": 1.5}},
        "hovertemplate": f"%{{text}}: place %{{x}} in taste {k + 1}<extra></extra>",
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
    across = axis | {"title": {"text": "the model's probability of its favourite"}}
    upward = {
        "tickformat": ".0%",
        "range": [lowest, 1.03],
        "title": {"text": "how often the favourite won"},
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
