"""Pictures: every function takes a result and returns a matplotlib Figure, to be saved or shown."""

from mallowmix.plots.assessment_plots import plot_choice as plot_choice
from mallowmix.plots.assessment_plots import plot_intervals as plot_intervals
from mallowmix.plots.assessment_plots import plot_reliability as plot_reliability
from mallowmix.plots.comparison_plot import plot_compared as plot_compared
from mallowmix.plots.component_plots import plot_components as plot_components
from mallowmix.plots.component_plots import plot_distances as plot_distances
from mallowmix.plots.component_plots import plot_pairs as plot_pairs
from mallowmix.plots.component_plots import plot_positions as plot_positions
from mallowmix.plots.plot_style import safe_label as safe_label
from mallowmix.plots.user_plots import plot_disagreement as plot_disagreement
from mallowmix.plots.user_plots import plot_largest_share as plot_largest_share
from mallowmix.plots.user_plots import plot_mixtures as plot_mixtures

__all__ = [
    "plot_choice",
    "plot_compared",
    "plot_disagreement",
    "plot_distances",
    "plot_intervals",
    "plot_largest_share",
    "plot_mixtures",
    "plot_pairs",
    "plot_positions",
    "plot_reliability",
    "plot_components",
    "safe_label",
]
