"""Formulas of which a random change was not noticed: each against an oracle by definition.

They were found by `make mutants`; docs/quality.md has the list.
"""

import numpy as np
import pytest

import mallowmix as mm
import oracles
from mallowmix.infer import pooled_ranking
from mallowmix.infer.heldout.left_to_right import _most
from mallowmix.infer.pooled_ranking import TIED, position_ends
from mallowmix.learn.rankings.rankings_em import _m_step
from mallowmix.learn.rankings.rankings_pass import RankingsSums
from mallowmix.learn.utilities.utilities_em import _next
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters, UtilitiesSums
from mallowmix.model.rankings_model import RankingsModel


@pytest.mark.parametrize("few", [0, 10**9])
def test_positions_are_counts_of_larger_values(few, monkeypatch):
    """By both ways: all differences, and a kernel that needs the items in order."""
    monkeypatch.setattr(pooled_ranking, "_FEW_DIFFERENCES", few)
    rng = np.random.default_rng(3)
    values = rng.permuted(np.tile([0.9, 0.5, 0.5, 0.2, 0.1], (8, 1)), axis=1)
    found, gap = position_ends(values), TIED / 5
    for row, (first, last) in zip(values, found, strict=True):
        for n, value in enumerate(row):
            assert first[n] == 1 + sum(other - value >= gap for other in row)
            assert last[n] == sum(value - other < gap for other in row)


def test_the_m_step_of_personal_rankings():
    """φ gives the mean distance of all users and of two more at half the greatest distance."""
    Q, phi = 4, 0.37
    n_users, error = np.array([18.0, 0.5]), 0.1
    half = Q * (Q - 1) / 4
    total = oracles.expected_distance(Q, phi) * (n_users[0] + 2) - 2 * half
    above = np.triu(np.full((Q, Q), 10.0), 1)[::-1, ::-1]  # the last item is best
    sums = RankingsSums(
        n_users,
        np.stack([above, above]),
        np.array([total, 1.0]),
        error * (80 + 20) - 1,
        80.0,
    )
    before = RankingsModel([[0, 1, 2, 3]] * 2, [0.5, 0.6], [0.5, 0.5], 0.05, list("abcd"))
    after = _m_step(before, sums)
    assert after.sigma.tolist() == [[3, 2, 1, 0], [0, 1, 2, 3]]  # nobody holds the second
    assert after.phi == pytest.approx([phi, 0.6], abs=1e-6)
    assert after.error_rate == pytest.approx(error)
    assert after.shares == pytest.approx([19 / 20.5, 1.5 / 20.5])


def test_variances_of_utilities_are_pulled_to_the_common_one():
    """Where all items have the same variance, no pull changes it; else the least known go far."""
    Q, K = 4, 1
    n = np.array([1.0, 10.0, 100.0, 1000.0])

    def step(residuals):
        sums = UtilitiesSums(
            n[:, None, None] * np.eye(K),
            np.zeros((Q, K)),
            residuals,
            n,
            np.zeros((0, 0)),
            np.ones(K),
            1000.0,
            0.0,
        )
        now = UtilitiesParameters(np.zeros((K, Q)), np.zeros((Q, 0)), np.ones(Q), np.zeros(K))
        return _next(now, sums, 1.0, np.zeros(Q)).variances

    assert step(0.3 * n) == pytest.approx([0.3] * Q)
    own = np.array([0.8, 0.8, 0.2, 0.2])
    common = float((own * n).sum() / n.sum())
    share = (step(own * n) - common) / (own - common)  # of the way that is left
    assert np.all((share > 0) & (share < 1)) and np.all(np.diff(share) > 0)
    assert share == pytest.approx(n / (n + 20))  # as if 20 more users had the common one


@pytest.mark.parametrize(
    ("n_comparisons", "particles"), [(0, 65_536), (512, 8192), (1000, 4194), (10**6, 1024)]
)
def test_the_most_particles_are_two_to_the_22_over_comparisons(n_comparisons, particles):
    assert _most(n_comparisons) == particles


def test_rankings_say_of_how_many_items_and_users_they_are():
    model = mm.M4.from_orders(["abc", "cba"], 0.3, 0.4)
    found = mm.rank(model, model.sample(2, 5, seed=1).comparisons, n_draws=10)
    assert repr(found) == "Rankings of 3 items for 2 users"
