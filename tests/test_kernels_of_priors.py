"""Exact weights by sweeps, priors, pools and tables: each against a sum, a grid or a definition."""

import numpy as np
import pytest

import mallowmix as mm
import oracles
from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.infer.exact_weights import (
    _beta_rule,
    _gibbs_means,
    _nodes,
    _swept_means,
    gibbs_means,
    quadrature_means,
)
from mallowmix.infer.pool_states import PoolStates
from mallowmix.infer.posterior.component_moves import (
    _add_rows,
    _dispersion_ratio,
    _insertion_ratio,
    _split_rows,
)
from mallowmix.infer.posterior.crowd_moves import _distance, _log_z
from mallowmix.infer.posterior.matched_win_rates import _population_logits
from mallowmix.infer.posterior.weight_moves import move_weights
from mallowmix.infer.predict import predict_each
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors.discrete_prior import DiscretePrior, fit_discrete
from mallowmix.infer.priors.vertex_prior import fit_both, log_marginal_likelihood, make_draws
from mallowmix.infer.user_ratings import RatingPrediction
from mallowmix.learn.paper.recover import _stochastic, mixture_weights
from mallowmix.learn.spectral.initialisation import _embed, count_by_cluster
from mallowmix.learn.spectral.likelihood_tables import (
    N_NODES,
    NODES,
    by_gap,
    gap_reach,
    new_tables,
)
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import tabulate
from mallowmix.learn.spectral.user_scores import _scores_of_rows
from mallowmix.model.mallows import gap_probabilities

MODEL = mm.M4.from_orders(["abc", "cba"], [0.3, 0.5], [0.6, 0.9])
BETA = np.array([[0.9, 0.2], [0.3, 0.6], [0.5, 0.95]])
ALPHA = np.array([0.7, 1.4])


def _block(Q, pairs, weight=None, user_weight=None):
    starts = np.cumsum([0, *map(len, pairs)])
    codes = np.concatenate([np.asarray(each, np.int32) for each in pairs])
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, float)
    users = np.ones(len(pairs)) if user_weight is None else np.asarray(user_weight, float)
    return Block(0, Q, starts, codes, weight, users, None)


USERS = _block(
    3, [[1, 5], [], [6, 6, 2], [7]], [1.0, 2.0, 1.0, 1.0, 1.0, 0.5], [1.0, 1.0, 2.0, 1.0]
)


# ---- exact weights ----


def test_a_rule_of_nodes_has_the_moments_of_its_beta_distribution():
    u, mass = _beta_rule(8, 0.7, 2.1)
    assert mass.sum() == pytest.approx(1) and mass @ u == pytest.approx(0.7 / 2.8)
    assert mass @ u**2 == pytest.approx(0.7 * 1.7 / (2.8 * 3.8))
    assert np.all((u > 0) & (u < 1))


def test_nodes_have_the_moments_of_their_dirichlet():
    for alpha in (np.array([2.0]), np.array([0.5, 1.5]), np.array([0.7, 1.1, 0.4])):
        theta, log_mass = _nodes(alpha)
        mass, total = np.exp(log_mass), alpha.sum()
        assert theta.sum(axis=1) == pytest.approx(np.ones(len(theta)))
        assert mass @ theta == pytest.approx(alpha / total)
        assert mass @ theta**2 == pytest.approx(alpha * (alpha + 1) / (total * (total + 1)))


def test_sweeps_average_what_weights_are_given_components():
    """One token: (α + e_k) / (α₀ + 1) with the probability of each component."""
    out = np.empty((4000, 2))
    _swept_means(np.uint64(1), BETA[:1].copy(), np.ones(1), ALPHA, out)
    w = ALPHA * BETA[0] / (ALPHA @ BETA[0])
    assert out.mean(axis=0) == pytest.approx(w @ ((ALPHA + np.eye(2)) / 3.1), abs=0.01)
    assert set(np.round(out[:, 0] * 3.1, 9)) == {0.7, 1.7}
    none = np.empty((5, 2))
    _swept_means(np.uint64(1), np.empty((0, 2)), np.empty(0), ALPHA, none)
    assert none == pytest.approx(np.tile(ALPHA / 2.1, (5, 1)))


