"""Gaussian utilities: Laplace against quadrature, EM against planted parameters."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.engine import Block, ThreadEngine
from mallowmix.infer.member_evidence import utilities_left_out
from mallowmix.infer.pair_queries import Queries, query_categories
from mallowmix.infer.utilities_posterior import utilities_posterior
from mallowmix.infer.utilities_prediction import (
    new_modes,
    probabilities_and_left_out,
    utilities_probabilities,
)
from mallowmix.infer.without_numba.predictions_arrays import predict_by_utilities
from mallowmix.learn.utilities import conditioned_utilities
from mallowmix.learn.utilities.initial_loadings import initial_utilities
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_em import utilities_path
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters, utilities_pass
from mallowmix.numerics.cholesky import (
    back_substitute,
    elimination,
    factorise,
    inverse,
    inverse_root,
    log_determinant,
    no_zeros,
    solve,
)
from mallowmix.numerics.laplace import (
    TOL,
    mean_factors,
    newton_room,
    posterior_mode,
)
from mallowmix.numerics.own_items import local_items, local_prior


def block_of(users: list[list[tuple[int, int]]], Q: int) -> Block:
    """Users' answers as (winner, loser) in a block."""
    starts = np.r_[0, np.cumsum([len(rows) for rows in users])].astype(np.int64)
    pair = np.array([i * Q + j for rows in users for i, j in rows], np.int32)
    return Block(0, Q, starts, pair, np.ones(len(pair)), np.ones(len(users)))


def quadrature(answers, mean, S, n=41, width=5.0):
    """Evidence, posterior mean and covariance of u by a grid over whitened coordinates."""
    q = len(mean)
    root = np.linalg.cholesky(S)
    axis = np.linspace(-width, width, n)
    z = np.array(list(itertools.product(axis, repeat=q)))
    u = mean + z @ root.T
    log_p = -0.5 * (z**2).sum(axis=1) - q / 2 * np.log(2 * np.pi) + q * np.log(axis[1] - axis[0])
    for i, j in answers:
        log_p = log_p - np.log1p(np.exp(-(u[:, i] - u[:, j])))
    weight = np.exp(log_p)
    total = weight.sum()
    centre = weight @ u / total
    spread = (u - centre).T @ ((u - centre) * (weight / total)[:, None])
    return np.log(total), centre, spread, u, weight / total


ANSWERS = [(0, 1), (0, 2), (1, 2), (0, 1), (2, 1)]
MEAN = np.array([0.3, -0.2, 0.1])
S = np.array([[0.8, 0.2, 0.1], [0.2, 0.6, 0.0], [0.1, 0.0, 0.9]])


VARIANCES = np.array([0.3, 0.2, 0.4])
LOADINGS = np.linalg.cholesky(S - np.diag(VARIANCES))


