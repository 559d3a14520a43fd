"""Colours, labels and axes that all pictures share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mallowmix.data.optional_packages import optional_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, LIGHT, ACCENT = "#22303c", "#8a97a3", "#c8452d"
_COLOURS = (
    "#4269d0",
    "#d99a00",
    "#3ca951",
    "#ee5f48",
    "#a463f2",
    "#38a892",
    "#6f9be8",
    "#9c6b4e",
    "#ec6aa0",
    "#84888f",
)


def colour(component: int) -> str:
    """The colour of a component (numbered from 1): the same in pictures, web pages and reports."""
    return _COLOURS[(component - 1) % len(_COLOURS)]


def safe_label(label: object) -> str:
    """A label as plain text: dollar signs begin no formula, what does not print is spelled out."""
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(label)
    )
    return text.replace("$", r"\$")


def short_label(label: object, letters: int = 28) -> str:
    """A label of at most so many letters, as plain text."""
    text = str(label)
    return safe_label(text if len(text) <= letters else text[: letters - 1] + "…")


def component_label(names: Sequence[str], component: int) -> str:
    """The name of a component (numbered from 1) as a label, or "component 1" where it has none."""
    return short_label((names and names[component - 1]) or f"component {component}")


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, its size in inches."""
    optional_package("matplotlib", "A picture")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def one_panel(width: float, height: float) -> "tuple[Figure, Axes]":
    """A figure with one pair of axes, without lines on the top and the right."""
    figure = new_figure(width, height)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return figure, axes
