"""Least squares on the simplex, for many rows at once."""

import warnings

import numpy as np

from mallowmix.errors import FitWarning, Option
from mallowmix.typing import Array


def project_to_simplex(points: Array) -> Array:
    """The nearest point with b ≥ 0, Σb = 1, for every row (sort, find the threshold, clip)."""
    # one below the largest: ends at 0 anyway
    points = np.maximum(points - points.max(axis=1, keepdims=True), -1)
    descending = -np.sort(-points, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, points.shape[1] + 1)
    last = np.count_nonzero(descending > excess, axis=1) - 1  # how many entries stay positive
    return np.maximum(points - np.take_along_axis(excess, last[:, None], axis=1), 0)


def clip_to_psd(G: Array) -> Array:
    """The nearest symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh((G + G.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def simplex_least_squares(G: Array, C: Array, *, tol: float = 1e-4, max_iter: int = 5000) -> Array:
    """Minimise ½ b G bᵀ − b·c over the simplex for every row c of C.

    By accelerated projected gradients with restarts. A row has converged when its duality gap
    b·(g − min g), g the gradient, is below `tol` times the mean of G's diagonal: the objective is
    then that close to its least value.

    Parameters
    ----------
    G : (K, K) array
        A Gram matrix without negative eigenvalues.
    C : (n, K) array
        The right-hand sides.
    tol : float
        The duality gap at which a row has converged.
    max_iter : int
        Steps at most; rows that have not converged by then warn (FitWarning).

    Returns
    -------
    (n, K) array
        b, a row for each row of C.
    """
    n_rows, K = C.shape
    B = np.full((n_rows, K), 1 / K)
    least = max(1e-9 * float(np.abs(C).max(initial=0)), 1e-300)  # G may be 0
    step = 1 / max(float(np.linalg.eigvalsh(G)[-1]), least)
    wanted = tol * max(float(np.mean(np.diag(G))), least)
    open_rows = np.arange(n_rows)
    b, look, speed = B, B, 1.0
    for iteration in range(max_iter):
        new = project_to_simplex(look - step * (look @ G - C[open_rows]))
        # momentum points uphill: restart those rows
        backwards = np.einsum("ij,ij->i", look - new, new - b) > 0
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        look = np.where(backwards[:, None], new, new + (speed - 1) / faster * (new - b))
        b, speed = new, faster
        if iteration % 10 == 9:
            gradient = b @ G - C[open_rows]
            gap = np.einsum("ij,ij->i", b, gradient) - gradient.min(axis=1)
            B[open_rows] = b
            rest = gap > wanted
            open_rows, b, look = open_rows[rest], b[rest], look[rest]
            if not len(open_rows):
                return B
    B[open_rows] = b
    warnings.warn(
        FitWarning(
            f"The simplex regression stopped after {max_iter} steps with {len(open_rows)} of "
            f"{n_rows} rows not within ",
            Option("tol", tol),
            "; raise ",
            Option("tol"),
            ", or see whether the novel pairs are nearly the same.",
        ),
        stacklevel=2,
    )
    return B
