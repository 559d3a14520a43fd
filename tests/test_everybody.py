"""After a sample, everybody: rankings come nearer to what was planted; φ and α settle with the
rankings held fixed.
"""

import numpy as np
import pytest

from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.gibbs_sweep import new_chains, swept_chains
from mallowmix.learn.spectral.large_data import SWEEPS, learn_from_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, groups, monte_carlo_em
from mallowmix.learn.spectral.user_sample import sample_blocks
from mallowmix.model import least_beta
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key
from planted import error, planted


@pytest.fixture(scope="module")
def truth():
    return planted(20, 3, 0.6, alpha=0.2, seed=4)


@pytest.fixture(scope="module")
def population(truth):
    return truth.sample(3000, 40, seed=4)


@pytest.fixture(scope="module")
def rough(truth, population):
    """What a sample of a tenth of the people says: some neighbours in the wrong order."""
    random = np.random.default_rng(1)
    sigma = np.argsort(np.argsort(truth.sigma + random.normal(0, 0.8, truth.sigma.shape))).astype(
        np.int32
    )
    blocks = sample_blocks(make_blocks(population.comparisons), 0.1, 0, ThreadEngine(1))
    theta = [np.full((block.n_users, 3), 1 / 3) for block in blocks]
    return blocks, MonteCarlo(
        MallowsComponents(sigma, np.full(3, 0.6)), np.full(3, 0.2), new_chains(blocks, theta), []
    )


def as_model(found, truth):
    return M4(found.components.sigma, found.components.phi, found.alpha, truth.items)


def test_everybody_mends_what_the_sample_left(truth, population, rough):
    sample, start = rough
    assert error(as_model(start, truth), truth) > 0.02
    told = []
    found, distances = learn_from_all_users(
        make_blocks(population.comparisons),
        sample,
        start,
        ThreadEngine(2),
        seed=1,
        progress=lambda *said: told.append(said),
    )
    assert error(as_model(found, truth), truth) < 0.005
    assert distances.shape == (3,) and (distances < 0.05).all()
    assert (
        found.moved[0] > 0
        and told[-1][1] == told[-1][2]
        and {said[0] for said in told} == {"all users"}
    )
    # ten standard errors of φ from 12,000 comparisons are about this
    assert np.abs(found.components.phi - 0.6).max() < 0.1


def test_only_phi_and_alpha_move(truth, rough):
    sample, start = rough
    options = {"max_burn_in": 1, "min_average": 3, "max_average": 3, "move_sigma": False}
    found = monte_carlo_em(
        sample,
        start.components._replace(phi=np.full(3, 0.9)),
        start.alpha,
        start.chains,
        ThreadEngine(1),
        **options,
    )
    assert found.components.sigma.tobytes() == start.components.sigma.tobytes() and found.moved == [
        0,
        0,
        0,
        0,
    ]
    assert (found.components.phi < 0.85).all() and (found.alpha != start.alpha).all()


def test_fresh_draws_are_of_the_posterior(truth, population):
    """Mean squared weights of everybody, E Σ θ² = (α + 1) / (Kα + 1): .75 ± .01 (5 standard errors
    are .014).
    """
    beta = beta_table(
        MallowsComponents(np.array(truth.sigma), np.array(truth.phi)), least_beta.DIRECT_LIKELIHOOD
    )
    blocks = make_blocks(population.comparisons)
    drawn = np.concatenate(
        [chain.theta for chain in swept_chains(blocks, beta, np.full(3, 0.2), 40, as_key(3))]
    )
    np.testing.assert_allclose(drawn.sum(axis=1), 1, rtol=1e-9)
    assert abs(np.sum(drawn**2, axis=1).mean() - 1.2 / 1.6) < 0.03
    few = np.concatenate(
        [chain.theta for chain in swept_chains(blocks, beta, np.full(3, 0.2), SWEEPS, as_key(3))]
    )
    assert abs(np.sum(few**2, axis=1).mean() - np.sum(drawn**2, axis=1).mean()) < 0.02


@pytest.mark.parametrize(
    ("squares", "expected"), [(100.0, 1), (50.0, 1), (25.0, 2), (10.0, 5), (1e-9, 20), (0.0, 20)]
)
def test_how_many_move_together(squares, expected):
    """100 people who follow 1, 2, 4, 10 components each: about two of those they mix move together,
    at most all.
    """
    assert groups(squares, 100, 20) == expected
