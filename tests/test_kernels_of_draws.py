"""Small steps of draws and filters, each against its definition: pieces of comparisons, agreement
of two runs, vertices, spam, rankings of users, splits that a step affords, noise of win rates.
"""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

import mallowmix as mm
from mallowmix.engine import Block
from mallowmix.infer import rankings_posterior
from mallowmix.infer.gibbs_draws import _gibbs_draws, _to_vertices, without_spam
from mallowmix.infer.heldout.left_to_right import (
    _agreement,
    _copy,
    _draw,
    _gibbs,
    _run,
    _tokens,
    ancestors,
)
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.posterior import posterior_chain
from mallowmix.infer.posterior.posterior_chain import PosteriorChain, _number_of_splits
from mallowmix.infer.posterior.win_rate_intervals import _noise, _ranks
from mallowmix.infer.star_distributions import _scores, star_distributions
from mallowmix.infer.utilities_posterior import _covariances, _root
from mallowmix.infer.utilities_prediction import utilities_probabilities
from mallowmix.learn.rankings import rankings_pass
from mallowmix.learn.utilities.conditioned_utilities import condition
from mallowmix.model.rankings_tables import rankings_tables
from mallowmix.numerics import insertion_gibbs
from mallowmix.numerics.randomness import splitmix

BETA = np.array([[0.9, 0.2], [0.3, 0.6], [0.5, 0.95]])
ALPHA = np.array([0.7, 1.4])


def _block(Q, pairs):
    """Users with these ordered pairs, each of weight 1."""
    starts = np.cumsum([0, *map(len, pairs)])
    codes = np.concatenate(pairs).astype(np.int32)
    return Block(0, Q, starts, codes, np.ones(len(codes)), np.ones(len(pairs)), None)


def test_comparisons_come_one_by_one_in_any_order():
    pair, weight = np.array([8, 5, 6, 7]), np.array([9.0, 2.5, 0.5, 1.0])
    orders = Counter()
    for user in range(200):
        code, piece = _tokens(pair, weight, 1, 4, user, np.uint64(1))
        rows = sorted(zip(code.tolist(), piece.tolist(), strict=True))
        assert rows == [(5, 0.5), (5, 1.0), (5, 1.0), (6, 0.5), (7, 1.0)]
        orders[code.tolist().index(7)] += 1
    assert sorted(orders) == list(range(5)) and max(orders.values()) < 70
    code, piece = _tokens(pair, weight, 0, 0, 3, np.uint64(1))
    assert len(code) == len(piece) == 0


def test_two_runs_agree_by_their_difference_their_noise_and_its_error():
    runs, n = np.array([[-3.0, -3.4], [-5.0, -4.8]]), np.array([4.0, 6.0])
    found = _agreement(runs, n)
    assert found["difference"] == pytest.approx(abs(0.4 - 0.2) / 10)
    lost = logsumexp(runs, axis=1) - np.log(2) - runs.mean(axis=1)
    assert found["noise_bias"] == pytest.approx(lost.sum() / 10)
    assert found["monte_carlo_error"] == pytest.approx(np.sqrt(0.4**2 + 0.2**2) / 2 / 10)


def test_a_token_is_drawn_by_its_probability_and_counted():
    n, z, p, first = np.array([1.7, 1.4]), np.zeros(2, np.int16), np.empty(2), 0
    state, code, piece = np.uint64(4), np.array([0, 1]), np.array([1.0, 0.5])
    for _ in range(2000):
        now = n.copy()
        total, state = _draw(z, now, p, code, piece, BETA, 1, np.uint64(state))
        assert total == pytest.approx(BETA[1] @ n)
        assert (now - n).tolist() == pytest.approx([0.5, 0.0] if z[1] == 0 else [0.0, 0.5])
        first += z[1] == 0
    assert first / 2000 == pytest.approx(BETA[1, 0] * 1.7 / (BETA[1] @ n), abs=0.05)
    assert z[0] == 0


