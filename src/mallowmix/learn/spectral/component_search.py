"""New components from the direct likelihood.

EM stops too early, since expected counts favour the current σ; the direct likelihood does not.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import parallel_map
from mallowmix.learn.spectral.insertion_search import insert_by_gap
from mallowmix.learn.spectral.likelihood_tables import (
    Tables,
    by_gap,
    gap_reach,
    gap_sums,
    likelihood,
    likelihood_by_phi,
)
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.dispersion import best_phi
from mallowmix.model.permutations import order_of, sigma_of


class Searched(NamedTuple):
    """Where a search ended.

    Attributes
    ----------
    components : MallowsComponents
        All components, moved or not.
    gain : float
        By how much their tabulated log-likelihood rose, in nats.
    """

    components: MallowsComponents
    gain: float


class _Polished(NamedTuple):
    sigma: NDArray[np.int32]
    phi: float
    gain: float


def search_components(
    tables: Tables,
    components: MallowsComponents,
    *,
    which: Iterable[int] | None = None,
    enough: float = 0.0,
    n_jobs: int = 1,
) -> MallowsComponents:
    """Move components up the tabulated likelihood: σ_k by insertion search, then φ_k.

    Neither step lowers the likelihood of its component.

    Parameters
    ----------
    tables : (K, P, nodes) array
        From `tabulate`.
    components : MallowsComponents
        The present components.
    which : iterable of int, optional
        Those to move; all unless given.
    enough : float
        When the search for a ranking may end, as in `insert_by_gap`.
    n_jobs : int
        How many components at the same time.

    Returns
    -------
    MallowsComponents
        All components, moved or not.
    """
    return search_with_gain(
        tables, components, which=which, enough=enough, n_jobs=n_jobs
    ).components


def search_with_gain(
    tables: Tables,
    components: MallowsComponents,
    *,
    which: Iterable[int] | None = None,
    enough: float = 0.0,
    n_jobs: int = 1,
) -> Searched:
    """The same search, with what it gained.

    Parameters
    ----------
    tables, components, which, enough, n_jobs
        As in `search_components`.

    Returns
    -------
    Searched
    """
    chosen = list(range(len(tables)) if which is None else which)
    Q, unused = components.sigma.shape[1], list[NDArray[np.float32]]()
    longest = max((gap_reach(Q, float(components.phi[k])) for k in chosen), default=0)

    def polish(k: int) -> _Polished:
        # memory goes from component to component; there are as many pieces as threads
        memory = (
            unused.pop() if unused else np.empty(tables.shape[1] * (2 * longest + 1), np.float32)
        )
        found = _polish(tables[k], components.sigma[k], float(components.phi[k]), enough, memory)
        unused.append(memory)
        return found

    found = parallel_map(polish, chosen, n_jobs)
    sigma, phi = components.sigma.copy(), components.phi.copy()
    for k, polished in zip(chosen, found, strict=True):
        sigma[k], phi[k] = polished.sigma, polished.phi
    return Searched(MallowsComponents(sigma, phi), sum(polished.gain for polished in found))


def with_best_phi(tables: Tables, components: MallowsComponents) -> MallowsComponents:
    """The same rankings with the φ that maximise their tabulated likelihood."""
    sums = (gap_sums(table, sigma) for table, sigma in zip(tables, components.sigma, strict=True))
    return MallowsComponents(
        components.sigma, np.array([best_phi(*likelihood_by_phi(each)) for each in sums])
    )


def _polish(
    table: NDArray[np.float32],
    old: NDArray[np.int32],
    phi: float,
    enough: float,
    memory: NDArray[np.float32],
) -> _Polished:
    Q, order = len(old), order_of(old)
    # the search numbers items by their positions, so that it tries them from first to last, and
    # neighbours lie side by side in memory
    first = np.arange(Q, dtype=np.int32)
    values = by_gap(table, Q, phi, order=order, memory=memory)
    new = sigma_of(order[insert_by_gap(values, first, enough=enough)])
    before, after = gap_sums(table, old), gap_sums(table, new)
    start, end = likelihood(before, phi), likelihood(after, phi)
    # gains were float32
    sigma, sums, value = (new, after, end) if end >= start else (old, before, start)
    # interpolated between grid points: used where it is no worse than the old
    guess = best_phi(*likelihood_by_phi(sums))
    best = likelihood(sums, guess)
    if best >= value:
        return _Polished(sigma, guess, best - start)
    return _Polished(sigma, phi, value - start)
