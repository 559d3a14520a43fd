"""The M-step against sums over all rankings, a bounded search by scipy, and its promise never to
lower the likelihood.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mallowmix.learn.spectral import likelihood_tables
from mallowmix.learn.spectral.mallows_mstep import (
    MallowsComponents,
    beta_table,
    expected_log_likelihood,
    update_components,
)
from mallowmix.model import dispersion
from mallowmix.model.dispersion import LEAST_PHI, MOST_PHI, best_phi, fit_phi, phi_of_counts
from oracles import beta
from planted import planted
from strategies import rankings


def log_likelihood(counts, sigma, phi, floor=0.0):
    """Σ C_ij log β_ij, with β from all rankings, by a double loop."""
    table = beta(tuple(sigma), phi)
    total = 0.0
    for i in range(len(sigma)):
        for j in range(len(sigma)):
            if i != j and counts[i][j]:
                total += counts[i][j] * math.log(min(max(table[i][j], floor), 1 - floor))
    return total


def tables_of(n_items):
    entry = st.floats(0, 50, allow_subnormal=False)
    return st.lists(entry, min_size=n_items**2, max_size=n_items**2).map(
        lambda values: np.array(values).reshape(n_items, n_items) * (1 - np.eye(n_items))
    )


counts_and_ranking = rankings(2, 5).flatmap(
    lambda sigma: st.tuples(tables_of(len(sigma)), st.just(sigma))
)
dispersions = st.floats(0.006, 0.98)


@given(rankings(2, 5), dispersions, st.sampled_from([0.0, 1e-4, 0.01]))
@settings(max_examples=20)
def test_beta_table(sigma, phi, floor):
    Q = len(sigma)
    table = beta_table(
        MallowsComponents(np.array([sigma, sigma[::-1]], np.int32), np.array([phi, 0.5])), floor
    )
    assert table.shape == (Q * Q, 2)
    for k, (s, p) in enumerate([(sigma, phi), (sigma[::-1], 0.5)]):
        expected = np.clip(beta(tuple(s), p), floor, 1 - floor)
        off = ~np.eye(Q, dtype=bool)
        np.testing.assert_allclose(table[:, k].reshape(Q, Q)[off], expected[off], rtol=1e-10)


@given(counts_and_ranking, dispersions, st.sampled_from([0.0, 1e-4]))
@settings(max_examples=20)
def test_expected_log_likelihood(case, phi, floor):
    counts, sigma = case
    found = expected_log_likelihood(counts, np.array(sigma), phi, floor=floor)
    assert found == pytest.approx(log_likelihood(counts, sigma, phi, floor), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("phi", [0.01, 0.05, 0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_phi_is_the_maximum_likelihood(phi, seed):
    """Against the search over φ of `mallows.fit_phi`, on drawn counts of 20 items: within .002, a
    tenth of its standard error.
    """
    random = np.random.default_rng(seed)
    sigma = random.permutation(20)
    table = np.array(planted(20, 1, phi).beta()[0])  # only to draw counts
    order = np.argsort(planted(20, 1).sigma[0])
    drawn = random.poisson(10 * table[np.ix_(order, order)])  # counts by position
    counts = drawn[np.ix_(sigma, sigma)] * (1 - np.eye(20))
    wins = [sum(drawn[r, r + g] for r in range(20 - g)) for g in range(20)]
    losses = [sum(drawn[r + g, r] for r in range(20 - g)) for g in range(20)]
    assert phi_of_counts(counts, sigma) == pytest.approx(
        np.clip(fit_phi(wins, losses), LEAST_PHI, MOST_PHI), abs=2e-3
    )


@given(counts_and_ranking, st.sampled_from([0.0, 1e-4]))
@settings(max_examples=15)
def test_phi_against_a_search_on_sums_over_all_rankings(case, floor):
    """No φ that scipy finds is better by more than a thousandth of a nat for each hundred
    comparisons.
    """
    counts, sigma = case
    found = log_likelihood(
        counts, sigma, phi_of_counts(counts, np.array(sigma), floor=floor), floor
    )
    best = -minimize_scalar(
        lambda phi: -log_likelihood(counts, sigma, phi, floor),
        bounds=(LEAST_PHI, MOST_PHI),
        method="bounded",
    ).fun
    assert found >= best - 1e-5 * max(counts.sum(), 1)


def test_counts_without_a_loss_give_the_least_phi_and_no_counts_the_largest():
    upper = np.triu(np.ones((5, 5)), 1)
    assert phi_of_counts(upper, np.arange(5)) == LEAST_PHI
    assert phi_of_counts(upper, np.arange(5)[::-1].copy()) == MOST_PHI
    assert phi_of_counts(np.zeros((5, 5)), np.arange(5)) == MOST_PHI  # nothing seen, nothing known


@given(counts_and_ranking, dispersions, st.booleans(), st.sampled_from([0.0, 1e-4]))
@settings(max_examples=40)
def test_the_m_step_never_lowers_the_expected_log_likelihood(case, phi, move_sigma, floor):
    counts, sigma = case
    before = MallowsComponents(np.array([sigma, sigma[::-1]], np.int32), np.array([phi, 0.3]))
    stacked = np.column_stack([counts.ravel(), counts.T.ravel()])
    after = update_components(stacked, before, move_sigma=move_sigma, floor=floor)
    for k, table in enumerate([counts, counts.T]):
        old = log_likelihood(table, tuple(before.sigma[k]), before.phi[k], floor)
        new = log_likelihood(table, tuple(after.sigma[k]), after.phi[k], floor)
        assert new >= old - 1e-9 * max(1, abs(old))
    if not move_sigma:
        assert (after.sigma == before.sigma).all()


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_m_step_leaves_a_phi_that_is_best_already(seed):
    """A φ between grid points, found by scipy: the parabola's would be slightly worse."""
    counts = np.random.default_rng(seed).uniform(0, 50, (4, 4)) * (1 - np.eye(4)) + np.triu(
        np.full((4, 4), 100.0), 1
    )
    sigma = np.arange(4, dtype=np.int32)
    best = minimize_scalar(
        lambda phi: -log_likelihood(counts, tuple(range(4)), phi),
        bounds=(0.01, 0.9),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    after = update_components(
        counts.reshape(16, 1), MallowsComponents(sigma[None], np.array([best])), move_sigma=False
    )
    old = log_likelihood(counts, tuple(range(4)), best)
    assert log_likelihood(counts, tuple(range(4)), after.phi[0]) >= old - 1e-13 * abs(old)


def test_the_m_step_stays_at_a_maximum_and_finds_it_from_elsewhere():
    """Exact expected counts of a planted component: its ranking is found from the reverse, and its
    φ to three digits.
    """
    truth = planted(7, 1, 0.4, seed=2)
    counts = 100 * np.array(beta(tuple(truth.sigma[0].tolist()), 0.4)).reshape(-1, 1)
    for sigma in (truth.sigma, 6 - truth.sigma):
        found = update_components(counts, MallowsComponents(sigma, np.array([0.7])))
        assert (found.sigma == truth.sigma).all()
        assert found.phi == pytest.approx(0.4, abs=1e-3)


def test_the_inputs_stay_as_they_were():
    components = MallowsComponents(np.array([[2, 1, 0]], np.int32), np.array([0.5]))
    update_components(np.triu(np.ones((3, 3)), 1).reshape(9, 1), components)
    assert components.sigma.tolist() == [[2, 1, 0]] and components.phi.tolist() == [0.5]


def test_the_peak_of_a_curve():
    grid = np.array([0.0, 0.1, 0.3, 0.4, 0.8])
    # exact for a parabola, on any grid
    assert best_phi(grid, -((grid - 0.27) ** 2)) == pytest.approx(0.27)
    assert best_phi(grid, grid) == 0.8 and best_phi(grid, -grid) == 0.0
    assert best_phi(grid, np.zeros(5)) == 0.8
    # never beyond the neighbours
    assert 0.1 <= best_phi(grid, np.array([-1e9, -1.0, 0.0, -1e-12, -5.0])) <= 0.4


@pytest.mark.parametrize(
    "kept",
    [
        lambda: likelihood_tables._kept_weights(5, 0.3),
        lambda: likelihood_tables._weights_by_phi(5),
        lambda: dispersion._curves(5),
        lambda: dispersion._log_beta_by_phi(5, 1e-6)[0],
        lambda: dispersion._log_beta_by_phi(5, 1e-6)[1],
    ],
)
def test_what_is_kept_for_later_calls_cannot_be_changed(kept):
    assert kept() is kept()
    with pytest.raises(ValueError, match="read-only"):
        kept()[0, 0] = 1.0