def test_components_drawn_again_have_their_posterior():
    """Of two tokens, both equal: as in Pólya's urn."""
    z, p, n = np.zeros(2, np.int16), np.empty(2), ALPHA + np.array([2.0, 0.0])
    state, code, piece, counts = np.uint64(6), np.array([0, 0]), np.ones(2), np.zeros(3)
    for _ in range(4000):
        state = _gibbs(z, n, p, code, piece, BETA, 2, 3, np.uint64(state))
        counts[np.count_nonzero(z == 0)] += 1
    assert n == pytest.approx(ALPHA + np.bincount(z, minlength=2))
    (a, b), (x, y) = ALPHA, BETA[0]
    law = np.array([b * (b + 1) * y * y, 2 * a * b * x * y, a * (a + 1) * x * x])
    assert counts / 4000 == pytest.approx(law / law.sum(), abs=0.04)


def test_a_particle_is_copied_with_all_that_it_has_seen():
    n, z = np.arange(6.0).reshape(3, 2), np.arange(12, dtype=np.int16).reshape(3, 4)
    _copy(2, 0, 3, n, z)
    assert n.tolist() == [[4, 5], [2, 3], [4, 5]]
    assert z[0].tolist() == [8, 9, 10, 3] and z[1:].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize("form", [0, 1])
def test_a_filter_sums_over_all_components_of_tokens(form):
    """Three whole tokens; their probability by all assignments to two components."""
    code, total = np.array([0, 2, 1]), 0.0
    for assignment in np.ndindex(2, 2, 2):
        n, p = ALPHA.copy(), 1.0
        for t, k in zip(code, assignment, strict=True):
            p *= BETA[t, k] * n[k] / n.sum()
            n[k] += 1
        total += p
    log_p = [
        _run(code, np.ones(3), BETA, ALPHA, 400, form, 1, np.uint64(seed)) for seed in range(4)
    ]
    assert np.mean(log_p) == pytest.approx(np.log(total), abs=0.03)
    once = _run(code[:1], np.array([0.5]), BETA, ALPHA, 7, form, 1, np.uint64(1))
    assert once == pytest.approx(0.5 * np.log(BETA[0] @ ALPHA / ALPHA.sum()))


def test_draws_become_vertices_by_their_probabilities():
    out = np.full((4000, 3), 1 / 3)
    _to_vertices(np.uint64(3), 0.4, np.array([0.2, 0.5, 0.3]), out)
    moved = out.max(axis=1) == 1
    assert np.all(out[~moved] == 1 / 3) and np.all(out.sum(axis=1) == pytest.approx(1))
    assert moved.mean() == pytest.approx(0.4, abs=0.04)
    assert out[moved].mean(axis=0) == pytest.approx([0.2, 0.5, 0.3], abs=0.06)


def test_draws_after_one_token_are_a_mixture_of_two_dirichlets():
    out = np.empty((3000, 2))
    _gibbs_draws(np.uint64(5), BETA[:1].copy(), np.ones(1), ALPHA, out)
    w = ALPHA * BETA[0] / (ALPHA @ BETA[0])
    mean = w @ ((ALPHA + np.eye(2)) / 3.1)
    assert out.sum(axis=1) == pytest.approx(np.ones(3000))
    assert out.mean(axis=0) == pytest.approx(mean, abs=0.02)
    none = np.empty((3000, 2))
    _gibbs_draws(np.uint64(5), np.empty((0, 2)), np.empty(0), ALPHA, none)
    assert none.mean(axis=0) == pytest.approx(ALPHA / 2.1, abs=0.025)


def test_weights_without_spam_sum_to_one_and_are_the_shares_where_nothing_is_left():
    theta = np.array([[0.3, 0.1, 0.6], [0.0, 0.0, 1.0]])
    found = without_spam(theta, np.array([0.5, 0.3]))
    assert found == pytest.approx(np.array([[0.75, 0.25], [0.625, 0.375]]))


