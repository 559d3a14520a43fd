"""Steps before and behind a fit, each against a definition: what initialisations have, gradients of
the population, draws that rank items, the least points of a discrete prior, weights of chains.
"""

from pathlib import Path

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.errors import OptionError
from mallowmix.infer.pooled_ranking import _member_draws
from mallowmix.infer.posterior import posterior_intervals as intervals
from mallowmix.infer.posterior.person_spread import PersonSpread
from mallowmix.infer.posterior.split_evidence import all_evidence, answer_counts, beta_ratios
from mallowmix.infer.posterior.split_moves import _move_alpha, _two_components
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors.discrete_prior import fit_discrete
from mallowmix.infer.rank_items import _win_rates
from mallowmix.learn.population_scores import _gradients
from mallowmix.learn.spectral.estimator import _initialise
from mallowmix.learn.spectral.fit_state import new_fit_state
from mallowmix.learn.spectral.initialisation import cluster_users, vertex_shares
from mallowmix.learn.spectral.user_scores import _tables
from mallowmix.model import least_beta
from mallowmix.model.mallows import beta_matrix
from mallowmix.numerics import kernel_cache
from planted import planted


def _block(n_items, answers):
    """Users with these (winner, loser) each."""
    pair = [i * n_items + j for rows in answers for i, j in rows]
    starts = np.cumsum([0, *map(len, answers)])
    n = len(answers)
    return Block(0, n_items, starts, np.array(pair, np.int32), np.ones(len(pair)), np.ones(n), None)


def test_gradients_of_the_population_are_sums_over_each_user():
    """Σ_m g_m g_mᵀ with g_m = Σ (1 − σ(s_i − s_j)) (e_i − e_j) over the answers of user m."""
    answers = [[(0, 1), (2, 1)], [], [(1, 0)], [(2, 0), (0, 2), (1, 2)]]
    scores = np.array([0.4, -0.2, 0.9])
    expected = np.zeros((3, 3))
    for rows in answers:
        g = np.zeros(3)
        for i, j in rows:
            e = 1 - 1 / (1 + np.exp(scores[j] - scores[i]))
            g += e * (np.eye(3)[i] - np.eye(3)[j])
        expected += np.outer(g, g)
    whole = _block(3, answers)
    (total, n_users), _ = _gradients(whole, scores, None)
    np.testing.assert_allclose(total, expected, atol=1e-12)
    assert n_users == 3


def test_every_initialisation_has_k_components():
    data = planted(8, 3, 0.3, seed=1).sample(300, 30, seed=1).comparisons
    seen = []
    state = new_fit_state(
        data, make_blocks(data), ThreadEngine(1), 0, lambda *step: seen.append(step)
    )
    first, other = _initialise(state, state, 3, "spa", both=True)
    found = [first, other()]
    assert next(step for step in seen if step[0] == "spectrum") == ("spectrum", 0, 1)
    assert [each.name for each in found] == ["pairs", "people"]
    for each in found:
        assert each.components.sigma.shape == (3, 8) and each.alpha.shape == (3,)


def test_draws_of_a_ranking_put_what_a_user_likes_best_on_top():
    """Users who said c > b > a, and a > b > c, often enough to be sure."""
    model = mm.RankingsModel([[0, 1, 2]], [0.9], [1.0], 0.01, list("abc"))
    answers = [[(2, 1), (1, 0), (2, 0)] * 6, [(0, 1), (1, 2), (0, 2)] * 6]
    draws = _member_draws(_block(3, answers), model, 4, seed=1)
    assert draws.shape == (2, 4, 3)
    assert (np.argsort(-draws[0], axis=1) == [2, 1, 0]).all()
    assert (np.argsort(-draws[1], axis=1) == [0, 1, 2]).all()


def test_a_discrete_prior_has_at_least_two_points_a_component():
    model = planted(5, 2, seed=2)
    blocks = make_blocks(model.sample(20, 8, seed=2).comparisons)
    prepared = prepare(model)
    fit_discrete(prepared, blocks, ThreadEngine(1), n_points=4)
    with pytest.raises(OptionError, match="n_points"):
        fit_discrete(prepared, blocks, ThreadEngine(1), n_points=3)


def test_chains_that_agree_count_the_same_and_their_weights_sum_to_one(monkeypatch):
    given = []

    class Watched(PersonSpread):
        def __init__(self, sample, weights, level, *, one):
            given.append((weights, one))
            super().__init__(sample, weights, level, one=one)

    data = mm.load_dishes(n_users=30).comparisons
    sample = mm.sample_posterior(data, 1, n_warmup=60, n_draws=60, n_chains=2)
    monkeypatch.setattr(intervals, "PersonSpread", Watched)
    found = mm.posterior_intervals(sample)
    assert found.converged and given[0][1]
    assert given[0][0].tolist() == [0.5, 0.5] == found.chain_weights.tolist()


