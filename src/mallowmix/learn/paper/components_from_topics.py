"""Algorithm 4: turn any estimate of the ranking matrix B into Mallows components."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError, check_choice
from mallowmix.model.dispersion import phi_of_beta, phi_of_neighbours
from mallowmix.model.fit_options import Dispersion
from mallowmix.model.permutations import sigma_of


class Components(NamedTuple):
    """Mallows components, and the pairwise probabilities that they come from."""

    sigma: NDArray[np.int32]  # (K, Q) positions
    phi: NDArray[np.float64]  # (K,)
    beta: NDArray[np.float64]  # (K, Q, Q)


def components_from_topics(B: ArrayLike, *, dispersion: Dispersion = "pooled") -> Components:
    """Reference rankings and dispersions from a topic model of ordered pairs (Algorithm 4).

    By Lemma 1 the topic-word matrix of any topic model over ordered pairs will do.

    1. β_(i,j) = B_(i,j) / (B_(i,j) + B_(j,i)), one half where neither was seen.
    2. Item i is above j where β_(i,j) > ½.
    3. Items are sorted by how many others they are above; ties by Σ_j β_(i,j).
    4. φ comes from neighbours in the ranking, for which 1/β = 1 + φ.

    Parameters
    ----------
    B : (Q², K) array_like
        Row i·Q + j is how much topic k puts on "i over j".
    dispersion : {"pooled", "printed", "ml"}
        How φ is estimated: from the mean β of neighbours, (1 − β̄)/β̄; by the paper's mean of 1/β
        minus one, which is unstable where a β is near 0; or by maximum likelihood over all gaps.

    Returns
    -------
    Components
        `sigma` (K, Q), `phi` (K,) and `beta` (K, Q, Q).

    Raises
    ------
    DataError
        Where B has no such shape, or numbers that are negative or not finite.

    Examples
    --------
    Two items; the first topic prefers item 0, the second item 1.

    >>> from mallowmix import components_from_topics
    >>> found = components_from_topics([[0, 0], [0.8, 0.1], [0.2, 0.9], [0, 0]])
    >>> found.sigma.tolist()
    [[0, 1], [1, 0]]
    >>> found.phi.round(2).tolist()
    [0.25, 0.11]
    """
    check_choice("dispersion", dispersion, ("pooled", "ml", "printed"))
    beta = conditional_beta(B)
    Q = beta.shape[1]
    off_diagonal = ~np.eye(Q, dtype=bool)
    # β + βᵀ = 1, so a tie gives each one half
    wins = ((beta > 0.5) + 0.5 * (beta == 0.5)) @ np.ones(Q)
    score = (beta * off_diagonal).sum(axis=2)
    order = np.stack([np.lexsort((np.arange(Q), -score[k], -wins[k])) for k in range(len(beta))])
    sigma = sigma_of(order)
    phi = np.array([_dispersion(*each, dispersion) for each in zip(beta, sigma, strict=True)])
    return Components(sigma, phi, beta)


def conditional_beta(B: ArrayLike) -> NDArray[np.float64]:
    """(K, Q, Q) β from the (Q², K) matrix B: step 1 of Algorithm 4."""
    try:
        B = np.asarray(B, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "B must hold numbers, Q² rows and K columns, as ranking_matrix() of a model gives them."
        ) from None
    Q = round(len(B) ** 0.5) if B.ndim == 2 else 0
    if Q < 2 or len(B) != Q * Q or not B.shape[1]:
        raise DataError(
            "B must have Q² rows, one for each code i·Q + j of an ordered pair, and K columns; "
            f"got shape {B.shape}."
        )
    if not np.all(np.isfinite(B)) or np.any(B < 0):
        raise DataError("B must hold finite numbers of at least 0.")
    B3 = B.T.reshape(-1, Q, Q)  # (K, Q, Q)
    total = B3 + B3.transpose(0, 2, 1)
    return np.divide(B3, total, out=np.full_like(B3, 0.5), where=total > 0)


def _dispersion(
    beta: NDArray[np.float64], sigma: NDArray[np.int32], dispersion: Dispersion
) -> float:
    if dispersion == "ml":
        return phi_of_beta(beta, sigma)
    return phi_of_neighbours(beta, sigma, printed=dispersion == "printed")