def test_a_step_affords_so_many_splits():
    """Σ n² / 2 multiplications each, four million in all, at most two for each item."""
    data = SimpleNamespace(whole=True, n_items=50)
    assert _number_of_splits(data, np.array([400, 300]), 4) == 8  # 4e6 / (4 · 125,000)
    assert _number_of_splits(data, np.array([400, 300]), 2) == 16
    assert _number_of_splits(data, np.array([3, 4]), 4) == 100
    assert _number_of_splits(data, np.array([0, 0]), 4) == 100
    assert _number_of_splits(data, np.array([500]), 4) == 8
    assert _number_of_splits(data, np.array([501]), 4) == 0
    assert _number_of_splits(SimpleNamespace(whole=False, n_items=50), np.array([3]), 4) == 0


@pytest.mark.parametrize("K", [1, 2, 4])
def test_each_component_meets_all_others_in_turn(K, monkeypatch):
    met, steps = [], []
    monkeypatch.setattr(
        posterior_chain,
        "move_split",
        lambda *given: (met.append(given[6]), steps.append(given[-1])),
    )
    chain = SimpleNamespace(
        phi=np.zeros(K),
        data=SimpleNamespace(starts=None, pair=None, power=None),
        priors=SimpleNamespace(rankings="uniform"),
        _counts=None,
        _n_splits=3,
        _widths={name: np.ones(K + 1) for name in ("reach", "phi", "alpha")},
        theta=None, beta=None, sigma=None, alpha=None, crowd=None, key=None,
        _phi_prior=None, _alpha_prior=None,
    )  # fmt: skip
    for step in range(K - 1):
        chain._step = step + 1
        PosteriorChain._move_splits(chain, 1.0)
    assert sorted(map(tuple, met)) == [(j, k) for j in range(K) for k in range(K) if j != k]
    assert len(set(steps)) == len(steps)  # each has random numbers of its own


def test_noise_has_the_correlations_of_the_covariance_and_the_widths_given():
    covariance = np.array([[4.0, 1.2, 0.0], [1.2, 1.0, 0.0], [0.0, 0.0, 0.0]])
    wide = np.array([0.5, 2.0, 0.3])
    draws = _noise(covariance, wide, 1)
    assert draws.std(axis=0) == pytest.approx(wide, rel=0.1)
    found = np.corrcoef(draws.T)
    assert found[0, 1] == pytest.approx(0.6, abs=0.06)
    assert abs(found[0, 2]) < 0.1 and abs(found[1, 2]) < 0.1


def test_positions_by_win_rate_count_the_better_ones():
    rates = np.array([[0.2, 0.9, 0.5], [0.7, 0.6, 0.1]])
    assert _ranks(rates).tolist() == [[2, 0, 1], [0, 1, 2]]


@pytest.fixture
def known():
    """A model of utilities with two factors, and users who compared some items, all, none."""
    random = np.random.default_rng(3)
    model = mm.UtilitiesModel(
        random.normal(size=(2, 4)), random.normal(size=(4, 2)), [0.5, 1.0, 0.7, 0.3], [0.6, 0.4],
        list("abcd"),
    )  # fmt: skip
    block = _block(4, [[0 * 4 + 1, 2 * 4 + 0], [3 * 4 + 0], [1 * 4, 2 * 4, 3 * 4], []])
    (given,) = condition(block, model)
    return given, model, block


def test_predictions_are_those_of_the_covariances_of_all_utilities(known):
    """Pairs of two items that a user compared, of one, of none."""
    given, model, block = known
    full = _covariances(given, model)
    user, i, j = map(np.ravel, np.meshgrid(np.arange(4), np.arange(4), np.arange(4), indexing="ij"))
    user, i, j = (axis[i != j] for axis in (user, i, j))
    states = (given.at[user, i] >= 0).astype(int) + (given.at[user, j] >= 0)
    assert set(states.tolist()) == {0, 1, 2}
    expected = full[user, :, i, i] + full[user, :, j, j] - 2 * full[user, :, i, j]
    gap = (given.mean[user, :, i] - given.mean[user, :, j]) / np.sqrt(1 + np.pi / 8 * expected)
    p = (given.shares()[user] / (1 + np.exp(-gap))).sum(axis=1)
    queries = Queries(np.arange(5) * 12, i * 4 + j)
    assert utilities_probabilities(block, model, queries) == pytest.approx(p)
    assert full == pytest.approx(full.swapaxes(2, 3))


