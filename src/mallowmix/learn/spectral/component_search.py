"""New components from the direct likelihood.

EM stops too early, since expected counts favour the current σ; the direct likelihood does not.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import parallel_map
from mallowmix.learn.spectral.insertion_search import MOST_PASSES, insert_by_gap
from mallowmix.learn.spectral.likelihood_tables import (
    Tables,
    by_gap,
    gap_sums,
    likelihood,
    likelihood_by_phi,
)
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.dispersion import best_phi
from mallowmix.model.permutations import order_of, sigma_of


def search_components(
    tables: Tables,
    components: MallowsComponents,
    *,
    which: Iterable[int] | None = None,
    n_jobs: int = 1,
) -> MallowsComponents:
    """Move components up the tabulated likelihood: σ_k by insertion search, then φ_k.

    Neither step lowers the likelihood of its component.

    Parameters
    ----------
    tables : (K, P, nodes) array
        From `likelihood_tables.tabulate`.
    components : MallowsComponents
        The present components.
    which : iterable of int, optional
        Those to move; all unless given.
    n_jobs : int
        How many components at the same time.

    Returns
    -------
    MallowsComponents
        All components, moved or not.
    """
    return search_with_gain(tables, components, which=which, n_jobs=n_jobs)[0]


def search_with_gain(
    tables: Tables,
    components: MallowsComponents,
    *,
    which: Iterable[int] | None = None,
    passes: int = MOST_PASSES,
    n_jobs: int = 1,
) -> tuple[MallowsComponents, float]:
    """Do what `search_components` does, and say by how much the likelihood rose.

    Parameters
    ----------
    tables, components, which, n_jobs
        As in `search_components`.
    passes : int
        How often the search tries every item at most.

    Returns
    -------
    components : MallowsComponents
        All components, moved or not.
    gain : float
        What the moved components gained in tabulated log-likelihood, in all.
    """
    chosen = list(range(len(tables)) if which is None else which)
    found = parallel_map(
        lambda k: _polish(tables[k], components.sigma[k], float(components.phi[k]), passes),
        chosen,
        n_jobs,
    )
    sigma, phi = components.sigma.copy(), components.phi.copy()
    for k, (sigma_k, phi_k, _) in zip(chosen, found, strict=True):
        sigma[k], phi[k] = sigma_k, phi_k
    return MallowsComponents(sigma, phi), sum(gain for _, _, gain in found)


def _polish(
    table: NDArray[np.float32], old: NDArray[np.int32], phi: float, passes: int
) -> tuple[NDArray[np.int32], float, float]:
    new = sigma_of(insert_by_gap(by_gap(table, len(old), phi), order_of(old), passes))
    before, after = gap_sums(table, old), gap_sums(table, new)
    first, found = likelihood(before, phi), likelihood(after, phi)
    better = found >= first  # gains were float32
    sigma, sums, value = (new, after, found) if better else (old, before, first)
    # interpolated between grid points: used where it is no worse than the old
    guess = best_phi(*likelihood_by_phi(sums))
    best = likelihood(sums, guess)
    return (sigma, guess, best - first) if best >= value else (sigma, phi, value - first)
