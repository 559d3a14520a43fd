"""Notes of a fit: what the spectrum and two halves of the users say about the components."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mallowmix.checks.preference_cycles import PreferenceCycle, rates_along
from mallowmix.checks.unsure_components import LOOSE, Doubt, unsure_components, unsure_title
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.text import joined
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.names import component_title
from mallowmix.typing import Array

_ONE_MORE = 1.15  # the next eigenvalue is this much above the noise edge: there is a component more
_SHOWN = 10  # components listed in a note


def spectrum_note(values: Array, edge: float, K: int) -> str | None:
    """Say whether the spectrum shows fewer components than K, or more.

    Parameters
    ----------
    values : (b,) array
        Eigenvalues of the signed moment, largest first.
    edge : float
        The largest eigenvalue that noise would have.
    K : int
        How many components the fit has.
    """
    shown = 1 + int(np.count_nonzero(values[: K - 1] > edge))
    if shown < K:
        return (
            f"The spectrum shows only {shown} of the {K} components above its noise: the others "
            "may be guesses. Ask for fewer, or add people or comparisons."
        )
    if len(values) >= K and values[K - 1] > _ONE_MORE * edge:
        return f"The spectrum shows at least {K + 1} components; {K} were asked for."
    return None


def halves_note(distances: Array, names: Sequence[str] = ()) -> str | None:
    """Say which rankings the data does not determine.

    Parameters
    ----------
    distances : (K,) array
        Of each component, the fraction of pairs that two halves of the users order differently.
    names : sequence of str
        Of all components, where they have names.
    """
    loose = np.flatnonzero(distances > LOOSE)
    if not len(loose):
        return None
    return (
        f"The data does not pin down {_listed(loose, names)}: two halves of the people "
        f"put {distances[loose].mean():.0%} of all pairs in different order. Ask for fewer "
        "components, or add comparisons."
    )


def extreme_notes(model: M4, comparisons: object) -> list[str]:
    """Say which components hardly anybody follows or are nearly a coin.

    Parameters
    ----------
    model : M4
        What was learnt.
    comparisons : Comparisons or StoredComparisons
        What it was learnt from; of stored ones nothing is said.
    """
    if not isinstance(comparisons, Comparisons):
        return []
    unsure = unsure_components(model, float(comparisons.user_weight.sum()))
    return [each.sentence() for each in unsure if each.doubt != Doubt.UNSTABLE]


def with_circle(model: FittedModel, cycle: PreferenceCycle | None) -> FittedModel:
    """The model with a note on a circle of preferences, where it misses one.

    Parameters
    ----------
    model : FittedModel
        What was learnt.
    cycle : PreferenceCycle, optional
        Of the comparisons that it was learnt from.
    """
    if cycle is None or not cycle.unexplained(rates_along(cycle, model.m4)):
        return model
    notes = (*model.report.notes, cycle.sentence())
    return replace(model, report=replace(model.report, notes=notes))


def optima_note(distances: Array, names: Sequence[str] = ()) -> str | None:
    """Say which rankings depend on where the fit began.

    Parameters
    ----------
    distances : (K,) array
        Of each component, the fraction of pairs that a model from another initialisation, which
        predicts as well, orders differently.
    names : sequence of str
        Of all components, where they have names.
    """
    loose = np.flatnonzero(distances > LOOSE)
    if not len(loose):
        return None
    are = "is" if len(loose) == 1 else "are"
    return (
        f"C{_listed(loose, names)[1:]} {are} unstable: a model from another initialisation "
        f"predicts as well and puts {distances[loose].mean():.0%} of all pairs in different order."
    )


def is_unstable(halves: Array, others: Array) -> NDArray[np.bool_]:
    """(K,) whether halves of the users, or models that are as good, order a component differently.

    Parameters
    ----------
    halves : (K,) array
        As in `halves_note`.
    others : (K,) array
        As in `optima_note`.
    """
    return (halves > LOOSE) | (others > LOOSE)


def named_notes(model: FittedModel) -> list[str]:
    """The notes of a fit, as they would be had its components had their names then.

    Parameters
    ----------
    model : FittedModel
        Its report has the notes, and the numbers that those about components were written from.
    """
    names, trace = model.component_names, model.report.spectral
    if not names:
        return list(model.report.notes)
    named = {}
    if trace is not None:
        for note, distances in (
            (halves_note, np.array(trace.half_distances)),
            (optima_note, np.array(trace.optimum_distances)),
        ):
            said = note(distances, names)
            named |= {} if said is None else {str(note(distances)): said}
    titles = {unsure_title((), k): unsure_title(names, k) for k in range(1, len(names) + 1)}
    return [named.get(note) or _retitled(note, titles) for note in model.report.notes]


def _retitled(note: str, titles: Mapping[str, str]) -> str:
    """A note with another beginning, where it has one of those in `titles`.

    What follows stays: its numbers were counted with the weights that users had in the fit.
    """
    for before, after in titles.items():
        if note.startswith(before):
            return after + note.removeprefix(before)
    return note


def _listed(components: NDArray[np.int64], names: Sequence[str]) -> str:
    """Numbers from 1 with their names, as in "components 1 (comfort) and 3"."""
    titles = [component_title(names, int(k) + 1, "") for k in components[:_SHOWN]]
    more = len(components) > _SHOWN
    word = "component" if len(components) == 1 else "components"
    return f"{word} {', '.join([*titles, '…']) if more else joined(titles)}"
