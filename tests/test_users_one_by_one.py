"""Kernels that go through users: each gets what their own rows say, by definition."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import roots_jacobi
from scipy.stats import dirichlet

from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.errors import FitWarning
from mallowmix.infer.gibbs_draws import _to_vertices
from mallowmix.infer.posterior.component_moves import move_component
from mallowmix.infer.posterior.split_evidence import beta_ratios, draw_splits
from mallowmix.infer.posterior.weight_moves import move_weights
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors import dirichlet_prior, vertex_prior
from mallowmix.infer.priors.discrete_prior import fit_discrete, support
from mallowmix.learn.spectral.initialisation import _embed
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.utilities import initial_loadings
from mallowmix.numerics.clustered_error import clustered_ratio, wilson_interval
from mallowmix.numerics.randomness import Step, child_seed
from planted import planted

KEY = np.uint64(11)


def test_weights_move_to_the_posterior_of_each_user():
    """Half answers of two users, and one between them who said nothing, against quadrature.

    Draws are correlated: the bound is five standard errors of a tenth of them.
    """
    beta = np.array([[0.5, 0.5], [0.9, 0.2], [0.1, 0.8], [0.5, 0.5]])
    starts, pair, alpha = np.array([0, 3, 3, 5]), np.array([1, 1, 2, 2, 2]), np.array([0.9, 1.6])
    power = np.array([0.5, 1.5, 0.5, 1.5, 2.5])
    theta, n = np.full((3, 2), 0.5), 4000
    draws = np.empty((n, 3))
    for step in range(n):
        move_weights(starts, pair, power, beta, alpha, theta, KEY, step)
        draws[step] = theta[:, 0]
    assert theta.sum(axis=1) == pytest.approx(np.ones(3))
    x, weight = roots_jacobi(60, alpha[1] - 1, alpha[0] - 1)
    r = (1 + x) / 2
    for m in range(3):
        rows = slice(starts[m], starts[m + 1])
        p = np.outer(r, beta[pair[rows], 0]) + np.outer(1 - r, beta[pair[rows], 1])
        posterior = weight * np.prod(p ** power[rows], axis=1)
        mean = posterior @ r / posterior.sum()
        spread = np.sqrt(posterior @ (r - mean) ** 2 / posterior.sum())
        assert draws[:, m].mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(n / 10))
        assert draws[:, m].std() == pytest.approx(spread, rel=0.15)


def test_users_are_embedded_by_the_mean_of_their_rows():
    starts, pair = np.array([0, 2, 2, 5]), np.array([1, 2, 2, 5, 3], np.int32)
    weight, random = np.array([1.0, 2.0, 0.5, 1.0, 3.0]), np.random.default_rng(0)
    index, value = np.array([0, 1, 2, 1, 0, 3]), random.normal(size=6)
    U = random.normal(size=(4, 2))
    found, n = _embed(starts, pair, weight, index, value, U)
    assert n.tolist() == [3.0, 0.0, 4.5]
    for m in (0, 2):
        rows = range(starts[m], starts[m + 1])
        total = sum(weight[row] * value[pair[row]] * U[index[pair[row]]] for row in rows)
        assert found[m] == pytest.approx(total / n[m])
    assert found[1].tolist() == [0, 0]


def test_a_ratio_over_users_and_its_error():
    """s.e.² = M / (M − 1) Σ (total − r n)² / (Σ n)², over those who count at all."""
    total, n = np.array([0.5, 9.0, 1.0, 0.2]), np.array([1.0, 0.0, 2.0, 0.5])
    ratio, error = clustered_ratio(total, n)
    r = 1.7 / 3.5
    squares = (0.5 - r) ** 2 + (1 - 2 * r) ** 2 + (0.2 - 0.5 * r) ** 2
    assert ratio == pytest.approx(r) and error == pytest.approx(np.sqrt(1.5 * squares) / 3.5)
    assert clustered_ratio(total[:1], n[:1]) == (0.5, np.inf)
    assert clustered_ratio(np.array([1.0, 0.0]), np.ones(2)) == pytest.approx((0.5, 0.5))
    assert np.isnan(clustered_ratio(total[1:2], n[1:2])[0])


@pytest.mark.parametrize(("p", "n", "z"), [(0.5, 10, 1.96), (0.1, 30, 2.0), (0.98, 4.5, 1.0)])
def test_an_end_of_wilsons_interval_is_z_of_its_own_standard_errors_away(p, n, z):
    for end in wilson_interval(p, n, z):
        assert abs(p - end) == pytest.approx(z * np.sqrt(end * (1 - end) / n))
    low, high = wilson_interval(0.5, 10, 1.96)
    assert (low, high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson_interval(0.3, 0, 1.96) == (0, 1)


def test_a_discrete_prior_says_that_it_has_not_converged_only_then():
    truth = planted(4, 2, 0.3, 0.5, seed=1)
    blocks = make_blocks(truth.sample(40, 8, seed=1).comparisons)
    given = prepare(truth), blocks, ThreadEngine(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_discrete(*given, n_points=8, tol=1e-3, max_iter=5000)
    assert found.probabilities.sum() == pytest.approx(1)
    with pytest.warns(FitWarning, match="could still gain"):
        fit_discrete(*given, n_points=8, tol=1e-9, max_iter=1)


def test_splits_are_drawn_from_the_rows_of_each_user():
    """Two kinds of people in turn, with other answers and numbers of them, against quadrature."""
    both = np.array([[0.5, 0.9, 0.1, 0.5], [0.5, 0.3, 0.7, 0.5]])
    alpha, M = np.array([0.7, 1.2]), 4000
    kinds = [(np.array([1, 2]), np.array([3.0, 1.0])), (np.array([2]), np.array([2.0]))]
    pair = np.tile(np.concatenate([codes for codes, _ in kinds]), M)
    power = np.tile(np.concatenate([x for _, x in kinds]), M)
    starts = np.concatenate([[0], np.cumsum(np.tile([2, 1], M))])
    rows = (starts, pair, power, np.tile([4, 2], M))
    theta = np.full((2 * M, 2), 0.5)
    ratios = beta_ratios(rows[3], *alpha)
    draw_splits(rows, theta, both.T.copy(), alpha, 0, 1, both, ratios, KEY, 1)
    x, weight = roots_jacobi(40, alpha[1] - 1, alpha[0] - 1)
    r = (x + 1) / 2
    for kind, (codes, x) in enumerate(kinds):
        p = (np.outer(r, both[0, codes]) + np.outer(1 - r, both[1, codes])) ** x
        posterior = weight * np.prod(p, axis=1)
        exact = posterior @ r / posterior.sum()
        assert np.mean(theta[kind::2, 0]) == pytest.approx(exact, abs=5 * 0.5 / np.sqrt(M))


def test_points_of_a_prior_are_as_many_as_were_asked_for():
    """Vertices and the mean, and users for the rest, where a lattice would be too coarse."""
    truth = planted(5, 5, 0.3, 0.5, seed=1)
    blocks, prepared = make_blocks(truth.sample(40, 8, seed=1).comparisons), prepare(truth)
    points = support(prepared, blocks, ThreadEngine(1), 12, 0)
    assert points.shape == (12, 5) and points.sum(axis=1) == pytest.approx(np.ones(12))
    assert points[:5].tolist() == np.eye(5).tolist()
    assert points[5] == pytest.approx(prepared.alpha / prepared.alpha.sum())


def test_seeds_of_steps_and_numbers_differ_in_all_of_their_bits():
    seeds = [child_seed(3, step, n) for step in (Step.REPLICATE, Step.RESTART) for n in range(200)]
    assert len(set(seeds)) == 400 and max(seeds) < 2**64
    bits = np.array([[seed >> bit & 1 for bit in range(64)] for seed in seeds])
    ones = bits.mean(axis=0)[: max(seeds).bit_length()]
    assert len(ones) > 60 and np.all(np.abs(ones - 0.5) < 5 * 0.5 / 20)


@pytest.mark.parametrize(
    ("K", "n_points", "found"), [(1, 5, 1), (2, 9, 9), (3, 15, 15), (3, 20, 15), (3, 21, 21)]
)
def test_a_lattice_is_the_finest_of_at_most_so_many_points(K, n_points, found):
    """A point; steps of 1/8; of 1/4 twice: 15 points of a triangle; of 1/5, which are 21."""
    points = support(prepare(planted(4, K, seed=1)), [], ThreadEngine(1), n_points, 0)
    assert points.shape == (found, K) and len(np.unique(points, axis=0)) == found


def test_draws_become_vertices_by_their_probabilities():
    single, n = np.array([0.5, 0.2, 0.3]), 4000
    out = np.full((n, 3), 1 / 3)
    _to_vertices(np.uint64(5), 0.6, single, out)
    moved = out.max(axis=1) == 1
    assert moved.mean() == pytest.approx(0.6, abs=5 * 0.5 / np.sqrt(n))
    assert out[moved].mean(axis=0) == pytest.approx(single, abs=5 * 0.5 / np.sqrt(0.6 * n))
    assert np.all(out[~moved] == 1 / 3)
    _to_vertices(np.uint64(5), 1.0, 0.5 * single, out)  # as if rounding had lost a half
    assert np.all(out.sum(axis=1) == 1) and out[:, 2].mean() > 0.5


@pytest.mark.parametrize("halves", [False, True])
def test_rows_by_pair_are_the_rows_of_all_users(halves):
    votes = planted(5, 2, 0.4, 0.5, seed=1).sample(30, 7, seed=1).comparisons
    votes = replace(votes, user_weight=1.0 + np.arange(30) % 3)
    found, n_pairs = [], 5 * 4 // 2
    for part in by_pair(make_blocks(votes), halves=halves):
        assert len(part.starts) == len(part.codes) + 1
        for n, (first, last) in enumerate(pairwise(part.starts)):
            odd = part.first + n // 2 >= n_pairs
            for user, weight in zip(part.user[first:last], part.weight[first:last], strict=True):
                assert not halves or odd == user % 2
                found.append((int(user), int(part.codes[n]), float(weight)))
    given = zip(votes.user, votes.winner * 5 + votes.loser, votes.weight, strict=True)
    assert sorted(found) == sorted((int(m), int(c), float(w * (1 + m % 3))) for m, c, w in given)


def test_moments_of_utilities_are_the_covariance_and_the_square_of_the_mode():
    """Of two users, by Newton's method on all items; an item that nobody compared adds nothing."""
    mean, variance = np.array([0.3, -0.2, 0.1, 0.0]), 0.7
    answers = [[(0, 1, 1.0), (2, 1, 2.0)], [(1, 0, 1.5)]]
    pair = np.array([i * 4 + j for rows in answers for i, j, _ in rows], np.int32)
    weight = np.array([w for rows in answers for *_, w in rows])
    block = Block(0, 4, np.array([0, 2, 3]), pair, weight, np.array([1.0, 3.0]), None)
    found, n = initial_loadings._moments_step(block, (mean, np.full(4, variance)))
    exact = np.zeros((4, 4))
    for rows, times in zip(answers, (1.0, 3.0), strict=True):
        d = np.zeros(4)
        for _ in range(40):
            slope, curvature = -d / variance, np.eye(4) / variance
            for i, j, w in rows:
                p = 1 / (1 + np.exp(-(mean[i] - mean[j] + d[i] - d[j])))
                e = np.eye(4)[i] - np.eye(4)[j]
                slope = slope + w * (1 - p) * e
                curvature = curvature + w * p * (1 - p) * np.outer(e, e)
            d = d + np.linalg.solve(curvature, slope)
        items = sorted({item for i, j, _ in rows for item in (i, j)})
        square = np.ix_(items, items)
        exact[square] += times * (np.linalg.inv(curvature) + np.outer(d, d))[square]
    assert found == pytest.approx(exact, abs=1e-4) and n.tolist() == [4.0, 4.0, 1.0, 0.0]


