"""Single moves of the posterior's chains against enumeration, without a whole chain.

Statistical tests draw with fixed seeds; each bound is five standard errors or a χ² at 1e-6, so that
a right kernel would fail for fewer than one of 10⁵ seeds.
"""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.special import roots_jacobi
from scipy.stats import chi2

from mallowmix.infer.posterior import component_moves, crowd_moves, split_evidence, split_moves
from mallowmix.numerics.token_gibbs import user_stream

KEY = np.uint64(5)


def swaps(first, second):
    """Kendall's distance of two rankings given as positions."""
    pairs = combinations(range(len(first)), 2)
    return sum((first[i] < first[j]) != (second[i] < second[j]) for i, j in pairs)


def enumerated_beta(sigma, phi):
    """(Q, Q) P(i over j) of a Mallows model, by the sum over all rankings."""
    Q = len(sigma)
    beta, total = np.zeros((Q, Q)), 0.0
    for ranking in permutations(range(Q)):
        weight = phi ** swaps(ranking, sigma)
        total += weight
        for i, j in permutations(range(Q), 2):
            beta[i, j] += weight * (ranking[i] < ranking[j])
    return beta / total


def filled_beta(sigma, phi):
    Q = len(sigma)
    gaps, beta = np.empty(2 * Q - 1), np.empty(Q * Q)
    component_moves.fill_gaps(phi, gaps)
    component_moves.fill_beta(sigma, gaps, beta)
    return beta


def moved(sigma, r, s):
    """Positions after the item at position r goes to s, by lists."""
    order = np.argsort(sigma).tolist()
    order.insert(s, order.pop(r))
    return np.argsort(order)


@pytest.mark.parametrize("phi", [0.05, 0.5, 0.95])
def test_probabilities_by_gap_are_those_of_all_rankings(phi):
    sigma = np.array([2, 0, 4, 1, 3])
    beta = filled_beta(sigma, phi).reshape(5, 5)
    np.fill_diagonal(beta, 0.0)
    np.testing.assert_allclose(beta, enumerated_beta(sigma, phi), atol=1e-12)


@pytest.mark.parametrize("phi", [0.2, 0.8, 1.0])
def test_the_normaliser_is_the_sum_over_all_rankings(phi):
    total = sum(phi ** swaps(ranking, range(4)) for ranking in permutations(range(4)))
    assert crowd_moves._log_z(4, phi) == pytest.approx(np.log(total))


def test_moves_of_one_item_and_what_they_do_to_a_distance():
    sigma, reference = np.array([3, 1, 0, 4, 2]), np.array([0, 2, 1, 3, 4])
    assert crowd_moves._distance(sigma, reference) == swaps(sigma, reference)
    for r, s in permutations(range(5), 2):
        wanted = moved(sigma, r, s)
        change = component_moves.distance_change(reference, np.argsort(sigma), r, s)
        assert change == swaps(wanted, reference) - swaps(sigma, reference)
        order, own = np.argsort(sigma), sigma.copy()
        component_moves.move_item(order, own, r, s)
        assert own.tolist() == wanted.tolist()
        assert order.tolist() == np.argsort(wanted).tolist()


def proposals(Q, reach, n=40_000):
    state, found = user_stream(KEY, 0, 1, 1), np.zeros((Q, Q))
    for _ in range(n):
        state, r, s = component_moves.propose_insertion(np.uint64(state), Q, reach)
        if 0 <= s < Q:
            found[r, s] += 1
    return found / n


def test_an_insertion_is_proposed_as_often_as_its_reverse():
    """From r to s as often as from s to r: no correction of the acceptance is needed."""
    found = proposals(6, 2.0)
    error = np.sqrt((found + found.T) / 40_000)
    assert (np.abs(found - found.T) <= 5 * error + 1e-9).all()
    assert found[0, 5] > 0  # far ones are among them, though reach is 2


def test_most_insertions_go_no_further_than_the_reach():
    found = proposals(9, 2.0)
    gap = np.abs(np.subtract.outer(range(9), range(9)))
    for distance, wanted in ((1, 0.4 + 0.2 * np.log(2) / np.log(9)), (2, 0.4 + 0.2 * _log(3, 2))):
        inside = 2 * (9 - distance) / 18  # of all r and both sides
        assert found[gap == distance].sum() == pytest.approx(wanted * inside, abs=0.012)


def _log(high, low):
    return (np.log(high) - np.log(low)) / np.log(9)


def rows_of(rng, M, n, Q):
    """Rows in the order of ordered pairs: (pair_starts, row_user, power), and lists for a check."""
    user, first = np.repeat(np.arange(M), n), rng.integers(0, Q, M * n)
    second = (first + rng.integers(1, Q, M * n)) % Q
    code, power = first * Q + second, rng.integers(1, 4, M * n).astype(float)
    by = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[by], np.arange(Q * Q + 1))
    return starts, user[by], power[by], code[by]


