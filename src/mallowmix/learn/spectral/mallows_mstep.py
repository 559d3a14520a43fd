"""The M-step for Mallows components: σ by insertion search, φ by maximum likelihood over gaps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.model.dispersion import phi_by_gap, wins_by_gap
from mallowmix.model.mallows import gap_probabilities
from mallowmix.model.permutations import order_of, sigma_of
from mallowmix.numerics.kemeny import insertion_search
from mallowmix.typing import Array

_TINY = 1e-300


class MallowsComponents(NamedTuple):
    """K Mallows components: rankings and dispersions."""

    sigma: NDArray[np.int32]  # (K, Q)
    phi: Array  # (K,)


def beta_table(components: MallowsComponents, floor: float) -> Array:
    """(Q², K) β of every ordered pair, clipped to [floor, 1 − floor]."""
    K, Q = components.sigma.shape
    table = np.empty((Q * Q, K))
    for k in range(K):
        win, lose = gap_probabilities(Q, components.phi[k])
        by_gap = np.clip(np.concatenate([lose[:0:-1], win]), floor, 1 - floor)  # gaps −(Q−1) … Q−1
        gap = components.sigma[k][None, :] - components.sigma[k][:, None]
        table[:, k] = by_gap[gap + Q - 1].ravel()
    return table


def expected_log_likelihood(
    counts: Array, sigma: NDArray[np.int32], phi: float, *, floor: float = 0.0
) -> float:
    """Σ C_ij log β_ij, which the M-step of EM must not lower.

    Parameters
    ----------
    counts : (Q, Q) array
        C, expected counts of one component.
    sigma : (Q,) array of int32
        Positions of the items.
    phi : float
        φ.
    floor : float
        β is clipped to [floor, 1 − floor].
    """
    return _log_likelihood(wins_by_gap(counts, sigma), phi, floor)


def _log_likelihood(by_gap: Array, phi: float, floor: float) -> float:
    """The same from counts by gap, −(Q−1) … Q−1."""
    win, lose = gap_probabilities(len(by_gap) // 2 + 1, phi)
    win, lose = np.minimum(win, 1 - floor), np.maximum(lose, max(floor, _TINY))
    return float(by_gap @ np.log(np.concatenate([lose[:0:-1], win])))


def update_components(
    counts: Array, components: MallowsComponents, *, move_sigma: bool = True, floor: float = 0.0
) -> MallowsComponents:
    """Do an M-step; a component changes only if that raises its expected log-likelihood.

    Parameters
    ----------
    counts : (Q², K) array
        Expected counts of each ordered pair from each component.
    components : MallowsComponents
        The present components.
    move_sigma : bool
        Whether rankings may change, or φ alone.
    floor : float
        β is clipped to [floor, 1 − floor].
    """
    K, Q = components.sigma.shape
    sigma, phi = components.sigma.copy(), components.phi.copy()
    for k in range(K):
        C = np.ascontiguousarray(counts[:, k].reshape(Q, Q))
        rankings = [sigma[k]]
        if move_sigma:
            new = sigma_of(insertion_search(C, order_of(sigma[k])))
            rankings += [] if np.array_equal(new, sigma[k]) else [new]
        seen = [wins_by_gap(C, row) for row in rankings]
        choices = [
            (rankings[0], seen[0], phi[k]),
            *(
                (row, wins, phi_by_gap(wins, floor=floor))
                for row, wins in zip(rankings, seen, strict=True)
            ),
        ]
        value = [_log_likelihood(wins, phi_k, floor) for _, wins, phi_k in choices]
        sigma[k], _, phi[k] = choices[int(np.argmax(value))]
    return MallowsComponents(sigma, phi)
