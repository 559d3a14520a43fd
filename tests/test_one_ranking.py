"""One ranking for all users: against every ranking, and against Monte-Carlo EM."""

from itertools import permutations

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.gibbs_sweep import new_chains
from mallowmix.learn.spectral.likelihood_tables import new_tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.monte_carlo_em import monte_carlo_em
from mallowmix.learn.spectral.one_ranking import refine_one_ranking, tables_of_wins
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import tabulate
from mallowmix.model import least_beta
from mallowmix.model.mallows import beta_matrix
from planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def wins_of(comparisons):
    wins = np.zeros((comparisons.n_items, comparisons.n_items))
    rows = comparisons.weight * comparisons.user_weight[comparisons.user]
    np.add.at(wins, (comparisons.winner, comparisons.loser), rows)
    return wins


def first(n_items):
    return MallowsComponents(np.arange(n_items, dtype=np.int32)[None], np.array([0.5]))


def log_likelihood(wins, sigma, phi):
    return float(np.sum(wins * np.log(beta_matrix(sigma, phi))))


def test_no_ranking_of_five_items_is_more_likely():
    votes = planted(5, 1, 0.6, 1.0, seed=3).sample(80, 12, seed=3).comparisons
    model, wins = mm.fit(votes, 1, predictor=False), wins_of(votes)
    found = log_likelihood(wins, model.sigma[0], float(model.phi[0]))
    every = [
        log_likelihood(wins, np.array(sigma), phi)
        for sigma in permutations(range(5))
        for phi in np.linspace(0.3, 0.9, 61)
    ]
    assert found >= max(every) - 0.01  # tables are splines


def test_it_ends_where_monte_carlo_em_does():
    votes = planted(20, 1, 0.7, 1.0, seed=1).sample(300, 30, seed=1).comparisons
    blocks, engine, alpha = make_blocks(votes), ThreadEngine(1), np.ones(1)
    fast, distances = refine_one_ranking(blocks, first(20), alpha, engine)
    chains = new_chains(blocks, [np.ones((block.n_users, 1)) for block in blocks])
    slow = monte_carlo_em(blocks, first(20), alpha, chains, engine, min_burn_in=8)
    assert np.array_equal(fast.components.sigma, slow.components.sigma)
    assert fast.components.phi == pytest.approx(slow.components.phi, abs=1e-5)
    assert fast.alpha.tolist() == [1.0]
    assert 0 < distances[0] < 0.1


def test_its_table_is_that_of_all_rows_with_a_weight_of_one():
    votes = planted(8, 1, 0.5, 1.0, seed=2).sample(50, 20, seed=2).comparisons
    blocks = make_blocks(votes)
    beta = beta_table(first(8), least_beta.DIRECT_LIKELIHOOD)
    rows = tabulate(by_pair(blocks), beta, np.ones((votes.n_users, 1)), new_tables(1, 8))
    np.testing.assert_allclose(tables_of_wins(wins_of(votes)), rows, rtol=2e-6)