@pytest.mark.parametrize(("weight", "vertex_share"), [(1.0, 0.0), (0.5, 0.0), (1.0, 0.3)])
def test_means_by_sweeps_are_those_of_quadrature(weight, vertex_share):
    """With whole powers, with broken ones, and with users at vertices."""
    prepared = prepare(MODEL)._replace(likelihood_weight=weight, vertex_share=vertex_share)
    exact = quadrature_means(USERS, prepared)
    found = gibbs_means(USERS, prepared, 4000, np.uint64(2))
    assert found.sum(axis=1) == pytest.approx(np.ones(4))
    assert found == pytest.approx(exact, abs=0.03)
    assert found[1] == pytest.approx(prepared.alpha / prepared.alpha.sum(), abs=0.03)


def test_a_mean_over_few_draws_sums_to_one():
    data = USERS.starts, USERS.pair, USERS.weight, prepare(MODEL).beta, prepare(MODEL).alpha
    for n_sweeps in (1, 3):
        found = _gibbs_means(*data, 0.7, n_sweeps, np.uint64(1))
        assert found.sum(axis=1) == pytest.approx(np.ones(4)) and found.min() > 0


def test_moved_weights_sum_to_one_wherever_they_began():
    theta = np.array([[0.6, 1.8]])
    data = np.arange(2), np.zeros(1, np.int32), np.array([0.5]), BETA
    move_weights(*data, ALPHA, theta, np.uint64(1), 0)
    assert theta.sum() == pytest.approx(1)


# ---- priors ----


def _exact_points(points, prepared):
    """(M, J) p(w | θ) of users at points, by their definition."""
    p = np.log(points @ prepared.beta.T)  # (J, Q²)
    user = np.repeat(np.arange(4), np.diff(USERS.starts))
    out = np.zeros((4, len(points)))
    for m, code, w in zip(user, USERS.pair, USERS.weight, strict=True):
        out[m] += prepared.likelihood_weight * w * p[:, code]
    return np.exp(out)


def test_a_discrete_prior_is_most_likely_on_its_points():
    """At the maximum, Σ_m w_m L_mj / p(w_m) is the number of users where p_j > 0, else less."""
    prepared = prepare(MODEL)
    found = fit_discrete(prepared, [USERS], ThreadEngine(1), n_points=9, tol=1e-4)
    assert found.probabilities.sum() == pytest.approx(1) and found.gap <= 1e-4
    steps = np.linspace(0, 1, 9)
    points = np.column_stack([steps, 1 - steps])
    L, weight = _exact_points(points, prepared), USERS.user_weight
    p = np.zeros(9)
    for point, each in zip(found.points, found.probabilities, strict=True):
        p[np.argmin(np.abs(steps - point[0]))] += each
    gain = (weight / (L @ p)) @ L / weight.sum()
    assert gain.max() - 1 == pytest.approx(found.gap, abs=1e-4)
    assert found.mean == pytest.approx(p @ points)


def test_weights_under_a_discrete_prior_are_exact():
    prior = DiscretePrior(np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]), np.array([0.5, 0.3, 0.2]))
    votes = mm.read_comparisons([("u", "a", "b"), ("u", "b", "c"), ("v", "c", "a")])
    beta, table = MODEL.beta(), prior.points
    p = np.array([table @ beta[:, i, j] for i, j in ((0, 1), (1, 2), (2, 0))])
    posterior = np.array([p[0] * p[1], p[2]]) * prior.probabilities
    expected = posterior / posterior.sum(axis=1, keepdims=True) @ table
    assert prior.weights(MODEL, votes) == pytest.approx(expected, rel=1e-3)
    for points, probabilities in (
        ([[0.5, 0.6]], [1.0]),
        ([[0.5, 0.5]], [0.9]),
        ([[1.5, -0.5]], [1.0]),
        ([[0.5, 0.5]], [0.5, 0.5]),
    ):
        with pytest.raises(mm.errors.DataError):
            DiscretePrior(np.array(points), np.array(probabilities))


def test_a_prior_of_two_parts_is_at_the_maximum_of_its_likelihood():
    prepared, blocks = prepare(MODEL), []
    for n, alpha in enumerate((0.01, 8.0)):  # users at vertices, and users who mix
        model = mm.M4.from_orders(["abc", "cba"], [0.3, 0.5], alpha)
        blocks += make_blocks(model.sample(40, 20, seed=n).comparisons)
    alpha, share = fit_both(prepared, blocks, ThreadEngine(1), n_draws=60, seed=1)
    draws = [make_draws(block, (prepared, 60, np.uint64(1))) for block in blocks]
    x = np.r_[np.log(alpha), np.log(share / (1 - share))]

    def value(x):
        return sum(log_marginal_likelihood(part, x)[0] for part in draws)

    assert 0.05 < share < 0.95  # not at an edge, where nothing more can be gained
    for step in 0.3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert value(x + step) < value(x) - 1e-3


