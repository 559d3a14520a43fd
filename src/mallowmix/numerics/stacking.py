"""Stacking: the weights of a linear pool of predictors, by their log-loss on held-out answers.

The weights maximise Σ_n ω_n log Σ_j w_j p_nj + Σ_j c_j log w_j over the simplex. The objective is
concave, so there is one maximum; it is found by a quasi-Newton method over x, w = softmax(x). (EM
would creep: predictors are alike, and the objective nearly flat.) The pseudo-counts c pull the
weights towards c / Σ c.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from mallowmix.typing import Array

MAX_ITER = 200
TOL = 1e-6


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
    total = counts.sum() + prior.sum()

    def minus(x: Array) -> tuple[float, Array]:
        w = softmax(x)
        joint = probabilities * w
        pool = np.maximum(joint.sum(axis=1), 1e-300)
        parts = prior + counts @ (joint / pool[:, None])  # one step of EM would take w ∝ parts
        value = counts @ np.log(pool) + prior @ np.log(np.maximum(w, 1e-300))
        return -value / total, (w * parts.sum() - parts) / total

    options = {"maxiter": MAX_ITER, "gtol": TOL, "ftol": 1e-12}
    found = minimize(minus, np.log(prior), jac=True, method="L-BFGS-B", options=options)
    return softmax(found.x)


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