def test_the_ratio_of_an_insertion_is_that_of_the_likelihoods():
    rng, Q, phi = np.random.default_rng(1), 5, 0.4
    starts, user, power, code = rows_of(rng, 12, 9, Q)
    sigma, theta = rng.permutation(Q), rng.dirichlet(np.ones(2), 12)
    beta = np.column_stack([filled_beta(sigma, phi), filled_beta(rng.permutation(Q), 0.7)])
    base, own = np.empty(len(user)), np.empty(len(user))
    component_moves._split_rows(starts, user, theta, beta, 0, base, own)
    np.testing.assert_allclose(own, theta[user, 0])
    np.testing.assert_allclose(base, theta[user, 1] * beta[code, 1])
    gaps = np.empty(2 * Q - 1)
    component_moves.fill_gaps(phi, gaps)

    def log_likelihood(column):
        return power @ np.log(theta[user, 0] * column[code] + theta[user, 1] * beta[code, 1])

    before = log_likelihood(beta[:, 0])
    for r, s in permutations(range(Q), 2):
        found = component_moves._insertion_ratio(
            starts, base, own, power, gaps, np.argsort(sigma), r, s
        )
        after = log_likelihood(filled_beta(moved(sigma, r, s), phi))
        assert found == pytest.approx(after - before)
    other = np.empty(2 * Q - 1)
    component_moves.fill_gaps(0.8, other)
    found = component_moves._dispersion_ratio(starts, base, own, power, sigma, gaps, other)
    assert found == pytest.approx(log_likelihood(filled_beta(sigma, 0.8)) - before)


def test_the_crowds_ranking_and_dispersion_are_drawn_from_their_posterior():
    """σ_0 and φ_0 given three rankings of three items, against a sum over both on a grid."""
    sigma, prior, Q = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 2]]), (2.0, 3.0), 3
    grid = (np.arange(400) + 0.5) / 400
    all_rankings = list(permutations(range(Q)))
    z = np.array([sum(phi ** swaps(a, range(Q)) for a in all_rankings) for phi in grid])
    density = grid ** (prior[0] - 1) * (1 - grid) ** (prior[1] - 1)
    joint = np.array(
        [density * grid ** sum(swaps(a, each) for each in sigma) / z**3 for a in all_rankings]
    )
    joint /= joint.sum()

    n, thin, reference, phi = 6000, 3, np.array([2, 1, 0]), 0.5
    counts, phis = dict.fromkeys(all_rankings, 0), []
    for step in range(n * thin):
        phi, accepted = crowd_moves.move_crowd(
            reference, phi, sigma, np.array(prior), 1.5, 8, 4, KEY, step
        )
        assert 0 <= accepted <= 1
        if step % thin == 0:
            counts[tuple(reference.tolist())] += 1
            phis.append(phi)
    expected = n * joint.sum(axis=1)
    statistic = np.sum((np.array([counts[a] for a in all_rankings]) - expected) ** 2 / expected)
    assert statistic < chi2.ppf(1 - 1e-6, len(all_rankings) - 1)
    mean, spread = joint.sum(axis=0) @ grid, np.sqrt(joint.sum(axis=0) @ grid**2)
    assert np.mean(phis) == pytest.approx(mean, abs=5 * spread / np.sqrt(n / 3))


def test_the_evidence_of_a_split_is_its_integral():
    """∫ Beta(r) Π (a r + b (1 − r))^power dr of one user, by the rule of Gauss and Jacobi."""
    rng, Q = np.random.default_rng(3), 4
    codes, power = np.array([1, 6, 11, 2]), np.array([1.0, 3.0, 1.0, 2.0])
    beta = np.column_stack([filled_beta(rng.permutation(Q), phi) for phi in (0.3, 0.5, 0.8)])
    theta, alpha = np.array([0.5, 0.2, 0.3]), np.array([0.7, 1.2, 0.4])
    j, k = 2, 0
    n = int(power.sum())
    counts = split_evidence.answer_counts(np.array([0, len(codes)]), power)
    assert counts.tolist() == [n]
    ratios = split_evidence.beta_ratios(counts, alpha[j], alpha[k])
    found = split_evidence.user_evidence(
        codes, power, theta, beta, j, k, beta[:, j], beta[:, k], ratios[n], np.empty(n + 1)
    )
    x, weight = roots_jacobi(40, alpha[k] - 1, alpha[j] - 1)
    r = (x + 1) / 2
    share, base = theta[j] + theta[k], theta[1] * beta[codes, 1]
    factor = base + share * (np.outer(r, beta[codes, j]) + np.outer(1 - r, beta[codes, k]))
    exact = weight @ np.prod(factor**power, axis=1) / weight.sum()
    assert found == pytest.approx(np.log(exact))


def test_a_proposed_ratio_of_alpha_keeps_the_sum_and_has_the_priors_ratio():
    prior, state = np.array([-1.0, 2.0]), user_stream(KEY, 1, 2, 3)
    for _ in range(20):
        alpha = np.array([0.3, 1.1])
        state, found = split_moves._propose_alpha(np.uint64(state), alpha, prior, 0.7)
        assert alpha.sum() == pytest.approx(1.4)
        before, after = (
            -0.5 * sum(((np.log(a) + 1.0) / 2.0) ** 2 for a in each) for each in ((0.3, 1.1), alpha)
        )
        assert found == pytest.approx(after - before)