def test_covariances_are_those_of_one_gaussian(known):
    """The prior V Vᵀ + Ψ, conditioned on what is known of the items compared."""
    given, model, _ = known
    V = model.loadings
    prior = V @ V.T + np.diag(model.variances)
    full = _covariances(given, model)
    for m, at in enumerate(given.at):
        seen, rest = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
        B = prior[np.ix_(rest, seen)] @ np.linalg.inv(prior[np.ix_(seen, seen)])
        left = prior[np.ix_(rest, rest)] - B @ prior[np.ix_(seen, rest)]
        for k in range(2):
            C = full[m, k][np.ix_(seen, seen)]
            assert full[m, k][np.ix_(rest, seen)] == pytest.approx(B @ C)
            assert full[m, k][np.ix_(rest, rest)] == pytest.approx(left + B @ C @ B.T)


def test_a_root_of_a_covariance_with_and_without_a_zero():
    random = np.random.default_rng(0)
    A = random.normal(size=(3, 3))
    for C in (A @ A.T, np.outer(A[0], A[0])):
        assert _root(C) @ _root(C).T == pytest.approx(C)


def test_stars_by_their_definition():
    """Of two members; with ties and without; users and items that are not known."""
    Q, S, random = 3, 4, np.random.default_rng(1)
    p01 = random.uniform(0.1, 0.9, (2, Q * Q, 2))
    theta = random.dirichlet([1, 1], (2, 2, 1))  # (members, users, draws, K)
    rated, level = np.array([1, 2, -1, 0]), np.array([3, 1, 2, 1])
    histogram, everyone = np.array([[3.0, 0, 1, 2], [1.0, 1, 1, 1]]), np.array([0.1, 0.2, 0.3, 0.4])
    starts = np.array([0, 4, 4])

    def p(m, j):
        return np.mean([theta[f, m, 0] @ p01[f, 0 * Q + j] for f in range(2)])

    def score(tie):
        out = np.zeros(S)
        for s in range(S):
            for j, r in ((1, 3), (2, 1)):  # neither the item itself nor what is not known
                up, down = np.log(p(0, j)), np.log(1 - p(0, j))
                out[s] += up if r < s else down if r > s else tie * (up + down)
        return out

    found = np.empty(S)
    for tie in (0.0, 0.5):
        assert _scores(0, rated, level, theta[:, 0, 0], p01, Q, tie, found) == 2
        assert found == pytest.approx(score(tie))
    a, b, c = 0.8, 3.0, 0.5
    user, item = np.array([0, 0, 1, -1]), np.array([0, -1, 0, 0])
    given = user, item, starts, rated, level, theta, p01, histogram, everyone, Q
    out, basis = star_distributions(*given, True, a, b, c)
    assert basis.tolist() == [0, 1, 1, 2]
    h = histogram + c * everyone
    expected = h[0] * np.exp(a / (2 + b) * score(0.5))
    assert out[0] == pytest.approx(expected / expected.sum())
    assert out[1] == pytest.approx(h[0] / h[0].sum())
    assert out[2] == pytest.approx(h[1] / h[1].sum()) and out[3] == pytest.approx(everyone)
    out, basis = star_distributions(*given, False, a, b, c)
    assert out[0] == pytest.approx(np.exp(score(0.0)) / np.exp(score(0.0)).sum())


def _counters(monkeypatch, modules):
    """What counters of random numbers kernels use, which run as plain Python."""
    used = []

    def record(key, step, user, token, draw):
        used.append((int(user), int(token), int(draw)))
        random = np.random.default_rng([int(user) % 2**32, int(token), int(draw)])
        return random.random(), random.random()

    for module in modules:
        for name, value in vars(module).items():
            if hasattr(value, "_function"):
                monkeypatch.setattr(module, name, value._function)
        monkeypatch.setattr(module, "uniforms", record)
    return used