def test_without_rows_every_insertion_is_accepted():
    """The mean probabilities of acceptance: of rankings 1, of φ what its prior says."""
    sigma, phi, beta = np.array([[2, 0, 1]]), np.array([0.5]), np.full((9, 1), 0.5)
    none, no_rows = np.zeros(10, np.int64), np.zeros(0, np.int64)
    for step in range(10):
        given = (none, no_rows, np.zeros(0), np.ones((1, 1)), beta, sigma, phi, 0)
        prior = (np.array([0, 1, 2]), 0.0, np.array([2.0, 3.0]))
        found = move_component(*given, *prior, 1.0, 1.5, 6, 4, 1.0, KEY, step)
        assert found[0] == pytest.approx(1) and 0 < found[1] <= 1


def test_tokens_are_kept_from_cycle_to_cycle():
    """Whatever components they come from, a user's tokens are as many as their answers weigh."""
    starts, pair = np.array([0, 3, 3, 5]), np.array([1, 2, 1, 2, 2], np.int32)
    weight, beta = np.array([1.0, 2.5, 1.0, 3.0, 1.0]), np.array([[0.5, 0.5], [0.9, 0.2]] * 2)
    z = np.zeros(9, np.int64)  # 2.5 are three tokens
    for cycle in range(3):
        given = (starts, pair, weight, beta, np.array([0.4, 0.7]), 0.8, z, 2, cycle, 0, KEY)
        counts = dirichlet_prior._sweep(*given)
        assert counts.sum(axis=1) == pytest.approx([0.8 * 4.5, 0, 0.8 * 4]) and np.all(counts >= 0)


