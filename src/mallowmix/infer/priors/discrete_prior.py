"""A free prior on finitely many points of the simplex, by EM, with a bound on its distance.

The likelihood of users is concave in the probabilities of the points. With D_j = mean over users
of p(w_m | θ_j) / p(w_m), no probabilities on these points gain more than max_j D_j − 1 nats a
user; EM multiplies each probability by its D_j.
"""

import math
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, map_step, parallel_sum
from mallowmix.errors import DataError, FitWarning, Option, OptionError, check_count
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_STEP = Step.PRIOR_POINTS
_NEGLIGIBLE = 1e-6  # points less probable than this are left out in the end


@dataclass(frozen=True, eq=False)
class DiscretePrior:
    """A prior on points θ_j with their probabilities.

    Parameters
    ----------
    points : (J, K) array
        Weights over the components, rows sum to one.
    probabilities : (J,) array
        Of the points; they sum to one.
    gap : float
        Other probabilities of these points gain at most so much log-likelihood a user.
    """

    points: Array
    probabilities: Array
    gap: float = 0.0

    def __post_init__(self) -> None:
        points, p = np.array(self.points, np.float64), np.array(self.probabilities, np.float64)
        if points.ndim != 2 or p.shape != (len(points),):
            raise DataError(
                f"points have the shape {points.shape} and probabilities {p.shape}; "
                "give one probability a point."
            )
        for rows in (points, p[None]):
            if np.any(rows < 0) or not np.allclose(rows.sum(axis=1), 1):
                raise DataError(
                    "The points, and the probabilities, must be at least 0 and sum to one."
                )
        for name, array in (("points", points), ("probabilities", p)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def mean(self) -> Array:
        """(K,) the shares of the components in the population."""
        return self.probabilities @ self.points

    def weights(
        self,
        model: AnyModel,
        comparisons: Comparisons,
        *,
        unknown_items: Literal["error", "drop"] = "error",
        n_jobs: int | None = None,
    ) -> Array:
        """(M, K) exact posterior means of θ under this prior.

        Parameters
        ----------
        model : FittedModel or M4
            Gives the components and the likelihood weight; its own prior is not used.
        comparisons : Comparisons
            Those of the users; without any a user gets the mean of the prior.
        unknown_items, n_jobs
            As in `weights`.
        """
        if self.points.shape[1] != model.n_components:
            raise DataError(
                f"The prior is over {self.points.shape[1]} components, "
                f"the model has {model.n_components}."
            )
        if as_fitted(model).calibration.spam_share > 0:
            raise OptionError(
                "The model's calibration has a spam component, "
                "which a discrete prior does not have: leave it out.",
                option="calibration",
                value=as_fitted(model).calibration,
                expected="without a spam component",
            )
        comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
        broadcast = (prepare(model), self.points)
        likelihood = ThreadEngine(n_jobs).map(_likelihood, make_blocks(comparisons), broadcast)
        parts = [_normalised(part * self.probabilities) @ self.points for part in likelihood]
        return np.concatenate([np.empty((0, model.n_components)), *parts])


def fit_discrete(
    prepared: PreparedModel,
    blocks: list[Block],
    engine: Engine,
    *,
    n_points: int = 300,
    max_iter: int = 2000,
    tol: float = 1e-3,
    seed: int = 0,
) -> DiscretePrior:
    """The most likely discrete prior, on the points of `support`.

    Parameters
    ----------
    prepared : PreparedModel
        The components.
    blocks : list of Block
        The users.
    engine : Engine
        Where passes over users run.
    n_points : int
        How many points at most.
    max_iter, tol : int, float
        EM ends when at most `tol` nats a user could be gained.
    seed : int
        Which users become points, where there is no lattice.
    """
    check_count("n_points", n_points, 2 * len(prepared.alpha))
    points = support(prepared, blocks, engine, n_points, seed)
    likelihood = engine.map(_likelihood, blocks, (prepared, points))
    users = [(part, block.user_weight) for part, block in zip(likelihood, blocks, strict=True)]
    weight = sum(float(block.user_weight.sum()) for block in blocks)
    p, gap = np.full(len(points), 1 / len(points)), math.inf
    for _ in range(max_iter):
        total = parallel_sum(partial(_gains, p=p), users, engine.n_jobs)
        gain = total / weight
        gap = float(gain.max() - 1)
        if gap <= tol:
            break
        p = p * gain
        p /= p.sum()
    if gap > tol:
        warnings.warn(
            FitWarning(
                f"The discrete prior could still gain up to {gap:.2g} nats a person "
                f"after {max_iter} steps; lower ",
                Option("n_points"),
                ".",
            ),
            stacklevel=4,
        )
    kept = p > _NEGLIGIBLE
    return DiscretePrior(points[kept], p[kept] / p[kept].sum(), gap)


def support(
    prepared: PreparedModel, blocks: list[Block], engine: Engine, n_points: int, seed: int
) -> Array:
    """(J, K) points of a prior: a lattice of at least 4 steps an edge, else users' weights.

    The lattice is the finest of at most `n_points`; without one, the points are the vertices, the
    mean of the prior, and posterior means of users.
    """
    K = len(prepared.alpha)
    steps = 1
    while K > 1 and math.comb(steps + K, K - 1) <= n_points:
        steps += 1
    if steps >= 4 or K == 1:
        return lattice(K, steps)
    theta = engine.map(_posterior_means, blocks, prepared)
    all_users = np.concatenate(theta)
    count = min(len(all_users), n_points - K - 1)
    chosen = np.sort(generator(seed, _STEP).permutation(len(all_users))[:count])
    return np.vstack([np.eye(K), prepared.alpha / prepared.alpha.sum(), all_users[chosen]])


def lattice(K: int, steps: int) -> Array:
    """All points of the simplex whose coordinates are multiples of 1/steps, by stars and bars."""
    bars = np.array(list(combinations(range(steps + K - 1), K - 1)), np.int64).reshape(
        math.comb(steps + K - 1, K - 1), K - 1
    )
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), steps + K - 1)])
    return (np.diff(edges, axis=1) - 1) / steps


@map_step("weights of known users")
def _posterior_means(block: Block, prepared: PreparedModel) -> Array:
    """Posterior means of the users who have comparisons."""
    return fold_in(block, prepared._replace(vertex_share=0.0))[0][np.diff(block.starts) > 0]


@map_step("likelihood of points")
def _likelihood(block: Block, broadcast: tuple[PreparedModel, Array]) -> Array:
    """(M, J) p(w_m | θ_j), the best point of each user 1."""
    prepared, points = broadcast
    codes, number = np.unique(block.pair, return_inverse=True)
    log_p = _log_likelihood(
        block.starts,
        number,
        block.weight,
        np.log(prepared.beta[codes] @ points.T),
        prepared.likelihood_weight,
    )
    return np.exp(log_p - log_p.max(axis=1, keepdims=True))


@compiled
def _log_likelihood(starts, number, weight, log_p, likelihood_weight):
    """(M, J) e Σ_n weight_n log Σ_k θ_jk β_(w_n),k."""
    out = np.zeros((len(starts) - 1, log_p.shape[1]))
    for m in range(len(out)):
        for row in range(starts[m], starts[m + 1]):
            out[m] += likelihood_weight * weight[row] * log_p[number[row]]
    return out


def _gains(users: tuple[Array, Array], p: Array) -> Array:
    """Σ_m weight_m L_mj / Σ_j' p_j' L_mj'."""
    likelihood, weight = users
    return (weight / (likelihood @ p)) @ likelihood


def _normalised(rows: Array) -> Array:
    return rows / rows.sum(axis=1, keepdims=True)