def test_nobody_without_a_comparison_counts_for_a_prior():
    prepared = prepare(MODEL)
    assert make_draws(USERS, (prepared, 5, np.uint64(1))).weight.tolist() == [1.0, 0.0, 2.0, 1.0]


# ---- pools, predictions ----


class _State:
    def __init__(self, mean, rest):
        self.both = np.array(mean), np.array(rest)

    def moments(self, codes):
        return self.both[0][codes], self.both[1][codes]

    def rough_moments(self, codes):
        return self.both[0][codes] + 1, self.both[1][codes] + 1


def test_members_of_a_pool_count_by_how_many_items_are_known():
    first, second = _State([0.1] * 9, [0.2] * 9), _State([0.9] * 9, [0.6] * 9)
    weights = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]])
    pool = PoolStates((first, second), weights, np.array([1, 0, 1]))
    codes = np.array([0 * 3 + 1, 0 * 3 + 2, 1 * 3 + 2])
    mean, rest = pool.moments(codes)
    assert mean == pytest.approx([0.3, 0.5, 0.3]) and rest == pytest.approx([0.3, 0.4, 0.3])
    assert pool.moments(codes, rough=True)[0] == pytest.approx([1.3, 1.5, 1.3])
    alone = PoolStates((second,), np.ones((3, 1)) / 2, np.array([1, 0, 1]))
    assert alone.moments(codes)[0].tolist() == [0.9] * 3


def test_one_pair_for_each_of_some_users():
    votes = mm.read_comparisons([("u", "a", "b"), ("v", "c", "a"), ("v", "c", "b")])
    users, pairs = ["v", "nobody", "u", "v"], [("a", "c"), ("a", "b"), ("b", "c"), ("b", "a")]
    p, known = predict_each(MODEL, votes, users, pairs)
    assert known.tolist() == [True, False, True, True]
    table = mm.predict(MODEL, votes, pairs).probability
    assert p[[0, 2, 3]] == pytest.approx([table[1, 0], table[0, 2], table[1, 3]])
    assert p[1] == pytest.approx(mm.predict(MODEL, None, [("a", "b")]).probability[0, 0])


def test_a_mean_rating_is_rounded_to_the_nearest_level():
    scale = np.array([1.0, 2.0, 4.0])
    rows = np.array([[1.0, 0, 0], [0.6, 0.4, 0], [0.4, 0.6, 0], [0, 0.6, 0.4], [0, 0.4, 0.6]])
    found = RatingPrediction(np.arange(5), np.arange(5), scale, rows, np.array(["x"] * 5))
    assert found.mean == pytest.approx([1.0, 1.4, 1.6, 2.8, 3.2])
    assert found.rounded.tolist() == [1, 1, 2, 2, 4]


# ---- the posterior's components ----


def test_logits_of_a_population_are_finite_and_antisymmetric():
    sigma = np.tile(np.arange(6, dtype=np.int16), (1, 2, 1))
    sure = _population_logits(sigma, np.array([[1e-6, 1e-5]]), np.ones((1, 2)))[0]
    assert sure == pytest.approx(-sure.T, rel=1e-6) and np.isfinite(sure).all()
    assert sure.max() == pytest.approx(np.log(1e9), rel=1e-3)
    sigma = np.array([[[0, 1, 2], [2, 1, 0]]], np.int16)
    phi, alpha = np.array([[0.3, 0.6]]), np.array([[1.0, 3.0]])
    tables = [
        np.array(oracles.beta(tuple(map(int, s)), p), float)
        for s, p in zip(sigma[0], phi[0], strict=True)
    ]
    q = 0.25 * tables[0] + 0.75 * tables[1]
    off = ~np.eye(3, dtype=bool)
    found = _population_logits(sigma, phi, alpha)[0]
    assert found[off] == pytest.approx(np.log(q[off] / (1 - q[off])))
    assert np.diag(found).tolist() == [0, 0, 0]


