"""The Dirichlet prior from the first and second moments of the weights."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_ALPHA0, MOST_ALPHA0 = 1e-3, 1e3


def dirichlet_from_moments(a: ArrayLike, R: ArrayLike) -> NDArray[np.float64]:
    """α from a = E θ and R = E θθᵀ, by least squares on R = (α₀ a aᵀ + diag a) / (α₀ + 1).

    With t = 1/(α₀+1) the identity reads R − aaᵀ = t (diag a − aaᵀ), one line through the origin: t = ⟨·,·⟩ / ‖·‖².
    One component leaves α₀ undetermined; it is then 1.
    """
    positive = np.maximum(np.asarray(a, np.float64), 0)
    share = np.maximum(positive / positive.sum(), 1e-6)
    share /= share.sum()
    if len(share) == 1:
        return np.ones(1)
    outer = np.outer(share, share)
    spread = np.diag(share) - outer
    t = float(np.sum((np.asarray(R) - outer) * spread) / np.sum(spread**2))
    alpha0 = 1 / np.clip(t, 1 / (1 + MOST_ALPHA0), 1 / (1 + LEAST_ALPHA0)) - 1
    return alpha0 * share