def test_progress_of_the_posterior_counts_every_step_of_all_chains():
    data, seen = mm.load_dishes(n_users=6).comparisons, []
    mm.sample_posterior(
        data, 1, n_chains=2, n_warmup=3, n_draws=4, thin=3, n_jobs=1,
        progress=lambda *step: seen.append(step),
    )  # fmt: skip
    assert seen[-1] == ("posterior", 2 * (3 + 4 * 3), 2 * (3 + 4 * 3)) and len(seen) == 30


def test_intervals_of_weights_of_several_users_have_means_that_sum_to_one():
    dishes = mm.load_dishes(n_users=5)
    found = mm.weight_intervals(dishes.model, dishes.comparisons, n_draws=20)
    alone = mm.weights(dishes.model, dishes.comparisons)
    np.testing.assert_allclose(np.asarray(found.mean).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.asarray(found.mean), np.asarray(alone), atol=1e-9)


def test_ten_draws_are_the_least_for_a_ranking():
    dishes = mm.load_dishes(n_users=2)
    assert len(mm.rank(dishes.model, dishes.comparisons, n_draws=10)) == 2
    with pytest.raises(OptionError, match="n_draws"):
        mm.rank(dishes.model, dishes.comparisons, n_draws=9)


def test_shares_of_vertices_on_one_side_of_the_mean_are_scaled_to_one_before_the_floor():
    """Of corners at 1 and 2 least squares takes .8 of the first: (1, .1) with the floor."""
    assert vertex_shares(np.array([[1.0], [2.0]])) == pytest.approx([1 / 1.1, 0.1 / 1.1])
    assert vertex_shares(np.array([[3.0], [-1.0]])) == pytest.approx([0.25, 0.75])


def test_as_many_active_users_as_clusters_are_enough():
    embedding, n = np.array([[0.0], [5.0], [2.0]]), np.array([60.0, 60.0, 2.0])
    label = cluster_users(embedding, n, np.ones(3), 2)
    assert sorted(label[:2]) == [0, 1] and label[2] == -1
    assert (cluster_users(embedding, n, np.ones(3), 3) >= 0).all()  # all are needed for three


def test_tables_of_scores_are_within_the_bounds_of_beta():
    """Far items of the sharpest component: at the bound, where β no longer depends on φ."""
    sigma = np.arange(5)[None]
    beta, slope = _tables(sigma, np.array([-30.0]))
    assert beta.max() == 1 - least_beta.INFERENCE and beta.min() == least_beta.INFERENCE
    assert slope[4, 0] == 0.0  # the first over the last
    beta, _ = _tables(sigma, np.array([0.0]))
    assert beta[:, 0] == pytest.approx(beta_matrix(sigma[0], 0.5).ravel())


def test_win_rates_of_components_are_means_over_the_other_items():
    model = mm.M4.from_orders(["abcd", "dbac"], [0.4, 0.7])
    for k, found in enumerate(_win_rates(prepare(model), 4)):
        beta = beta_matrix(model.sigma[k], float(model.phi[k]))
        rates = [np.mean([beta[i, j] for j in range(4) if j != i]) for i in range(4)]
        assert found == pytest.approx(rates)


def test_kernels_are_kept_beside_the_package_first(monkeypatch):
    asked = []
    monkeypatch.delenv(kernel_cache.VARIABLE, raising=False)
    monkeypatch.setattr(kernel_cache, "_writable", lambda folder: not asked.append(folder))
    kernel_cache.use_writable_cache()
    assert asked == [Path(mm.__file__).parent / "numerics" / "__pycache__"]


@pytest.mark.slow
def test_another_ratio_of_alpha_changes_the_evidence_of_every_user():
    """After an accepted move the evidence is the one that a fresh start with this α has."""
    starts, codes = np.array([0, 2, 3]), np.array([1, 5, 6])  # of three items, i · 3 + j
    power, theta = np.ones(3), np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
    sigma, phi = np.array([[0, 1, 2], [2, 1, 0]]), np.array([0.4, 0.6])
    beta = np.column_stack([beta_matrix(s, p).ravel() for s, p in zip(sigma, phi, strict=True)])
    beta = np.ascontiguousarray(np.column_stack([beta, np.full(9, 0.5)]))
    rows = (starts, codes, power, answer_counts(starts, power))
    data, state = (rows, theta, beta, 0, 1), np.uint64(7)
    own = _two_components(data, sigma, phi, np.array([0.6, 2.0]))
    moved = own
    for _ in range(20):
        state, moved = _move_alpha(np.uint64(state), data, moved, (np.log(1.0), 1.0), 1.0)
    alpha, both = moved[2], moved[3]
    assert alpha.sum() == pytest.approx(2.6) and alpha[0] != 0.6
    fresh, ratios = np.zeros(2), beta_ratios(rows[3], alpha[0], alpha[1])
    all_evidence(*data, both, both, True, ratios, np.zeros(2), fresh)
    np.testing.assert_allclose(moved[5], fresh, atol=1e-12)