def _rows_by_pair(Q, rows):
    """(pair_starts, row_user, power) of rows (user, code, power)."""
    rows = sorted(rows, key=lambda row: row[1])
    codes = np.array([row[1] for row in rows])
    return (
        np.searchsorted(codes, np.arange(Q * Q + 1)),
        np.array([row[0] for row in rows]),
        np.array([row[2] for row in rows], float),
        codes,
    )


def test_rows_are_split_into_a_component_and_the_rest():
    starts, user, _, codes = _rows_by_pair(2, [(0, 1, 1.0), (1, 1, 1.0), (1, 2, 0.5)])
    theta = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    beta = np.random.default_rng(0).uniform(0.1, 0.9, (4, 3))
    base, own = np.empty(3), np.empty(3)
    _split_rows(starts, user, theta, beta, 1, base, own)
    parts = theta[user] * beta[codes]
    assert base == pytest.approx(parts[:, 0] + parts[:, 2]) and own == pytest.approx(theta[user, 1])


def test_ratios_of_likelihoods_do_not_underflow_and_know_powers():
    """Eight hundred rows with three powers, whose product is below any number."""
    random = np.random.default_rng(1)
    n = 800
    base, own = random.uniform(1e-6, 1e-5, n), random.uniform(0.1, 0.9, n)
    power = np.repeat([1.0, 0.5, 2.0], [300, 200, 300])
    for old, new in ((0.9, 0.001), (0.001, 0.9)):
        total, product, now = _add_rows((0.0, 1.0, 1.0), 0, n, base, own, power, old, new)
        expected = power @ np.log((base + own * new) / (base + own * old))
        assert total + now * np.log(product) == pytest.approx(expected, rel=1e-9)


