"""The experiments by name: each with its folder here and one line about it."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mallowmix.paper.experiment import Experiment


@dataclass(frozen=True)
class RegisteredExperiment:
    """An experiment that can be named; it is imported when it is loaded.

    Parameters
    ----------
    name : str
        What it is called by.
    folder : str
        Its folder under `mallowmix.paper`, with `run` and `report`.
    about : str
        What it is, in one line.
    """

    name: str
    folder: str
    about: str

    def load(self) -> "Experiment":
        """The `EXPERIMENT` of the folder's `run`."""
        return import_module(f"mallowmix.paper.{self.folder}.run").EXPERIMENT


_REGISTERED = (
    RegisteredExperiment("recovery", "recovery", "planted rankings recovered"),
    RegisteredExperiment("footnote", "footnote", "how often random references are separable"),
    RegisteredExperiment("fig2", "figure2", "the geometry of three components"),
    RegisteredExperiment("fig3", "figure3", "error against the number of people"),
    RegisteredExperiment("fig4", "figure4", "held-out comparisons of MovieLens"),
    RegisteredExperiment(
        "table1", "table1", "the ranking mixtures of Table 1, each on its own model and on M4's"
    ),
    RegisteredExperiment("table2", "table2", "ratings of MovieLens predicted"),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _REGISTERED}