def test_proposed_rankings_have_the_ratio_of_their_prior():
    """φ_0 to the power of the change of distance to σ_0, whether one ranking moves or two."""
    reference, log_phi = np.array([1, 0, 3, 2]), np.log(0.6)
    state, seen = user_stream(KEY, 4, 4, 4), set()
    before = np.array([[0, 1, 2, 3], [3, 1, 0, 2]])
    for n in range(200):
        sigma, exchange, side = before.copy(), n % 2 == 0, n % 4 // 2
        state, found = split_moves._propose_rankings(
            np.uint64(state), exchange, side, sigma, 1.0, reference, log_phi
        )
        if np.isinf(found):
            assert sigma.tolist() == before.tolist()
            continue
        assert all(sorted(row) == list(range(4)) for row in sigma.tolist())
        change = sum(swaps(a, reference) for a in sigma) - sum(swaps(b, reference) for b in before)
        assert found == pytest.approx(change * log_phi)
        if exchange:
            seen.add(tuple(sigma.ravel().tolist()))
        else:
            assert sigma[1 - side].tolist() == before[1 - side].tolist()
    exchanged = {  # each item at its position in the other ranking
        (*moved(before[0], p, q).tolist(), *moved(before[1], q, p).tolist())
        for p, q in before.T.tolist()
    }
    assert seen == exchanged


def test_a_component_is_drawn_from_its_posterior():
    """σ and φ of one component, three items and a prior around σ_0, against a sum over a grid."""
    Q, prior, reference, log_crowd_phi = 3, (2.0, 3.0), np.array([1, 0, 2]), np.log(0.7)
    answers = {1: 3.0, 2: 2.0, 5: 2.0, 3: 1.0, 7: 1.0}  # of the pair i · Q + j, how often i won
    codes = sorted(answers)
    starts = np.searchsorted(codes, np.arange(Q * Q + 1))
    power, user = np.array([answers[code] for code in codes]), np.zeros(len(codes), np.int64)
    grid = (np.arange(300) + 0.5) / 300
    density = grid ** (prior[0] - 1) * (1 - grid) ** (prior[1] - 1)
    rankings = list(permutations(range(Q)))
    joint = np.empty((len(rankings), len(grid)))
    for n, each in enumerate(rankings):
        log_p = [power @ np.log(enumerated_beta(each, phi).ravel()[codes]) for phi in grid.tolist()]
        joint[n] = density * np.exp(log_p + log_crowd_phi * swaps(each, reference))
    joint /= joint.sum()

    sigma, phi, beta = np.array([[2, 1, 0]]), np.array([0.5]), np.empty((Q * Q, 1))
    beta[:, 0] = filled_beta(sigma[0], phi[0])
    n_draws, thin, found, phis = 5000, 3, dict.fromkeys(rankings, 0), []
    for step in range(n_draws * thin):
        component_moves.move_component(
            starts, user, power, np.ones((1, 1)), beta, sigma, phi, 0, reference, log_crowd_phi,
            np.array(prior), 1.0, 1.5, 6, 4, 1.0, KEY, step,
        )  # fmt: skip
        if step % thin == 0:
            found[tuple(sigma[0].tolist())] += 1
            phis.append(phi[0])
    np.testing.assert_allclose(beta[:, 0], filled_beta(sigma[0], phi[0]))
    expected = n_draws * joint.sum(axis=1)
    statistic = np.sum((np.array([found[each] for each in rankings]) - expected) ** 2 / expected)
    assert statistic < chi2.ppf(1 - 1e-6, len(rankings) - 1)
    mean, spread = joint.sum(axis=0) @ grid, np.sqrt(joint.sum(axis=0) @ grid**2)
    assert np.mean(phis) == pytest.approx(mean, abs=5 * spread / np.sqrt(n_draws / 3))


def test_drawn_splits_have_the_mean_of_their_distribution():
    """E r and E r² of r ∝ Beta(r) Π (a r + b (1 − r)), by the rule of Gauss and Jacobi."""
    codes, alpha, M = np.array([1, 2, 5, 3]), np.array([0.7, 1.2]), 20_000
    both = np.stack([filled_beta(np.array([0, 1, 2]), 0.2), filled_beta(np.array([1, 2, 0]), 0.6)])
    n = len(codes)
    rows = (np.arange(M + 1) * n, np.tile(codes, M), np.ones(M * n), np.full(M, n))
    theta, ratios = np.full((M, 2), 0.5), split_evidence.beta_ratios(rows[3], *alpha)
    split_evidence.draw_splits(rows, theta, both.T.copy(), alpha, 0, 1, both, ratios, KEY, 1)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    x, weight = roots_jacobi(40, alpha[1] - 1, alpha[0] - 1)
    r = (x + 1) / 2
    weight = weight * np.prod(np.outer(r, both[0, codes]) + np.outer(1 - r, both[1, codes]), axis=1)
    for power in (1, 2):
        exact = weight @ r**power / weight.sum()
        assert np.mean(theta[:, 0] ** power) == pytest.approx(exact, abs=5 * 0.5 / np.sqrt(M))
