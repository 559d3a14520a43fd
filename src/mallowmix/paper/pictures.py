"""Pictures of experiments: a figure to draw on, saved with the same bytes every time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mallowmix.plots.plot_style import new_figure


def save_picture(
    path: Path, paint: Callable[[Any], None], size: tuple[float, float] = (8, 5)
) -> None:
    """Draw a figure and write it as PNG, without the time or the machine.

    Parameters
    ----------
    path : Path
        The file.
    paint : callable
        Called as ``paint(figure)`` with an empty matplotlib figure.
    size : tuple of float
        Width and height in inches.
    """
    figure = new_figure(*size)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    paint(figure)
    FigureCanvasAgg(figure).print_png(str(path), metadata={"Software": None})
