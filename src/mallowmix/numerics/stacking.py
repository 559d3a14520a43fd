"""Stacking: the weights of a linear pool of predictors, by their log-loss on held-out answers.

The weights maximise Σ_n ω_n log Σ_j w_j p_nj + Σ_j c_j log w_j over the simplex. The objective is
concave, so there is one maximum; it is found by Newton's method, whose steps keep Σ w = 1. (EM
would creep: predictors are alike, and the objective nearly flat.) The pseudo-counts c pull the
weights towards c / Σ c, and keep them above 0.
"""

import numpy as np
from numpy.typing import NDArray

from mallowmix.typing import Array

MAX_ITER = 100
TOL = 1e-9  # of what a step is to gain, in nats an answer, after which the next gains nothing
_TO_THE_EDGE = 0.95  # of the way to where a weight would be 0 is the longest step
_MOST_SHORTER = 30  # times that a step is shortened


def stack_weights(probabilities: Array, counts: Array, prior: Array) -> Array:
    """Learn the weights of the predictors.

    Parameters
    ----------
    probabilities : (n, J) array
        What each predictor gave to what happened.
    counts : (n,) array
        ω, what each answer counts for.
    prior : (J,) array
        c, pseudo-counts, above 0.

    Returns
    -------
    (J,) array
        The weights.
    """
    P = np.ascontiguousarray(probabilities.T)  # (J, n): its rows are long
    total, w = counts.sum() + prior.sum(), 0.5 * prior / prior.sum() + 0.5 / len(prior)

    def value(w: Array) -> float:
        pool = np.maximum(w @ P, 1e-300)
        return float(counts @ np.log(pool) + prior @ np.log(w))

    now = value(w)
    for _ in range(MAX_ITER):
        gradient, step = _newton_step(P, counts, prior, w)
        slope = float(gradient @ step)
        if slope < 2 * TOL * total:  # a step gains about half of its slope
            break
        length = min(1.0, _TO_THE_EDGE / max(float((-step / w).max()), 1e-300))
        for _ in range(_MOST_SHORTER):
            moved = w + length * step
            new = value(moved)
            if new >= now + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        w, now = moved, new
    return w / w.sum()


def _newton_step(P: Array, counts: Array, prior: Array, w: Array) -> tuple[Array, Array]:
    """The gradient, and the step s of H s = gradient − λ with Σ s = 0.

    With a_nj = p_nj / Σ_i w_i p_ni, the gradient is Σ_n ω_n a_nj + c_j / w_j, and
    H = Σ_n ω_n a_n a_nᵀ + diag(c / w²). In units of w, s = w t: its matrix is far from singular.
    """
    a = P * (1 / np.maximum(w @ P, 1e-300))  # (J, n)
    weighed = a * counts
    slope = w * weighed.sum(axis=1) + prior  # w_j times the gradient
    H = w[:, None] * (weighed @ a.T) * w + np.diag(prior)
    solved = np.linalg.solve(H, np.column_stack([slope, w]))
    t = solved[:, 0] - solved[:, 1] * (w @ solved[:, 0]) / (w @ solved[:, 1])
    return slope / w, w * t


def stack_weights_by_category(
    probabilities: Array,
    counts: Array,
    category: NDArray[np.integer],
    n_categories: int,
    *,
    towards_equal: float,
    towards_common: float,
) -> Array:
    """Learn the weights of the predictors for each category of answers.

    They are shrunk towards common weights of all categories, which are shrunk towards equal ones.

    Parameters
    ----------
    probabilities, counts
        As in `stack_weights`.
    category : (n,) array of int
        The category of each answer, from 0.
    n_categories : int
        C.
    towards_equal, towards_common : float
        Pseudo-counts that pull towards equal weights, and towards common weights.

    Returns
    -------
    (C, J) array
        The weights.
    """
    J = probabilities.shape[1]
    common = stack_weights(probabilities, counts, np.full(J, towards_equal / J))
    own = [
        stack_weights(
            probabilities[category == c], counts[category == c], towards_common * common + 1e-9
        )
        for c in range(n_categories)
    ]
    return np.array(own)


def pooled(probabilities: Array, weights: Array, category: NDArray[np.integer]) -> Array:
    """Pool the predictors' probabilities.

    Parameters
    ----------
    probabilities : (n, J) array
        Of each answer, by each predictor.
    weights : (C, J) array
        From `stack_weights_by_category`.
    category : (n,) array of int
        The category of each answer.

    Returns
    -------
    (n,) array
        The pool's probability of each answer.
    """
    return (probabilities * weights[category]).sum(axis=1)
