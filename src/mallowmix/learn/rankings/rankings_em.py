"""Monte-Carlo EM for the model of personal rankings (`model.rankings_model`).

The E-step makes a few sweeps of each user's chain, which goes on from round to round. The M-step
uses means over the rounds, in which older rounds count less:

    σ_k  the Kemeny ranking of the summed P(i above j)
    φ_k  matches the mean Kendall distance
    ε    the share of answers against the user's ranking
    π_k  the share of users
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mallowmix.engine import Engine
from mallowmix.learn.rankings.rankings_pass import RankingsPass, RankingsSums, rankings_pass
from mallowmix.model.dispersion import phi_from_distance
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.rankings_tables import rankings_tables
from mallowmix.numerics.kemeny import insertion_search
from mallowmix.numerics.randomness import as_key

FIRST_ERROR_RATE = 0.05
_LEAST_ERROR, _MOST_ERROR = 0.001, 0.45
_LEAST_PHI, _MOST_PHI = 0.05, 0.999
_PSEUDO_USERS = 2.0  # at half the greatest distance: they keep φ away from 0
_FORGET = 0.7  # what older sums are multiplied by, in the first half of the rounds


def fit_personal_rankings(
    blocks: Sequence[Any],
    start: RankingsModel,
    engine: Engine,
    *,
    n_rounds: int = 9,
    n_sweeps: int = 2,
    seed: int = 0,
) -> RankingsModel:
    """Learn the model of personal rankings by Monte-Carlo EM.

    Parameters
    ----------
    blocks : sequence of Block
        The users.
    start : RankingsModel
        Where EM begins; its number of components stays.
    engine : Engine
        Where passes over users run.
    n_rounds : int
        Rounds of EM.
    n_sweeps : int
        Sweeps of each user's chain in a round.
    seed : int
        Of the chains.

    Returns
    -------
    RankingsModel
    """
    model, state, total, n_passes = start, None, None, 0.0
    for n in range(n_rounds):
        sent = RankingsPass(rankings_tables(model), n, n_sweeps, as_key(seed))
        sums, state = engine.reduce(rankings_pass, blocks, sent, state)
        kept = _FORGET if n < n_rounds // 2 else 1.0
        total, n_passes = _added(total, RankingsSums(*sums), kept), kept * n_passes + 1
        model = _m_step(model, _divided(total, n_passes))
    return model


def _added(total: RankingsSums | None, sums: RankingsSums, kept: float) -> RankingsSums:
    if total is None:
        return sums
    added: list[Any] = [kept * old + new for old, new in zip(total, sums, strict=True)]
    return RankingsSums(*added)


def _divided(total: RankingsSums, n_passes: float) -> RankingsSums:
    """The mean of the passes: every user counts once."""
    mean: list[Any] = [each / n_passes for each in total]
    return RankingsSums(*mean)


def _m_step(model: RankingsModel, sums: RankingsSums) -> RankingsModel:
    Q = model.n_items
    sigma, phi = model.sigma.copy(), model.phi.copy()
    for k in range(model.n_components):
        if sums.users[k] < 1:
            continue  # nobody holds it: it stays as it is
        wins = sums.above[k] - sums.above[k].T
        order = insertion_search(np.maximum(wins, 0), np.argsort(sigma[k], kind="stable"))
        sigma[k, order] = np.arange(Q)
        distance = sums.distances[k] + _PSEUDO_USERS * Q * (Q - 1) / 4
        mean = distance / (sums.users[k] + _PSEUDO_USERS)
        phi[k] = np.clip(phi_from_distance(Q, mean), _LEAST_PHI, _MOST_PHI)
    error = np.clip((sums.errors + 1) / (sums.answers + 20), _LEAST_ERROR, _MOST_ERROR)
    shares = (sums.users + 1) / (sums.users.sum() + model.n_components)
    return RankingsModel(sigma, phi, shares, float(error), model.items)