def test_a_prior_with_two_parts_is_where_its_likelihood_is_highest():
    truth = planted(5, 2, 0.3, 0.6, seed=1)
    blocks, engine = make_blocks(truth.sample(80, 10, seed=1).comparisons), ThreadEngine(1)
    prepared = prepare(truth)
    alpha, share = vertex_prior.fit_both(prepared, blocks, engine, n_draws=40)
    sent = (prepared, 40, np.uint64(0))
    draws = [vertex_prior.make_draws(block, sent) for block in blocks]

    def likelihood(x):
        return sum(vertex_prior.log_marginal_likelihood(part, x)[0] for part in draws)

    at = np.array([*np.log(alpha), np.log(share / (1 - share))])
    for step in 0.1 * np.vstack([np.eye(3), -np.eye(3)]):
        assert likelihood(at + step) < likelihood(at)


def test_loadings_begin_with_the_leading_eigenvectors_of_scaled_moments():
    """Those of the correlations between items, each by √(Q λ / λ_1), its largest entry positive."""
    random = np.random.default_rng(8)
    moments, users = random.normal(size=(5, 5)), np.array([0.0, 3.0, 8.0, 15.0, 24.0])
    moments = moments + moments.T
    found = initial_loadings._leading(moments, users)
    root = np.sqrt(users + 1)
    scaled = (moments - np.diag(np.diag(moments))) / np.outer(root, root)
    values = np.sort(np.linalg.eigvalsh(scaled))[::-1]
    for k, value in enumerate(values):
        length = 5 * max(value, 0) / values[0]
        assert found[:, k] @ found[:, k] == pytest.approx(length, abs=1e-12)
        assert scaled @ found[:, k] == pytest.approx(max(value, 0) * found[:, k], abs=1e-12)
        assert value < 0 or found[np.argmax(np.abs(found[:, k])), k] > 0


def test_draws_for_a_prior_have_the_evidence_of_their_user():
    """Σ_s p(w | θ_s) Dir(θ_s) / q(θ_s) / S of one answer and of two, whose evidence is known."""
    prepared = prepare(planted(4, 2, 0.3, 0.6, seed=1))
    block = Block(0, 4, np.array([0, 1, 3]), np.array([1, 6, 6], np.int32), np.ones(3), np.ones(2))
    part = vertex_prior.make_draws(block, (prepared, 4000, KEY))
    a, (b, c) = prepared.alpha, prepared.beta[[1, 6]]
    density = np.array([dirichlet.pdf(theta.T, a) for theta in np.exp(part.log_theta)])
    found = (np.exp(part.log_ratio) * density).sum(axis=1)
    mean, both = a / a.sum(), np.outer(a, a) + np.diag(a)
    exact = [mean @ b, c @ both @ c / (a.sum() * (a.sum() + 1))]
    assert found == pytest.approx(exact, rel=0.1)
    assert part.single == pytest.approx(np.log([b, c**2]))
