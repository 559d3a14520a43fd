"""Notes of a fit: what the spectrum and two halves of the users say about the components."""

import numpy as np
from numpy.typing import NDArray

from mallowmix.checks.preference_cycles import preference_cycle, rates_along
from mallowmix.checks.unsure_components import LOOSE, Doubt, unsure_components
from mallowmix.data.comparisons import Comparisons
from mallowmix.model.m4 import M4
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


def halves_note(distances: Array) -> str | None:
    """Say which rankings the data does not determine.

    Parameters
    ----------
    distances : (K,) array
        Of each component, the fraction of pairs that two halves of the users order differently.
    """
    loose = np.flatnonzero(distances > LOOSE)
    if not len(loose):
        return None
    names = _numbers(loose)
    return (
        f"The data does not pin down component {names}: two halves of the people put "
        f"{distances[loose].mean():.0%} of all pairs in different order. Ask for fewer components, "
        "or add comparisons."
    )


def extreme_notes(model: M4, comparisons: object) -> list[str]:
    """Say which components hardly anybody follows or are nearly a coin, and what circle is missed.

    Parameters
    ----------
    model : M4
        What was learnt.
    comparisons : Comparisons or StoredComparisons
        What it was learnt from; circles are looked for in memory alone.
    """
    if not isinstance(comparisons, Comparisons):
        return []
    unsure = unsure_components(model, float(comparisons.user_weight.sum()))
    notes = [each.sentence() for each in unsure if each.doubt != Doubt.UNSTABLE]
    cycle = preference_cycle(comparisons)
    missed = cycle is not None and cycle.unexplained(rates_along(cycle, model))
    return notes + ([cycle.sentence()] if cycle is not None and missed else [])


def optima_note(distances: Array) -> str | None:
    """Say which rankings depend on where the fit began.

    Parameters
    ----------
    distances : (K,) array
        Of each component, the fraction of pairs that a model from another initialisation, which
        predicts as well, orders differently.
    """
    loose = np.flatnonzero(distances > LOOSE)
    if not len(loose):
        return None
    return (
        f"Component {_numbers(loose)} is unstable: a model from another initialisation predicts as "
        f"well and puts {distances[loose].mean():.0%} of all pairs in different order."
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


def _numbers(components: NDArray[np.int64]) -> str:
    return ", ".join(str(k + 1) for k in components[:_SHOWN]) + ", …" * (len(components) > _SHOWN)
