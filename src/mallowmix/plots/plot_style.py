"""What all pictures share: colours, labels, bare axes."""

from typing import Any

from matplotlib.figure import Figure

INK, LIGHT, ACCENT = "#22303c", "#8a97a3", "#c8452d"
_TASTES = (
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
    """The colour of a component (numbered from 1), the same in every picture, on the page and in the report."""
    return _TASTES[(component - 1) % len(_TASTES)]


def safe_label(label: object) -> str:
    """A label as plain text: a dollar sign would begin a formula, and what does not print is spelled out."""
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(label)
    )
    return text.replace("$", r"\$")


def short_label(label: object, letters: int = 28) -> str:
    """A label that leaves room for the picture."""
    text = str(label)
    return safe_label(text if len(text) <= letters else text[: letters - 1] + "…")


def one_panel(width: float, height: float) -> tuple[Figure, Any]:
    """A figure with one pair of axes, two sides of them bare."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return figure, axes