def gaussian(means, shares):
    return mm.UtilitiesModel(means, LOADINGS, VARIANCES, shares, [0, 1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_cholesky_against_the_library(n):
    root = np.random.default_rng(n).standard_normal((n, n + 2))
    A, b = root @ root.T, np.arange(1.0, n + 1)
    U = A.copy()
    factorise(U, *no_zeros())
    assert np.isclose(log_determinant(U), np.linalg.slogdet(A)[1])
    assert np.allclose(A @ solve(U, b), b)
    assert np.allclose(inverse(U, *no_zeros()), np.linalg.inv(A))
    assert np.allclose(np.triu(U).T @ np.diag(1 / np.diag(U)) @ np.triu(U), A)


@given(st.integers(1, 14), st.integers(0, 3), st.integers(0, 25), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_elimination_of_a_matrix_with_zeros_against_the_library(q, r, n_pairs, seed):
    random, n = np.random.default_rng(seed), q + r
    first = random.integers(0, q, n_pairs if q > 1 else 0)
    second = (first + random.integers(1, max(q, 2), len(first))) % q
    A = np.zeros((n, n))
    A[first, second] = random.standard_normal(len(first))
    A[:, q:] = random.standard_normal((n, r))
    A = A + A.T + np.diag(np.abs(A).sum(axis=0) + np.abs(A).sum(axis=1) + 1)
    b, x = random.standard_normal(n), np.empty(n)
    pattern, U = elimination(first, second, q, n), np.c_[A, b]
    factorise(U, *pattern)
    back_substitute(U, *pattern, x)
    assert np.allclose(A @ x, b)
    assert np.isclose(log_determinant(U), np.linalg.slogdet(A)[1])
    assert np.allclose(inverse(U, *pattern), np.linalg.inv(A))
    W = np.full((len(U), len(U)), np.nan)
    inverse_root(U, *pattern, W)
    assert np.allclose(W.T @ W, np.linalg.inv(A)) and not np.triu(W, 1).any()


def test_elimination_puts_numbers_where_two_neighbours_meet():
    """Item 0 was compared with 2 and 3, so without it 2 and 3 depend on each other; 4 is z."""
    starts, columns = elimination(np.array([3, 0, 1]), np.array([0, 2, 3]), 4, 5)
    rows = [columns[a:b].tolist() for a, b in itertools.pairwise(starts)]
    assert rows == [[2, 3, 4, 5], [3, 4, 5]]  # with the right side; from row 2 on, all


def dense_precision(prior):
    """S⁻¹ of a person's items, from the parts of the prior."""
    precision, F, B, _, _ = prior
    return np.diag(precision) - F @ np.linalg.solve(B, F.T)


@pytest.mark.slow
def test_the_prior_of_some_items_against_its_matrix():
    precision, F, B, root, log_det = prior = local_prior(LOADINGS, VARIANCES, np.array([2, 0]))
    own, V = S[np.ix_([2, 0], [2, 0])], LOADINGS[[2, 0]]
    assert np.allclose(dense_precision(prior), np.linalg.inv(own))
    assert np.isclose(log_det + np.linalg.slogdet(B)[1], np.linalg.slogdet(own)[1])
    assert np.allclose(np.triu(root).T @ np.diag(1 / np.diag(root)) @ np.triu(root), B)
    d = np.array([0.4, -1.3])
    x = np.r_[d, np.nan, np.nan, np.nan]
    mean_factors(x, F, root)
    assert (x[:2] == d).all()
    assert np.allclose(x[2:], V.T @ np.linalg.solve(own, d))  # z given d
    assert np.allclose(np.linalg.inv(B), np.eye(3) - V.T @ np.linalg.solve(own, V))
    assert np.allclose(precision, 1 / VARIANCES[[2, 0]]) and np.allclose(F, V * precision[:, None])


@pytest.mark.slow
def test_laplace_against_quadrature():
    winner, loser = np.array(ANSWERS).T
    offset = MEAN[winner] - MEAN[loser]
    prior = local_prior(LOADINGS, VARIANCES, np.arange(3))
    x, factor, pattern = np.zeros(6), np.empty((6, 7)), elimination(winner, loser, 3, 6)
    rows, room = (winner, loser, np.ones(len(ANSWERS)), offset), newton_room(len(ANSWERS), 6)
    evidence, d = posterior_mode(*rows, prior, pattern, x, factor, room, TOL, -np.inf), x[:3]
    assert np.allclose(x[3:], LOADINGS.T @ np.linalg.solve(S, d), atol=1e-7)
    gradient = np.zeros(3)
    for row in range(len(ANSWERS)):
        rest = 1 / (1 + np.exp(offset[row] + d[winner[row]] - d[loser[row]]))
        gradient[winner[row]] += rest
        gradient[loser[row]] -= rest
    exact, centre, spread, _, _ = quadrature(ANSWERS, MEAN, S)
    assert np.abs(np.linalg.solve(S, d) - gradient).max() < 1e-4  # the mode's equation
    assert abs(evidence - exact) < 0.04  # Laplace is a little low
    assert np.abs(MEAN + d - centre).max() < 0.05
    assert np.abs(inverse(factor, *pattern)[:3, :3] - spread).max() < 0.06


def laplace_of(pairs, n_items, loadings, variances, weight):
    """d, the factor, evidence and items of one person, whose means are all 0."""
    items, winner, loser = local_items(np.array(pairs), n_items, np.full(n_items, -1))
    prior = local_prior(loadings, variances, items)
    size = len(items) + loadings.shape[1]
    pattern = elimination(winner, loser, len(items), size)
    x, P = np.zeros(size), np.zeros((size, size + 1))
    rows = winner, loser, weight, np.zeros(len(pairs))
    room = newton_room(len(pairs), size)
    evidence = posterior_mode(*rows, prior, pattern, x, P, room, 1e-9, -np.inf)
    return items, winner, loser, x[: len(items)], (P, *pattern), evidence


@given(st.integers(2, 12), st.integers(0, 3), st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_laplace_of_few_and_many_comparisons_is_that_of_the_whole_matrix(Q, r, n, seed):
    """S⁻¹ + H as a full matrix of d alone, whatever zeros the factor of (d, z) has."""
    random = np.random.default_rng(seed)
    V, psi = random.standard_normal((Q, r)), random.uniform(0.1, 2, Q)
    first = random.integers(0, Q, n)
    pairs = first * Q + (first + random.integers(1, Q, n)) % Q
    weight = random.uniform(0.2, 2, n)
    items, winner, loser, d, P, evidence = laplace_of(pairs, Q, V, psi, weight)
    own = (V @ V.T + np.diag(psi))[np.ix_(items, items)]
    D = np.eye(len(items))[winner] - np.eye(len(items))[loser]
    p = 1 / (1 + np.exp(-D @ d))
    precision = np.linalg.inv(own) + D.T @ (D * (weight * p * (1 - p))[:, None])
    assert np.allclose(np.linalg.solve(own, d), D.T @ (weight * (1 - p)), atol=1e-6)
    covariance = inverse(*P)
    assert np.allclose(covariance[: len(d), : len(d)], np.linalg.inv(precision), atol=1e-6)
    regression = np.linalg.solve(own, V[items])  # of z on d
    assert np.allclose(covariance[: len(d), len(d) :], np.linalg.inv(precision) @ regression)
    joint = weight @ np.log(p) - d @ np.linalg.solve(own, d) / 2
    dets = np.linalg.slogdet(precision)[1] + np.linalg.slogdet(own)[1]
    assert np.isclose(evidence, joint - dets / 2, atol=1e-6)
    times = np.bincount(np.r_[winner, loser])
    assert (np.diff(times) >= 0).all()  # compared least often first


def test_a_factor_of_few_comparisons_has_few_numbers():
    """A chain of 40 items, each compared with the next: eliminated in order, it fills nothing."""
    Q = 40
    pairs = np.arange(Q - 1) * Q + np.arange(1, Q)
    *_, P, _ = laplace_of(pairs, Q, np.ones((Q, 1)), np.ones(Q), np.ones(Q - 1))
    assert np.count_nonzero(np.triu(P[0])) <= 4 * (Q + 1) + Q  # with the gradient beside it


def test_a_rough_mode_is_off_by_the_square_of_the_last_step():
    winner, loser = np.array(ANSWERS).T
    offset, pattern = MEAN[winner] - MEAN[loser], elimination(winner, loser, 3, 6)
    prior = local_prior(LOADINGS, VARIANCES, np.arange(3))
    modes = []
    for tol in (1e-9, 0.1):
        x = np.array([0.9, -0.7, 0.5, 0, 0, 0])
        weight, factor = np.ones(len(ANSWERS)), np.empty((6, 7))
        rows, room = (winner, loser, weight, offset), newton_room(len(ANSWERS), 6)
        posterior_mode(*rows, prior, pattern, x, factor, room, tol, -np.inf)
        modes.append(x[:3])
    assert 0 < np.abs(modes[1] - modes[0]).max() < 0.1**2


def test_the_posterior_of_items_that_were_not_compared():
    """Against the formulas of conditional Gaussians, on a matrix of all items."""
    model = gaussian(MEAN[None], [1.0])
    found = utilities_posterior(block_of([[(0, 1), (0, 1)]], 3), model)
    c = S[:, :2] @ np.linalg.inv(S[:2, :2])  # regression on the two items that were compared
    seen, spread = found.means[0, 0, :2] - MEAN[:2], found.covariances[0, 0]
    assert np.allclose(found.means[0, 0], MEAN + c @ seen)
    rest = S - c @ S[:2]
    assert np.allclose(spread, rest + c @ spread[:2, :2] @ c.T)
    codes = np.array([0 * 3 + 1, 0 * 3 + 2, 2 * 3 + 1])
    p = utilities_probabilities(
        block_of([[(0, 1), (0, 1)]], 3), model, Queries.same_for_all(1, codes)
    )
    for each, code in zip(p, codes, strict=True):
        i, j = divmod(int(code), 3)
        v = spread[i, i] + spread[j, j] - 2 * spread[i, j]
        gap = (found.means[0, 0, i] - found.means[0, 0, j]) / np.sqrt(1 + np.pi * v / 8)
        assert np.isclose(each, 1 / (1 + np.exp(-gap)))


def test_predictions_against_quadrature():
    model = gaussian(MEAN[None], [1.0])
    block = block_of([ANSWERS], 3)
    codes = np.array([0 * 3 + 1, 1 * 3 + 2, 2 * 3 + 0])
    found = utilities_probabilities(block, model, Queries.same_for_all(1, codes))
    _, _, _, u, weight = quadrature(ANSWERS, MEAN, S)
    for p, code in zip(found, codes, strict=True):
        exact = weight @ (1 / (1 + np.exp(u[:, code % 3] - u[:, code // 3])))
        assert abs(p - exact) < 0.015


def test_components_are_weighed_by_their_evidence():
    means = np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, 1.0]])
    model = gaussian(means, [0.4, 0.6])
    found = utilities_posterior(block_of([ANSWERS], 3), model)
    log_joint = [
        np.log(share) + quadrature(ANSWERS, mean, S)[0]
        for share, mean in zip(model.shares, means, strict=True)
    ]
    exact = np.exp(log_joint - np.max(log_joint))
    assert np.abs(found.shares[0] - exact / exact.sum()).max() < 0.03


def test_a_user_without_answers_is_the_population():
    model = gaussian([[1.0, 0.0, -1.0]], [1.0])
    codes = np.arange(9)[[1, 2, 5]]
    found = utilities_probabilities(block_of([[]], 3), model, Queries.same_for_all(1, codes))
    assert np.allclose(found, model.population_probabilities().ravel()[codes])


def test_both_orders_of_a_pair_add_up_to_one():
    model = gaussian([[1.0, 0.0, -1.0], [0, 2, 0]], [0.5, 0.5])
    block = block_of([ANSWERS, [(2, 0)]], 3)
    forth = utilities_probabilities(block, model, Queries.same_for_all(2, np.array([1, 2, 5])))
    back = utilities_probabilities(block, model, Queries.same_for_all(2, np.array([3, 6, 7])))
    assert np.allclose(forth + back, 1)


def draw_users(random, means, covariance, shares, n_users, n_answers):
    Q = means.shape[1]
    root = np.linalg.cholesky(covariance)
    users = []
    for _ in range(n_users):
        u = means[random.choice(len(shares), p=shares)] + root @ random.standard_normal(Q)
        first = random.integers(Q, size=n_answers)
        second = (first + random.integers(1, Q, size=n_answers)) % Q
        wins = random.random(n_answers) < 1 / (1 + np.exp(u[second] - u[first]))
        users.append([(i, j) if w else (j, i) for i, j, w in zip(first, second, wins, strict=True)])
    return users


PLANTED_LOADINGS = np.sqrt(0.6) * np.array([[1.0, -1, 1, -1, 1, -1]]).T


@pytest.fixture(scope="module")
def planted():
    random = np.random.default_rng(3)
    mean = np.array([[1.0, 0.5, 0.2, -0.2, -0.5, -1.0]])
    covariance = 0.7 * np.eye(6) + PLANTED_LOADINGS @ PLANTED_LOADINGS.T
    return mean, covariance, block_of(draw_users(random, mean, covariance, [1.0], 700, 120), 6)


def learnt(block, K, r, n_rounds, speed_up=True):
    engine = ThreadEngine(1)
    start = initial_utilities([block], 6, engine).parameters(initial_means([block], 6, K, 0), r)
    return list(utilities_path([block], start, engine, n_rounds=n_rounds, speed_up=speed_up))


@pytest.mark.slow
@pytest.mark.parametrize("speed_up", [False, True])
def test_the_likelihood_never_falls(planted, speed_up):
    _, _, block = planted
    evidence = [each for _, each in learnt(block, 2, 1, 8, speed_up)]
    assert np.diff(evidence).min() > -1e-3 * abs(evidence[0])
    assert evidence[-1] > evidence[0]


def test_planted_utilities_are_found(planted):
    """A constant added to all items means nothing, so differences of pairs are compared.

    Laplace's approximation makes variances too small where answers are few: with 120 answers about
    6 items by an eighth, with 30 by a third.
    """
    mean, covariance, block = planted
    *_, (last, _) = learnt(block, 1, 1, 12)
    found = mm.UtilitiesModel(last.means, last.loadings, last.variances, [1.0], range(6))
    truth = mm.UtilitiesModel(mean, PLANTED_LOADINGS, np.full(6, 0.7), [1.0], range(6))
    assert np.allclose(truth.covariance(), covariance)
    assert np.abs(found.means - found.means.mean() - mean).max() < 0.2
    upper = np.triu_indices(6, 1)
    ratio = found.pair_variances()[upper] / truth.pair_variances()[upper]
    assert ratio.min() > 0.75 and ratio.max() < 1.25


def test_planted_means_and_shares_are_found():
    random = np.random.default_rng(5)
    means, shares = (
        np.array([[1.5, 1, 0.5, -0.5, -1, -1.5], [-1.5, 0, 1.5, -1.5, 0, 1.5]]),
        [0.7, 0.3],
    )
    users = draw_users(random, means, 0.4 * np.eye(6), shares, 700, 40)
    *_, (last, _) = learnt(block_of(users, 6), 2, 0, 12)
    order = np.argsort(-np.exp(last.log_shares))
    assert np.abs(np.exp(last.log_shares)[order] - shares).max() < 0.07
    assert np.abs(last.means[order] - means).max() < 0.3


def test_few_people_who_rank_alike_by_chance_are_not_believed():
    """Crowds of eight people with rankings at random: anything but a half is too sure.

    Bradley–Terry scores of these crowds lose .041 more than the coin, Gaussian utilities whose mean
    is pulled to those scores .030, to 0 .020.
    """
    random, excess = np.random.default_rng(7), []
    for _ in range(20):
        orders = [random.permutation(6) for _ in range(8)]
        block = block_of([list(itertools.combinations(each.tolist(), 2)) for each in orders], 6)
        *_, (last, _) = learnt(block, 1, 0, 12)
        p = mm.UtilitiesModel(
            last.means, last.loadings, last.variances, [1.0], range(6)
        ).population_probabilities()
        excess.append(-np.log(p[~np.eye(6, dtype=bool)]).mean() - np.log(2))
    assert np.mean(excess) < 0.025


def test_labels_play_no_part(planted):
    _, _, block = planted
    order = np.array([3, 0, 5, 1, 4, 2])  # item i becomes order[i]
    first, second = block.pair // 6, block.pair % 6
    moved = Block(
        0, 6, block.starts, (order[first] * 6 + order[second]).astype(np.int32), block.weight,
        block.user_weight,
    )  # fmt: skip
    results = []
    for each in (block, moved):
        *_, (last, _) = learnt(each, 1, 1, 4)
        results.append(mm.UtilitiesModel(last.means, last.loadings, last.variances, [1], range(6)))
    assert np.allclose(results[0].means[0], results[1].means[0][order], atol=1e-5)
    moved_back = results[1].covariance()[np.ix_(order, order)]
    assert np.allclose(results[0].covariance(), moved_back, atol=1e-5)


def test_how_many_items_were_compared_before():
    block = block_of([[(0, 1), (1, 2)], []], 5)
    queries = Queries(np.array([0, 3, 4]), np.array([0 * 5 + 2, 0 * 5 + 3, 3 * 5 + 4, 0 * 5 + 1]))
    assert query_categories(block, queries).tolist() == [2, 1, 0, 0]


def test_wrong_shapes_are_refused():
    with pytest.raises(mm.errors.DataError, match="loadings of the utilities must be finite"):
        mm.UtilitiesModel([[0.0, 1.0]], np.eye(3), [1.0, 1.0], [1.0], "ab")
    with pytest.raises(mm.errors.DataError, match="variances of the utilities must be above 0"):
        mm.UtilitiesModel([[0.0, 1.0]], np.eye(2), [1.0, 0.0], [1.0], "ab")


def test_users_in_pieces_are_those_of_one_piece(monkeypatch):
    """A piece of the users is conditioned at a time, to save memory."""
    random = np.random.default_rng(5)
    model = mm.UtilitiesModel(
        random.normal(size=(2, 4)), random.normal(size=(4, 1)), np.ones(4), [0.3, 0.7], list("abcd")
    )
    starts, pair = np.array([0, 2, 2, 5, 6]), np.array([1, 7, 4, 11, 2, 13], np.int32)
    block = Block(0, 4, starts, pair, np.array([1.0, 2, 1, 1, 0.5, 1]), np.ones(4), None)
    queries = Queries.same_for_all(4, np.arange(16))

    def found():
        posterior = utilities_posterior(block, model)
        p = utilities_probabilities(block, model, queries)
        return [p, utilities_left_out(block, model), *posterior]

    whole = found()
    monkeypatch.setattr(conditioned_utilities, "_ROOM", 1)
    for one, piece in zip(whole, found(), strict=True):
        assert one == pytest.approx(piece)
    assert [len(each) for each in whole] == [64, 4, 4, 4, 4]


def test_predictions_with_answers_left_out_or_from_earlier_modes_are_the_same():
    random = np.random.default_rng(8)
    model = mm.UtilitiesModel(
        random.normal(size=(2, 4)), random.normal(size=(4, 1)), np.ones(4), [0.3, 0.7], list("abcd")
    )
    block = block_of([[(0, 1), (2, 1)], [], [(3, 0), (3, 2), (1, 0)]], 4)
    queries = Queries.same_for_all(3, np.arange(16))
    plain = utilities_probabilities(block, model, queries)
    both, left_out = probabilities_and_left_out(block, model, queries)
    assert (both == plain).all() and (left_out == utilities_left_out(block, model)).all()
    assert left_out[1] == 0 and (left_out[[0, 2]] < 0).all()
    modes = new_modes(block, model)
    first = utilities_probabilities(block, model, queries, modes)
    assert modes.shape == (2, 10) and modes[:, :3].all() and not modes[:, 3].any()
    assert first == pytest.approx(plain, abs=1e-3)
    assert utilities_probabilities(block, model, queries, modes) == pytest.approx(plain, abs=1e-4)


def test_a_component_in_two_halves_is_the_same_component():
    """Evidence, residuals, users of items and moments of factors stay; shares and means halve."""
    random = np.random.default_rng(7)
    mean, loadings, variances = random.normal(size=4), random.normal(size=(4, 1)), np.full(4, 0.6)
    block = block_of([[(0, 1), (2, 1)], [], [(3, 0), (3, 2), (1, 0)]], 4)
    one = UtilitiesParameters(mean[None], loadings, variances, np.zeros(1))
    two = UtilitiesParameters(np.stack([mean] * 2), loadings, variances, np.log([0.5, 0.5]))
    (one, _), (two, _) = (utilities_pass(block, each, None) for each in (one, two))
    assert two.evidence == pytest.approx(one.evidence) and one.n_users == two.n_users == 2
    assert two.residuals == pytest.approx(one.residuals)
    assert two.item_users.tolist() == one.item_users.tolist() == [2, 2, 2, 1]
    assert two.factors == pytest.approx(one.factors)
    assert two.products[:, 0] == pytest.approx(one.products[:, 0] / 2)
    assert two.products[:, -1] == pytest.approx(one.products[:, -1])


def test_components_that_hardly_count_may_be_rough():
    """Newton's method ends sooner for them; the slow twin takes the same steps for all."""
    random = np.random.default_rng(11)
    Q, M = 9, 300
    model = mm.UtilitiesModel(
        1.5 * random.normal(size=(4, Q)),
        0.5 * random.normal(size=(Q, 2)),
        np.full(Q, 0.4),
        [0.4, 0.3, 0.2, 0.1],
        list("abcdefghi"),
    )
    users = []
    for _ in range(M):
        u = model.means[random.integers(4)] + 0.7 * random.normal(size=Q)
        pairs = [random.choice(Q, 2, replace=False) for _ in range(12)]
        users.append([(i, j) if u[i] > u[j] else (j, i) for i, j in pairs])
    block, queries = block_of(users, Q), Queries.same_for_all(M, np.arange(1, Q))
    shares = utilities_posterior(block, model).shares
    assert (shares < 1e-3).mean() > 0.2
    p, sums = probabilities_and_left_out(block, model, queries)
    exact, exact_sums = predict_by_utilities(block, model, queries, 1e-4)
    assert np.abs(p - exact).max() < 1e-5 and np.abs(p - exact).mean() < 1e-6
    assert np.abs(sums - exact_sums).max() < 1e-3
