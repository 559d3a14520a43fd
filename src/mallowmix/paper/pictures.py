"""Pictures of experiments: a figure to draw on, saved with the same bytes every time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def save_picture(
    path: Path, paint: Callable[[Any], None], size: tuple[float, float] = (8, 5)
) -> None:
    """Make a figure, let `paint(figure)` draw on it, and write it as PNG without a trace of time or machine."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    paint(figure)
    FigureCanvasAgg(figure).print_png(str(path), metadata={"Software": None})
