"""EM for the mixture of Gaussian utilities, as a path of models.

The path has the parameters after each round, so that a caller can stop where they predict best.
With Laplace's approximation the posterior mean of u − s_k is Σ g and its covariance Σ − Σ W Σ, so

    Σ ← Σ + η Σ [mean of g gᵀ − W] Σ       (η = 1 is EM)
    s_k ← s_k + Σ ḡ_k / (R_k + 2)          (shrunk by two users at the old mean)
    π_k ← (R_k + 1) / (Σ R + K)

EM is slow where a user says little, or is very consistent: as long as the likelihood rises, η grows
(over-relaxation). A constant added to all utilities changes no answer, so Σ is centred; a part ρ
of its mean variance stays on the diagonal. The number of rounds regularises the rest: with Q²
numbers to learn, the maximum of the likelihood predicts worse than earlier points of the path.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mallowmix.engine import Engine
from mallowmix.learn.utilities.utilities_pass import (
    UtilitiesParameters,
    UtilitiesSums,
    utilities_pass,
)
from mallowmix.typing import Array

FIRST_VARIANCE = 0.5
_GROWTH, _FASTEST = 1.3, 2.5  # of η, while the likelihood rises
_PSEUDO_USERS = 2.0
_LEAST_SHRINKAGE, _MOST_SHRINKAGE = 0.02, 0.1


class UtilitiesRound(NamedTuple):
    """A point of the path.

    Attributes
    ----------
    parameters : UtilitiesParameters
        After the round.
    evidence : float
        The log-likelihood per user, before the round.
    n_rounds : int
        How many rounds led here.
    """

    parameters: UtilitiesParameters
    evidence: float
    n_rounds: int


def first_parameters(means: Array, likelihood_weight: float = 1.0) -> UtilitiesParameters:
    """Make the parameters where EM begins: given means, equal shares, independent utilities.

    Parameters
    ----------
    means : (K, Q) array
        From `initial_means`.
    likelihood_weight : float
        What one answer counts for.

    Returns
    -------
    UtilitiesParameters
    """
    K, Q = means.shape
    centre = np.eye(Q) - 1 / Q
    covariance = FIRST_VARIANCE * centre + 1e-9 * np.eye(Q)
    return UtilitiesParameters(means, covariance, np.full(K, -np.log(K)), likelihood_weight)


def shrinkage_of(n_users: float, n_items: int) -> float:
    """ρ, smaller where more users say how items go together."""
    return float(np.clip(n_items / (n_items + n_users), _LEAST_SHRINKAGE, _MOST_SHRINKAGE))


def utilities_path(
    blocks: Sequence[Any],
    start: UtilitiesParameters,
    engine: Engine,
    *,
    max_rounds: int,
    shrinkage: float | None = None,
    speed_up: bool = True,
) -> Iterator[UtilitiesRound]:
    """Run EM round by round.

    Parameters
    ----------
    blocks : sequence of Block
        The users.
    start : UtilitiesParameters
        Where EM begins.
    engine : Engine
        Where passes over users run.
    max_rounds : int
        How many rounds.
    shrinkage : float
        ρ; by the number of users (`shrinkage_of`) unless given.
    speed_up : bool
        Whether steps grow while the likelihood rises; False is plain EM.

    Yields
    ------
    UtilitiesRound
        After each round.
    """
    now, state, eta, before = start, None, 1.0, -np.inf
    for n in range(1, max_rounds + 1):
        total, state = engine.reduce(utilities_pass, blocks, now, state)
        sums = UtilitiesSums(*total)
        evidence = sums.evidence / max(sums.n_users, 1e-300)
        eta = min(_FASTEST, eta * _GROWTH) if speed_up and evidence > before else 1.0
        rho = shrinkage_of(sums.n_users, now.means.shape[1]) if shrinkage is None else shrinkage
        now, before = _next(now, sums, eta, rho), evidence
        yield UtilitiesRound(now, evidence, n)


def _next(
    now: UtilitiesParameters, sums: UtilitiesSums, eta: float, rho: float
) -> UtilitiesParameters:
    """The M-step."""
    K, Q = now.means.shape
    old, R = now.covariance, sums.responsibilities
    step = sums.gradients @ old / (R + _PSEUDO_USERS)[:, None]
    moved = old + eta * old @ (sums.moments / sums.n_users) @ old
    centre = np.eye(Q) - 1 / Q
    covariance = (
        _positive(centre @ (moved + moved.T) @ centre / 2)
        if eta > 1
        else (centre @ (moved + moved.T) @ centre / 2)
    )
    covariance = (1 - rho) * covariance + rho * np.trace(covariance) / Q * np.eye(Q)
    shares = (R + 1) / (R.sum() + K)
    return now._replace(means=now.means + step, covariance=covariance, log_shares=np.log(shares))


def _positive(matrix: Array) -> Array:
    """The nearest positive semi-definite matrix: a step longer than EM's can leave this set."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
