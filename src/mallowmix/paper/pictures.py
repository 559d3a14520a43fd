"""Pictures of experiments: a figure to draw on, saved with the same bytes every time.

Pictures are imported when one is drawn: until then a run has imported what computes its numbers and
nothing else, and its record (`provenance`) names these modules alone.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any


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
    from mallowmix.plots.plot_style import new_figure

    figure = new_figure(*size)  # says so where matplotlib is missing
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    paint(figure)
    FigureCanvasAgg(figure).print_png(str(path), metadata={"Software": None})