def _rankings_model():
    return mm.RankingsModel([[0, 1, 2], [2, 1, 0]], [0.5, 0.6], [0.5, 0.5], 0.1, list("abc"))


def test_no_random_number_of_a_chain_of_rankings_is_used_twice(monkeypatch):
    block = _block(3, [[0 * 3 + 1], [1 * 3 + 2]])
    used = _counters(monkeypatch, [rankings_posterior, insertion_gibbs])
    with np.errstate(over="ignore"):  # of the hash
        draws = rankings_posterior.ranking_draws(block, _rankings_model(), 5)
    assert len(set(used)) == len(used) and len({user for user, _, _ in used}) == 2
    # of each user: one to begin, then three insertions and a component in each of 4 + 5 sweeps
    assert len(used) == 2 * (1 + 9 * (3 + 1))
    assert np.sort(draws, axis=2).tolist() == np.tile(np.arange(3), (2, 5, 1)).tolist()


def test_no_random_number_of_passes_over_rankings_is_used_twice(monkeypatch):
    block = _block(3, [[0 * 3 + 1], [1 * 3 + 2]])
    used = _counters(monkeypatch, [rankings_pass, insertion_gibbs])
    tables, state = rankings_tables(_rankings_model()), None
    for number in range(3):
        given = rankings_pass.RankingsPass(tables, number, 2, np.uint64(1))
        _, state = rankings_pass.rankings_pass(block, given, state)
    assert len(set(used)) == len(used) == 2 * (1 + 3 * 2 * (3 + 1))


def test_particles_of_next_to_no_weight_are_all_replaced():
    """All but one of eight: the copies are those of the points (u + j) / R in each share."""
    weights = np.array([0.01, 0.01, 0.92, 0.01, 0.01, 0.01, 0.01, 0.02])
    for state in range(30):
        source, after = ancestors(weights, np.uint64(state * 7919))
        _, u = splitmix(np.uint64(state * 7919))
        points = np.searchsorted(np.cumsum(weights), (u + np.arange(8)) / 8, side="right")
        assert sorted(source.tolist()) == sorted(np.minimum(points, 7).tolist())
        assert all(source[i] == i for i in set(points.tolist()))  # survivors keep their numbers
        assert after != state * 7919


def test_sums_of_a_pass_over_rankings_are_those_of_the_rankings_drawn():
    """One component and one sweep: distances and errors of the rankings that a user now has."""
    model = mm.RankingsModel([[1, 0, 2]], [0.6], [1.0], 0.1, list("abc"))
    starts, pair = np.array([0, 2, 2, 3, 4]), np.array([1, 5, 6, 2], np.int32)
    weight, users = np.array([1.0, 2.0, 0.5, 3.0]), np.array([1.0, 1.0, 4.0, 0.0])
    block = Block(0, 3, starts, pair, weight, users, None)
    given = rankings_pass.RankingsPass(rankings_tables(model), 0, 1, np.uint64(3))
    sums, (orders, component) = rankings_pass.rankings_pass(block, given, None)
    position = np.argsort(orders, axis=1)
    assert sums.users.tolist() == [5.0] and sums.answers == 1.0 * 3 + 4.0 * 0.5
    distances = [mm.kendall(row, [1, 0, 2]) * 3 for row in position]
    assert sums.distances[0] == pytest.approx(distances[0] + 4 * distances[2])
    wrong = position[[0, 0, 2], pair[:3] // 3] > position[[0, 0, 2], pair[:3] % 3]
    assert sums.errors == pytest.approx(wrong @ [1.0, 2.0, 4 * 0.5])
    assert not np.diag(sums.above[0]).any() and sums.above.max() <= 5.0
    assert component.tolist() == [0, 0, 0, 0]
