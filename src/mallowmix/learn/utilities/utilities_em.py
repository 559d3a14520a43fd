"""EM for the mixture of Gaussian utilities with factors.

The M-step is a regression for each item over the users who compared it, with as many unknowns as
components and factors; users who did not compare an item say nothing about it and do not slow it
down. With pseudo-users that pull means to those of all users (a single component's to 0: few people
who rank alike by chance would else be believed), loadings to 0 and an item's variance to that of
the others:

    w_i = (A_i + Λ)⁻¹ (b_i + Λ w⁰_i)
    ψ_i = (E_i + c ψ̄) / (n_i + c)
    V ← V · chol(mean of E[z zᵀ])        (parameter expansion: z is not held to N(0, I) at once)
    π_k ∝ R_k + 1

As long as the likelihood rises, the step goes further than EM's (over-relaxation). A constant added
to all utilities changes no answer, so means and loadings are centred. With few factors further
rounds change predictions little: how many factors there are regularises, not when EM stops.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from mallowmix.engine import Block, Engine
from mallowmix.learn.utilities.utilities_pass import (
    UtilitiesParameters,
    UtilitiesSums,
    utilities_pass,
)
from mallowmix.typing import Array

_FASTEST = 1.8
_MEAN_PULL, _LOADING_PULL, _VARIANCE_PULL = 2.0, 5.0, 20.0  # users
_LEAST_VARIANCE = 1e-3


def utilities_path(
    blocks: Sequence[Block],
    start: UtilitiesParameters,
    engine: Engine,
    *,
    n_rounds: int,
    speed_up: bool = True,
) -> Iterator[tuple[UtilitiesParameters, float]]:
    """Run EM round by round.

    Parameters
    ----------
    blocks : sequence of Block
        The users.
    start : UtilitiesParameters
        Where EM begins (`initial_parameters`).
    engine : Engine
        Where passes over users run.
    n_rounds : int
        How many rounds.
    speed_up : bool
        Whether steps go further than EM's while the likelihood rises; False is plain EM.

    Yields
    ------
    parameters : UtilitiesParameters
        After the round.
    evidence : float
        The log-likelihood per user, before the round.
    """
    now, state, before = start, None, -np.inf
    centre = np.exp(start.log_shares) @ start.means
    if len(start.means) == 1:
        centre = np.zeros_like(centre)
    for _ in range(n_rounds):
        total, state = engine.reduce(utilities_pass, blocks, now, state)
        sums = UtilitiesSums(*total)
        evidence = sums.evidence / max(sums.n_users, 1e-300)
        eta = _FASTEST if speed_up and evidence >= before else 1.0
        now, before = _next(now, sums, eta, centre), evidence
        yield now, evidence


def learn_utilities(
    blocks: Sequence[Block], start: UtilitiesParameters, engine: Engine, n_rounds: int
) -> UtilitiesParameters:
    """Run EM and return the last parameters.

    Parameters
    ----------
    blocks, start, engine, n_rounds
        As in `utilities_path`.
    """
    now = start
    for now, _ in utilities_path(blocks, start, engine, n_rounds=n_rounds):  # noqa: B007
        pass
    return now


def _next(
    now: UtilitiesParameters, sums: UtilitiesSums, eta: float, centre: Array
) -> UtilitiesParameters:
    """The M-step, taken η times as far."""
    K, r = len(now.means), now.loadings.shape[1]
    pull = np.r_[np.full(K, _MEAN_PULL), np.full(r, _LOADING_PULL)]
    right = sums.products.copy()
    right[:, :K] += _MEAN_PULL * centre[:, None]
    w = np.linalg.solve(sums.squares + np.diag(pull), right[..., None])[..., 0]
    means, loadings = w[:, :K].T, w[:, K:]
    if r:
        loadings = loadings @ np.linalg.cholesky(sums.factors / sums.n_users)
    n = sums.item_users
    common = sums.residuals.sum() / n.sum()
    variances = (sums.residuals + _VARIANCE_PULL * common) / (n + _VARIANCE_PULL)
    R = sums.responsibilities
    means = now.means + eta * (means - now.means)
    loadings = now.loadings + eta * (loadings - now.loadings)
    return UtilitiesParameters(
        means - means.mean(axis=1, keepdims=True),
        loadings - loadings.mean(axis=0),
        np.maximum(now.variances * (variances / now.variances) ** eta, _LEAST_VARIANCE),
        np.log((R + 1) / (R.sum() + K)),
    )
