"""What `diagnose` yields: each part a field, in sentences, as JSON and as a table."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from mallowmix.assess.diagnose.diagnosis_text import sentences
from mallowmix.assess.diagnose.disagreement import Disagreement, PolarisingItem, PolarisingPair
from mallowmix.assess.diagnose.influence import Activity, Influence
from mallowmix.assess.diagnose.reliability import Reliability
from mallowmix.assess.one_ranking_gain import AgainstOne
from mallowmix.assess.simulated_error import ExpectedError
from mallowmix.checks.preference_cycles import PreferenceCycle
from mallowmix.checks.unsure_components import UnsureComponent
from mallowmix.data.frames import FramedResult
from mallowmix.data.quantity_table import quantity_columns
from mallowmix.data.text import list_of
from mallowmix.model.names import component_title, component_titles


@dataclass(frozen=True)
class NovelPair:
    """The novel pair of a component (from 1): the others have it at most λ times as often."""

    component: int
    winner: str
    loser: str
    lam: float


@dataclass(frozen=True)
class Alike:
    """Two components that differ in few pairs.

    `separated`: whether they differ by more than the errors to be expected of both.
    """

    component: int
    other: int
    kendall: float
    separated: bool


@dataclass(frozen=True)
class Diagnosis(FramedResult):
    """What a model rests on.

    Attributes
    ----------
    separability : float or None
        λ of the fitted β (Definition 1 of the paper): the largest over components of how often the
        others have its novel pair, relative to it; 0 is best, 1 means that some component has none.
        None for one component.
    novel_pairs : tuple of NovelPair
    condition : float
        The condition number of R̄ = diag⁻¹(a) R diag⁻¹(a), the normalised second moment of the
        weights: large where components are hard to separate because all users mix them alike.
    alike : tuple of Alike
        Pairs of components with nearly the same ranking.
    disagreement, polarising_pairs, polarising_items
        See `assess.diagnose.disagreement`.
    predictions : AgainstOne or None
        How well people are predicted, against one ranking for all, and on whom that was measured
        (`assess.one_ranking_gain`); None where nothing could be held out.
    influential : tuple of Influence
        The users who move the model most (`assess.diagnose.influence`).
    activity : Activity
        How unequally comparisons are spread over users.
    expected_error : ExpectedError or None
        By simulation (`assess.simulated_error`).
    unsure : tuple of UnsureComponent
        Components that are not to be relied on, and why (`checks.unsure_components`).
    cycle : PreferenceCycle or None
        Majorities that go in a circle (`checks.preference_cycles`).
    cycle_rates : tuple of float
        The model's win rates along it.
    component_names : tuple of str
        Names of the components, where they have some.
    """

    separability: float | None
    novel_pairs: tuple[NovelPair, ...]
    condition: float
    alike: tuple[Alike, ...]
    disagreement: Disagreement
    polarising_pairs: tuple[PolarisingPair, ...]
    polarising_items: tuple[PolarisingItem, ...]
    predictions: AgainstOne | None
    influential: tuple[Influence, ...]
    activity: Activity
    expected_error: ExpectedError | None
    unsure: tuple[UnsureComponent, ...] = ()
    cycle: PreferenceCycle | None = None
    cycle_rates: tuple[float, ...] = ()
    component_names: tuple[str, ...] = ()
    frame_kind: str | None = None

    @property
    def reliability(self) -> Reliability:
        """Of predicted probabilities of held-out comparisons (`assess.diagnose.reliability`)."""
        if self.predictions is None:
            return Reliability(math.nan, math.nan, math.nan, 0.0, ())
        return self.predictions.reliability

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; what is not a number is None."""
        values = asdict(self)
        del values["frame_kind"]
        if not self.component_names:
            del values["component_names"]
        if self.predictions is not None:
            found = self.predictions
            values["predictions"]["scored_on"] = found.scored_on.to_dict()
            values["predictions"]["reliability"]["verdict"] = found.reliability.verdict
        return _plain(values)

    def columns(self) -> dict[str, Any]:
        """Quantity, number, about, value: a row for each number.

        A quantity is called as the field that holds it (`data.quantity_table`); `about` has the
        component, the items or the user.
        """
        labels = {}
        if self.cycle is not None:
            labels |= dict.fromkeys(("cycle.win_rates", "cycle_rates"), self.cycle.couples())
        if self.expected_error is not None:
            n_components = len(self.expected_error.kendall)
            titles = component_titles(self.component_names, n_components)
            labels["expected_error.kendall"] = titles
        return quantity_columns(_titled(self.to_dict(), self.component_names), labels)

    def words(self) -> str:
        """The diagnosis in sentences, one per line."""
        return "\n".join(sentences(self))

    def _repr_html_(self) -> str:
        """The sentences as a list, for notebooks."""
        return list_of(sentences(self))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _titled(value: Any, names: tuple[str, ...]) -> Any:
    """Plain values with what components are called in place of their numbers."""
    if isinstance(value, dict):
        return {
            name: component_title(names, inner)
            if name in ("component", "other") and isinstance(inner, int)
            else _titled(inner, names)
            for name, inner in value.items()
        }
    return [_titled(inner, names) for inner in value] if isinstance(value, list) else value