def test_ratios_of_an_insertion_and_of_a_dispersion_by_definition():
    Q, random = 4, np.random.default_rng(2)
    rows = [(int(random.integers(3)), int(i * Q + j), float(random.choice([0.5, 1, 2])))
            for i in range(Q) for j in range(Q) if i != j for _ in range(2)]  # fmt: skip
    starts, _, power, codes = _rows_by_pair(Q, rows)
    base, own = random.uniform(0.1, 0.3, len(codes)), random.uniform(0.2, 0.7, len(codes))
    order = np.array([2, 0, 3, 1])

    def gaps(phi):
        win, lose = gap_probabilities(Q, phi)
        return np.concatenate([lose[:0:-1], win])

    def value(order, phi):
        sigma = np.argsort(order)
        gap = sigma[codes % Q] - sigma[codes // Q]
        return power @ np.log(base + own * gaps(phi)[Q - 1 + gap])

    for r in range(Q):
        for s in range(Q):
            if r != s:
                rest = np.delete(order, r)
                moved = np.insert(rest, s, order[r])
                found = _insertion_ratio(starts, base, own, power, gaps(0.4), order, r, s)
                assert found == pytest.approx(value(moved, 0.4) - value(order, 0.4))
    sigma = np.argsort(order)
    found = _dispersion_ratio(starts, base, own, power, sigma, gaps(0.4), gaps(0.7))
    assert found == pytest.approx(value(order, 0.7) - value(order, 0.4))


def test_the_crowds_normaliser_and_distance_by_all_rankings():
    assert _log_z(4, 0.6) == pytest.approx(np.log(oracles.normaliser(4, 0.6)))
    for sigma in oracles.all_rankings(3):
        for other in oracles.all_rankings(3):
            found = _distance(np.array(sigma), np.array(other))
            assert found == oracles.kendall_distance(sigma, other)


# ---- learning ----


def test_a_score_counts_every_sweep():
    """One comparison: given its component, α's score is 1 − α_k / α₀ or − α_k / α₀."""
    starts, pair, slope = np.array([0, 1]), np.zeros(1, np.int32), np.array([[0.3, -0.2]])
    for sweeps in (1, 2):
        rows, key = (starts, pair, np.ones(1)), np.uint64(4)
        found = _scores_of_rows(*rows, BETA[:1].copy(), slope, ALPHA, sweeps, 0, key)[0]
        p = ALPHA * BETA[0] / (ALPHA @ BETA[0])
        assert found[:, :2] == pytest.approx(np.tile(p * slope[0], (2, 1)))
        share = ALPHA / ALPHA.sum()
        for half in found[:, 2:]:
            assert half.sum() == pytest.approx(0, abs=1e-12)
            times = (half + share)[0] * sweeps  # how often the first component was drawn
            assert times == pytest.approx(round(times)) and -0.1 < times < sweeps + 0.1


def test_counts_by_cluster_and_embeddings_of_users():
    label = np.array([1, 0, -1, 1])
    block = _block(2, [[1], [2, 1], [1], [2]], [1.0, 2.0, 0.5, 1.0, 3.0], [1.0, 3.0, 1.0, 2.0])
    found = count_by_cluster(block, label, 3)
    assert found.tolist() == [[0, 1.5, 6, 0], [0, 1, 6, 0], [0, 0, 0, 0]]
    index, value = np.zeros(4, np.int32), np.array([0.0, 2.0, -0.5, 0.0])
    at, n = _embed(block.starts, block.pair, block.weight, index, value, np.array([[0.5, 2.0]]))
    assert n.tolist() == [1.0, 2.5, 1.0, 3.0]
    mean = np.array([2.0, (2 * -0.5 + 0.5 * 2.0) / 2.5, 2.0, -0.5])
    assert at == pytest.approx(np.outer(mean, [0.5, 2.0]))


def test_tables_by_gap_are_the_likelihood_at_the_probability_of_each_gap():
    """In memory that was used before."""
    Q, phi = 4, 0.6
    tables = new_tables(2, Q)
    assert tables.shape == (2, 6, N_NODES) and not tables.any()
    table = np.log(NODES) * np.arange(1.0, 7.0)[:, None]  # n wins of the lower-numbered item
    D = gap_reach(Q, phi)
    size = 6 * (2 * D + 1)
    found = by_gap(table, Q, phi, memory=np.full(size + 5, 7.0, np.float32))
    assert D == Q - 1 and found.shape == (6, 2 * Q - 1)
    win, lose = gap_probabilities(Q, phi)
    for p in range(6):
        for g in range(1, Q):
            n = p + 1
            assert found[p, D + g] == pytest.approx(n * np.log(lose[g]), rel=1e-3)
            assert found[p, D - g] == pytest.approx(n * np.log(win[g]), rel=2e-2, abs=2e-3)
    assert gap_reach(40, 0.01) < 3


def test_tables_are_sums_of_logarithms_of_what_users_would_answer():
    """With weights that are multiplied up, that are not, and that are too large to be."""
    block = _block(2, [[1, 2], [1], [2]], [3.0, 0.5, 9.0, 60.0], [1.0, 2.0, 1.0])
    theta = np.array([[0.3, 0.7], [0.999, 0.001], [0.5, 0.5]])
    beta = np.array([[0.5, 0.5], [0.8, 0.3], [0.2, 0.7], [0.5, 0.5]])
    old = np.full((2, 1, N_NODES), 4.0, np.float32)
    found = tabulate(by_pair([block]), beta, theta, old.copy(), gain=0.25)
    rows = [(0, True, 3.0), (0, False, 0.5), (1, True, 18.0), (2, False, 60.0)]
    for k in range(2):
        expected = np.zeros(N_NODES)
        for m, lower_won, w in rows:
            if theta[m, k] >= 0.005:
                rest = theta[m, 1 - k] * beta[1 if lower_won else 2, 1 - k]
                expected += w * np.log(rest + theta[m, k] * (NODES if lower_won else 1 - NODES))
        assert found[k, 0] == pytest.approx(4 + 0.25 * (expected - 4), rel=1e-4)
    only = tabulate(by_pair([block]), beta, theta, old.copy(), which=[1])
    assert only[0].tolist() == old[0].tolist() and only[1].tolist() != old[1].tolist()


def test_rows_are_mixtures_of_anchors_with_the_least_divergence():
    A = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    mixed = np.array([0.3, 0.7]) @ A
    found = mixture_weights(np.array([mixed, A[1]]), A, tol=1e-9, max_iter=5000)
    assert found == pytest.approx(np.array([[0.3, 0.7], [0.0, 1.0]]), abs=1e-3)
    once = mixture_weights(mixed[None], A, tol=0.0, max_iter=1)
    ratio = A @ (mixed / (A.mean(axis=0)))
    assert once[0] == pytest.approx(0.5 * ratio / (0.5 * ratio).sum(), rel=1e-6)
    assert mixture_weights(mixed[None], A, tol=10.0).tolist() == [[0.5, 0.5]]
    assert _stochastic(np.array([[1.0, -2.0, 3.0], [0.0, 0.0, 0.0]])).tolist() == [
        [0.25, 0.0, 0.75],
        [0.0, 0.0, 0.0],
    ]
