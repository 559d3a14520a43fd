"""Components that a model itself shows to be unsure: nobody follows them, or they say nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import AnyModel, FittedModel
from mallowmix.model.names import component_title
from mallowmix.typing import Array

HANDFUL = 5.0  # people: a component worth fewer is hardly anybody's
COIN = 0.52  # of two items the higher one is preferred so often, or less: hardly a ranking
LOOSE = 0.1  # of all pairs: two halves of the people that differ in more do not agree on a ranking


class Doubt(StrEnum):
    """Why a component is unsure."""

    NOBODY = "nobody"  # its share is worth fewer than five people
    COIN = "coin"  # φ is so near to 1 that it hardly prefers anything
    UNSTABLE = "unstable"  # two halves of the people would rank differently
    OPTIMA = "optima"  # a model from another initialisation predicts as well, and ranks differently
    CIRCLE = "circle"  # preferences go in a circle, which no mixture of rankings fits


@dataclass(frozen=True)
class UnsureComponent:
    """A component (numbered from 1) that is unsure, why, and the number behind it.

    `value` is how many people its share is worth, how often it prefers the higher of two items,
    the part of all pairs that two halves of the people put in different orders, by how much the
    circle passes what mixtures can have, or the least part of all pairs that counts as another
    order.
    """

    component: int
    doubt: Doubt
    value: float

    def reason(self) -> str:
        """Why, as part of a sentence."""
        if self.doubt == Doubt.NOBODY:
            return f"hardly anybody follows it (its share is worth {self.value:.1f} people)"
        if self.doubt == Doubt.COIN:
            often = f"{100 * self.value:.1f} of 100"
            return f"it is nearly a coin (it prefers the higher of two items {often} times)"
        if self.doubt == Doubt.CIRCLE:
            return "preferences go in a circle, which no mixture of rankings fits"
        if self.doubt == Doubt.OPTIMA:
            return "a model from another initialisation predicts as well and ranks differently"
        part = f"{100 * self.value:.0f} of 100 pairs"
        return f"two halves of the people put {part} in different orders"

    def sentence(self, names: Sequence[str] = ()) -> str:
        """Say it in words; the names are of all components, where they have some."""
        return f"{unsure_title(names, self.component)}{self.reason()}."


def unsure_components(
    model: AnyModel, n_people: float | None = None
) -> tuple[UnsureComponent, ...]:
    """Find the components that are not to be relied on, by the model and its report.

    Parameters
    ----------
    model : FittedModel or M4
    n_people : float, optional
        How many people the model was learnt from; as its report says unless given.

    Returns
    -------
    tuple of UnsureComponent
        One for each reason, by component.

    Examples
    --------
    >>> import mallowmix as mm
    >>> from mallowmix.checks.unsure_components import unsure_components
    >>> model = mm.M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 1.0])
    >>> [found.sentence() for found in unsure_components(model)][0][:56]
    'Component 2 is unsure: it is nearly a coin (it prefers t'
    """
    report = model.report if isinstance(model, FittedModel) else FitReport()
    people = report.n_users if n_people is None else n_people
    halves = report.spectral.half_distances if report.spectral is not None else ()
    firmness, found = _firmness(model), []
    for k in range(model.n_components):
        if people is not None and model.share[k] * people < HANDFUL and model.n_components > 1:
            found.append(UnsureComponent(k + 1, Doubt.NOBODY, float(model.share[k] * people)))
        if firmness[k] <= COIN:
            found.append(UnsureComponent(k + 1, Doubt.COIN, float(firmness[k])))
        if len(halves) == model.n_components and halves[k] > LOOSE:
            found.append(UnsureComponent(k + 1, Doubt.UNSTABLE, halves[k]))
        elif k + 1 in report.unstable:
            found.append(UnsureComponent(k + 1, Doubt.OPTIMA, LOOSE))
        if report.circle_excess is not None:
            found.append(UnsureComponent(k + 1, Doubt.CIRCLE, report.circle_excess))
    return tuple(found)


def unsure_title(names: Sequence[str], component: int) -> str:
    """How the sentence about an unsure component begins, before the reason."""
    return f"{component_title(names, component, 'Component ')} is unsure: "


def unsure_reasons(found: tuple[UnsureComponent, ...]) -> dict[int, list[str]]:
    """The reasons by component, numbered from 1; without the components that are sure."""
    reasons: dict[int, list[str]] = {}
    for each in found:
        reasons.setdefault(each.component, []).append(each.reason())
    return reasons


def _firmness(model: AnyModel) -> Array:
    """(K,) how often the higher of two items, taken at random, is preferred."""
    if model.n_items < 2:
        return np.ones(model.n_components)
    low, high = np.triu_indices(model.n_items, 1)
    beta = model.beta()[:, low, high]
    return np.maximum(beta, 1 - beta).mean(axis=1)
