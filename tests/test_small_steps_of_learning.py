"""Small steps of learning, each against a hand calculation or dense algebra: corners, noise edges,
the sums and initial values of personal utilities, samples for restarts.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from mallowmix.engine import Block, ThreadEngine
from mallowmix.learn.paper import novel_pairs
from mallowmix.learn.paper.ddp import ddp
from mallowmix.learn.paper.fast_anchor_words import furthest_rows
from mallowmix.learn.spectral import estimator, fit_state, number_of_components, restarts
from mallowmix.learn.spectral.corners import (
    _mean_winners,
    _spread_out,
    projected_corners,
    smoothed_spa,
)
from mallowmix.learn.spectral.estimator import fit_spectral
from mallowmix.learn.spectral.insertion_search import insert_by_gap
from mallowmix.learn.spectral.large_data import _pass_progress
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.subspace import iterate_subspace, pair_statistics
from mallowmix.learn.utilities import initial_loadings
from mallowmix.learn.utilities.initial_loadings import InitialUtilities, _leading, _moments_step
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters, utilities_pass
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.numerics.cholesky import elimination
from mallowmix.numerics.laplace import (
    MUCH_BELOW,
    joint_density,
    newton_room,
    posterior_mode,
    write_precision,
)
from mallowmix.numerics.own_items import local_items, local_prior
from planted import planted


def _block(Q, pairs, user_weight=None, weight=None):
    """Users with these ordered pairs."""
    starts = np.cumsum([0, *map(len, pairs)])
    codes = np.concatenate([np.asarray(each, np.int32) for each in pairs])
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, float)
    users = np.ones(len(pairs)) if user_weight is None else np.asarray(user_weight, float)
    return Block(0, Q, starts, codes, weight, users, None)


# ---- corners ----


def test_of_each_vertex_ddp_takes_the_row_furthest_along_their_mean():
    """Not the one furthest from the middle, which noise to the side has moved there."""
    near = np.array([[10.0, 0.0], [9.9, 3.0], [9.9, -2.5]])
    turn = 2 * np.pi / 3
    turns = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in (0, turn, -turn)]
    rows = np.concatenate([near @ R.T for R in turns] + [np.zeros((5, 2))])
    found = ddp(rows, 3)
    expected = np.array([R @ near[0] for R in turns])
    assert found[np.argsort(found[:, 1])] == pytest.approx(expected[np.argsort(expected[:, 1])])
    assert not set(furthest_rows(rows, 3).tolist()) & {0, 3, 6}


def test_corners_are_means_of_a_quarter_of_the_rows_of_each_and_of_fifteen_at_most():
    """Two corners on a line: the rows furthest along it, as many as are averaged."""
    for n, smooth in ((8, 1), (24, 3), (400, 15)):
        rows = np.r_[np.arange(n / 2), -np.arange(n / 2)][:, None]
        found = np.sort(smoothed_spa(rows, 2).ravel())
        end = n / 2 - 1 - (smooth - 1) / 2
        assert found == pytest.approx([-end, end])


def test_winners_are_spread_out_by_more_than_the_radius_and_averaged_nearby():
    rows = np.array([[0.0], [1.0], [2.0], [5.0], [9.0]])
    order = np.array([0, 2, 1, 4, 3])
    assert _spread_out(rows, order, 3, 2.0) == [0, 4, 3]  # exactly 2 is not further than 2
    assert _spread_out(rows, order, 2, 1.5) == [0, 2]
    assert _spread_out(rows, order, 9, 4.0) == [0, 4]
    wins, centres = np.array([4, 2, 1, 1, 3]), rows[[0, 4, 2]]
    # half the distance to the nearest other centre: 1, 3.5 and 1
    found = _mean_winners(rows, wins, centres)
    assert found.ravel() == pytest.approx([2 / 6, 9.0, (2 + 2) / 3])


def test_corners_by_projections_are_those_of_a_triangle():
    random = np.random.default_rng(0)
    corners = np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0]])
    rows = np.concatenate([np.repeat(corners, 4, axis=0), random.dirichlet([4] * 3, 60) @ corners])
    found = projected_corners(rows, 3, seed=1)
    assert found[np.argsort(found[:, 0])] == pytest.approx(corners[np.argsort(corners[:, 0])])


# ---- spectra ----


def test_a_subspace_has_the_largest_eigenvalues_though_others_are_more_negative():
    random = np.random.default_rng(2)
    U = np.linalg.qr(random.normal(size=(9, 9)))[0]
    values = np.array([5.0, 3.0, 1.0, 0.2, 0.1, 0.0, -0.1, -2.0, -7.0])
    A = (U * values) @ U.T
    calls = []

    def apply(V):
        calls.append(V.shape)
        return A @ V

    found = iterate_subspace(apply, random.normal(size=(9, 5)), 2, max_passes=300, tol=1e-12)
    assert found.converged and found.passes == len(calls) < 300
    assert found.values[:2] == pytest.approx([5, 3])
    assert np.abs(found.vectors[:, :2].T @ U[:, :2]) == pytest.approx(np.eye(2), abs=1e-4)
    few = iterate_subspace(apply, random.normal(size=(9, 2)), 2, max_passes=3, tol=0.0)
    assert few.passes == 3 and not few.converged
    whole = iterate_subspace(apply, np.eye(9), 9, max_passes=9, tol=1e-9)
    assert whole.passes == 1 and whole.converged and whole.values == pytest.approx(values)
    assert found.leading(1).values == pytest.approx([5]) and found.leading(1).vectors.shape == (
        9,
        1,
    )


def test_a_subspace_of_a_larger_matrix():
    """Of the basis three blocks are kept."""
    random = np.random.default_rng(5)
    values = np.r_[2.0, 1.5, 1.2, np.linspace(-1, 1, 57)]
    U = np.linalg.qr(random.normal(size=(60, 60)))[0]
    widths = []

    def apply(V):
        widths.append(V.shape[1])
        assert pytest.approx(np.eye(V.shape[1]), abs=1e-12) == V.T @ V
        return (U * values) @ (U.T @ V)

    found = iterate_subspace(apply, random.normal(size=(60, 4)), 3, max_passes=40, tol=1e-10)
    assert found.converged and found.values[:3] == pytest.approx([2, 1.5, 1.2], abs=1e-8)
    assert np.abs(np.diag(U[:, :3].T @ found.vectors[:, :3])) == pytest.approx(np.ones(3), abs=1e-4)
    assert found.passes <= 30 and max(widths) == 4


def test_statistics_of_pairs():
    counts = np.zeros(9)
    counts[[1, 3, 2]] = 6, 2, 4  # a over b six times, b over a twice, a over c four times
    found = pair_statistics(counts, 3, prior=1.0)
    assert found.count.tolist() == [8, 4, 0] and found.index.tolist() == [0, 0, 1, 0, 0, 2, 1, 2, 0]
    assert found.win == pytest.approx([7 / 10, 5 / 6, 1 / 2])
    assert found.share[:2] == pytest.approx([8 / 12, 4 / 12]) and 0 < found.share[2] < 0.01
    x = found.value.reshape(3, 3)
    assert x[0, 1] ** 2 * found.share[0] == pytest.approx(3 / 7) and x[0, 1] > 0
    assert x[1, 0] ** 2 * found.share[0] == pytest.approx(7 / 3) and x[1, 0] < 0
    mean = found.win * x[[0, 0, 1], [1, 2, 2]] + (1 - found.win) * x[[1, 2, 2], [0, 0, 1]]
    assert mean == pytest.approx(np.zeros(3), abs=1e-12)  # a token says nothing on average


@pytest.mark.parametrize("P", [9, 10])
def test_the_edge_of_noise_is_above_its_spread(P, monkeypatch):
    """Of few pairs by the standard deviation of eight draws, else by the gap to the fourth."""
    drawn = []

    def spectrum(*given):
        drawn.append(given[-1])
        return np.array([1.0, 0.9, 0.8, 0.7]) + 0.1 * given[-1]

    monkeypatch.setattr(number_of_components, "_null_spectrum", spectrum)
    pairs, block = SimpleNamespace(share=np.ones(P)), SimpleNamespace(ranking_id=None)
    edge = number_of_components.noise_edge([block], pairs, None)
    if P < 10:
        top = 1 + 0.1 * np.arange(8)
        assert drawn == list(range(8))
        assert edge == pytest.approx(top.mean() + 5 * np.std(top, ddof=1) / 1.27)
    else:
        assert drawn == [0, 1] and edge == pytest.approx(1.05 + 5 * 0.3 / 4.7)
    monkeypatch.setattr(number_of_components, "_null_spectrum", lambda *_: np.array([2.0, 2, 2, 2]))
    assert number_of_components.noise_edge([block], pairs, None) == pytest.approx(1.03 * 2)


# ---- fits ----


def test_a_short_fit_of_one_component_is_a_whole_one():
    """One ranking is one search, so nothing is saved."""
    votes = planted(12, 1, phi=0.8, seed=3).sample(25, 6, seed=3).comparisons
    engine = ThreadEngine(1)
    found = {
        refine: fit_spectral(votes, 1, options=SpectralOptions(refine=refine), engine=engine).m4
        for refine in ("none", "short", "full")
    }
    assert found["short"].sigma.tolist() == found["full"].sigma.tolist()
    assert found["short"].phi == pytest.approx(found["full"].phi)
    assert found["none"].sigma.tolist() != found["full"].sigma.tolist()


def test_restarts_are_tried_on_sixty_thousand_comparisons(monkeypatch):
    shares, parts = [], []
    monkeypatch.setattr(fit_state, "sample_blocks", lambda blocks, share, *_: shares.append(share))
    monkeypatch.setattr(restarts, "_gains", lambda *_: [(0.0, 0.0)] * 2)
    same = MonteCarlo(MallowsComponents(np.array([[0, 1]]), np.ones(1)), np.ones(1), [], [])
    for n in (59_999.0, 60_000.0, 240_000.0):
        blocks = [SimpleNamespace(weight=np.full(2, n / 2))]
        state = fit_state.FitState(blocks, None, None, 1, lambda *_: None, 2)
        parts.append(restarts.try_restarts(state, lambda _: same, lambda _: same).part)
        assert parts[-1].progress is None
    assert shares == [0.25]
    assert [part.blocks is None for part in parts] == [False, False, True]


def test_passes_over_all_users_are_parts_of_one_progress():
    shown = []
    for number in range(2):
        report = _pass_progress(lambda *given: shown.append(given), number, 2)
        for done in (1, 3):
            report(done, 3)
    assert shown == [("all users", done, 6) for done in (1, 3, 4, 6)]
    assert _pass_progress(None, 0, 1) is None


def test_rows_seen_in_one_half_or_too_rarely_are_no_candidates():
    counts = np.array([0.0, 4.0, 9.0, 2.0, 12.0])
    present = np.array([False, True, True, False, True])
    E = SimpleNamespace(counts=counts, present=present)
    found, notes = novel_pairs.candidate_pairs(E, 0.0)
    assert found.tolist() == [1, 2, 4] and len(notes) == 1 and " 1 " in notes[0]
    both = SimpleNamespace(counts=counts[1:3], present=present[1:3])
    assert novel_pairs.candidate_pairs(both, 0.0)[1] == []


def test_a_radius_is_halved_until_a_row_leaves_the_ball():
    distance = np.array([[0.0, 0.3, 0.9, 5.0]])
    distances = SimpleNamespace(
        between=lambda _: distance, threshold=lambda zeta: zeta / 2, candidates=np.arange(4)
    )
    found = SimpleNamespace(pairs=np.array([0]), zeta=4.0)
    assert novel_pairs._lower(distances, found) == 1.0  # 4 → 2 (ball of 1) → 1 (ball of ½ < 0.9)
    found.zeta = 0.7  # a ball of 0.35, in which 0.3 lies
    assert novel_pairs._lower(distances, found) == 0.35
    found.zeta = 0.5
    assert novel_pairs._lower(distances, found) == 0.0  # nobody is inside


# ---- personal utilities ----

Q = 4
PAIRS = [[0 * Q + 1, 2 * Q + 0, 1 * Q + 0], [3 * Q + 1], [], [2 * Q + 3]]
USERS = [1.0, 2.0, 1.0, 0.0]
WEIGHT = [1.0, 0.5, 2.0, 1.0, 1.0]


def _mode(m, mean, S):
    """A user's d and its covariance, by SciPy: Σ w log σ(s_i − s_j + d_i − d_j) − ½ dᵀ S⁻¹ d."""
    first = sum(map(len, PAIRS[:m]))
    i, j = np.divmod(np.array(PAIRS[m]), Q)
    w, precision = np.array(WEIGHT[first : first + len(i)]), np.linalg.inv(S)

    def cost(d):
        gap = mean[i] - mean[j] + d[i] - d[j]
        return d @ precision @ d / 2 - w @ log_expit(gap)

    d = minimize(cost, np.zeros(len(mean)), tol=1e-12).x
    p = expit(mean[i] - mean[j] + d[i] - d[j])
    H = precision.copy()
    for a, b, h in zip(i, j, w * p * (1 - p), strict=True):
        e = np.eye(len(mean))[a] - np.eye(len(mean))[b]
        H += h * np.outer(e, e)
    evidence = -cost(d) - (np.linalg.slogdet(H)[1] + np.linalg.slogdet(S)[1]) / 2
    return d, np.linalg.inv(H), evidence


def test_sums_of_personal_utilities_by_dense_algebra():
    """All items and factors of each user as one Gaussian around the mode of each component."""
    random = np.random.default_rng(5)
    now = UtilitiesParameters(
        random.normal(size=(2, Q)), random.normal(size=(Q, 2)), np.array([0.5, 1.0, 0.8, 0.6]),
        np.log([0.3, 0.7]),
    )  # fmt: skip
    block, state = _block(Q, PAIRS, USERS, WEIGHT), None
    for _ in range(8):  # Newton's method goes on where it was
        sums, state = utilities_pass(block, now, state)
    V, psi, K, r = now.loadings, now.variances, 2, 2
    S = V @ V.T + np.diag(psi)
    squares, products, residuals = np.zeros((Q, 4, 4)), np.zeros((Q, 4)), np.zeros(Q)
    factors, total, n, evidence = np.zeros((2, 2)), np.zeros(2), np.zeros(Q), 0.0
    for m, u in ((0, 1.0), (1, 2.0)):
        found = [_mode(m, mean, S) for mean in now.means]
        log_joint = now.log_shares + [each[2] for each in found]
        share = np.exp(log_joint - np.logaddexp(*log_joint)) * u
        evidence += u * np.logaddexp(*log_joint)
        items = sorted({i for pair in PAIRS[m] for i in divmod(pair, Q)})
        n[items] += u
        total += share
        for k, (d, C, _) in enumerate(found):
            B = np.linalg.solve(S, V)  # z | d has the mean Bᵀ d and the covariance I − Vᵀ B
            z, T = B.T @ d, np.eye(r) - V.T @ B + B.T @ C @ B
            x, xx = np.r_[np.eye(K)[k], z], np.zeros((K + r, K + r))
            xx[K:, K:] = T
            xx += np.outer(x, x)
            factors += share[k] * xx[K:, K:]
            for i in items:
                squares[i] += share[k] * xx
                utility = now.means[k, i] + d[i]
                products[i] += share[k] * (utility * x + np.r_[np.zeros(K), (C @ B)[i]])
                row = np.eye(Q)[i] - V[i] @ B.T  # d_i − V_i z, but for the noise of z given d
                spread = row @ C @ row + V[i] @ (np.eye(r) - V.T @ B) @ V[i]
                residuals[i] += share[k] * ((row @ d) ** 2 + spread)
    assert sums.item_users.tolist() == n.tolist() and sums.n_users == 3.0
    assert sums.responsibilities == pytest.approx(total, rel=1e-5)
    assert sums.evidence == pytest.approx(evidence, rel=1e-5)
    assert sums.squares == pytest.approx(squares, rel=1e-4, abs=1e-6)
    assert sums.products == pytest.approx(products, rel=1e-4, abs=1e-6)
    assert sums.factors == pytest.approx(factors, rel=1e-4, abs=1e-6)
    assert sums.residuals == pytest.approx(residuals, rel=1e-4)


def test_moments_of_utilities_before_there_are_factors():
    mean, variances = np.array([0.3, -0.2, 0.5, 0.0]), np.array([0.5, 1.0, 0.8, 0.6])
    total, n = _moments_step(_block(Q, PAIRS, USERS, WEIGHT), (mean, variances))
    expected = np.zeros((Q, Q))
    for m, u in ((0, 1.0), (1, 2.0)):
        items = sorted({i for pair in PAIRS[m] for i in divmod(pair, Q)})
        d, C, _ = _mode(m, mean, np.diag(variances))
        seen = np.ix_(items, items)
        expected[seen] += u * (C + np.outer(d, d))[seen]
    assert n.tolist() == [1, 3, 1, 2] and total == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_first_loadings_are_leading_eigenvectors_with_a_sign():
    """Of moments over √(n + 1) of either item, the diagonal left out."""
    moments = np.array([[9.0, 4.0, -2.0], [4.0, 9.0, -1.0], [-2.0, -1.0, 9.0]])
    users = np.array([3.0, 15.0, 8.0])
    found = _leading(moments, users)
    scale = np.sqrt(users + 1)
    matrix = moments / scale / scale[:, None]
    matrix[np.diag_indices(3)] = 0
    values, vectors = np.linalg.eigh(matrix)
    first = vectors[:, -1] * np.sign(vectors[np.abs(vectors[:, -1]).argmax(), -1])
    assert found[:, 0] == pytest.approx(np.sqrt(3) * first)
    assert (found**2).mean(axis=0)[0] == pytest.approx(1.0)  # a mean square of 1
    assert (found**2).mean(axis=0) == pytest.approx(np.maximum(values[::-1], 0) / values[-1])


def test_parameters_to_begin_with():
    start = InitialUtilities(np.zeros(3), 0.25, np.arange(9.0).reshape(3, 3))
    found = start.parameters(np.ones((2, 3)), 2)
    assert found.loadings.tolist() == [[0, 1], [3, 4], [6, 7]]
    assert found.variances.tolist() == [0.25] * 3
    assert np.exp(found.log_shares) == pytest.approx([0.5, 0.5])


def test_the_first_variance_is_a_third_of_the_one_that_explains_most(monkeypatch):
    random = np.random.default_rng(1)
    blocks = [_block(Q, [random.permutation([1, 6, 11, 12, 8])[:3] for _ in range(6)])]
    means = initial_means(blocks, Q, 1, 0)
    evidence = {}
    for variance in (0.1, 0.3, 1.0, 3.0, 10.0):
        tried = UtilitiesParameters(means, np.zeros((Q, 0)), np.full(Q, variance), np.zeros(1))
        evidence[variance] = utilities_pass(blocks[0], tried, None)[0].evidence
    best = max(evidence, key=evidence.__getitem__)
    found = initial_loadings.initial_utilities(blocks, Q, ThreadEngine(1))
    assert found.variance == pytest.approx(best / 3) and found.scores == pytest.approx(means[0])
    # the first factor explains a sixth of it
    assert (found.loadings[:, 0] ** 2).mean() == pytest.approx(found.variance / 6)


def test_the_joint_density_of_utilities_and_its_derivatives():
    winner, loser = np.array([0, 2, 1]), np.array([1, 0, 0])
    weight, offset = np.array([1.0, 0.5, 2.0]), np.array([0.3, -2.0, 1.0])
    random = np.random.default_rng(0)
    V, psi, d = random.normal(size=(3, 2)), np.array([0.5, 1.5, 0.8]), np.array([0.4, -0.7, 3.0])
    prior, x = local_prior(V, psi, np.arange(3)), np.r_[d, 0.3, -0.6]

    def value(x):
        """Of d and z together."""
        d, z = x[:3], x[3:]
        answers = weight @ log_expit(offset + d[winner] - d[loser])
        return answers - ((d - V @ z) ** 2 / psi).sum() / 2 - z @ z / 2

    best = np.linalg.solve(np.eye(2) + V.T @ (V / psi[:, None]), V.T @ (d / psi))  # z given d
    rows, at = (winner, loser, weight, offset), np.r_[d, best]
    g, answers, P = np.empty(3), np.empty(3), np.empty((5, 6))
    assert joint_density(*rows, at, *prior[:2], -np.inf, g, answers) == pytest.approx(value(at))
    write_precision(winner, loser, answers, *prior[:3], *elimination(winner, loser, 3, 5), g, P)
    h = 1e-4 * np.eye(5)
    slopes = [(value(np.r_[d, best] + e) - value(np.r_[d, best] - e)) / 2e-4 for e in h]
    assert np.r_[g, 0, 0] == pytest.approx(slopes, rel=1e-6, abs=1e-6) and (P[:3, 5] == g).all()
    curvature = [
        [
            (value(x + e + f) - value(x + e - f) - value(x - e + f) + value(x - e - f)) / 4e-8
            for f in h
        ]
        for e in h
    ]
    assert pytest.approx(-np.triu(curvature), rel=1e-4, abs=1e-5) == np.triu(P[:, :5])


def test_the_first_step_takes_a_curvature_that_is_not_too_small():
    """That of log σ(t) ≥ log σ(s) + ½ (t − s) − λ (t² − s²), 2 λ = (σ(s) − ½) / s, where s < 0."""
    winner, loser, prior = (
        np.array([0, 1]),
        np.array([1, 0]),
        local_prior(np.empty((2, 0)), np.ones(2), np.arange(2)),
    )
    offset, weight, g, h = np.array([-4.0, 3.0]), np.array([2.0, 1.0]), np.empty(2), np.empty(2)
    joint_density(winner, loser, weight, offset, np.zeros(2), *prior[:2], MUCH_BELOW, g, h)
    curve, t = (expit(-4.0) - 0.5) / -4.0, np.linspace(-9, 9, 50)
    assert h == pytest.approx([2 * curve, expit(3.0) * expit(-3.0)])
    bound = log_expit(-4.0) + (t + 4) / 2 - curve / 2 * (t**2 - 16)
    assert (bound <= log_expit(t) + 1e-12).all()


def test_one_logarithm_for_many_answers_is_the_sum_of_theirs():
    n = 1200  # answers, whose product of 1 + e is beyond any number
    winner, loser, offset = np.zeros(n, np.int64), np.ones(n, np.int64), np.linspace(-1, 1, n)
    prior, g, h = local_prior(np.empty((2, 0)), np.ones(2), np.arange(2)), np.empty(2), np.empty(n)
    for weight in (np.ones(n), np.full(n, 0.5)):
        rows = winner, loser, weight, offset
        found = joint_density(*rows, np.zeros(2), *prior[:2], -np.inf, g, h)
        assert found == pytest.approx(weight @ log_expit(offset))


@pytest.mark.parametrize("start", [0.0, 30.0, -30.0])
def test_a_mode_is_found_from_far_away(start):
    winner, loser, offset = np.array([0, 0]), np.array([1, 1]), np.array([1.0, 1.0])
    weight, P = np.array([3.0, 2.0]), np.empty((2, 3))
    prior, d = (
        local_prior(np.empty((2, 0)), np.full(2, 4.0), np.arange(2)),
        np.array([start, -start]),
    )
    pattern = elimination(winner, loser, 2, 2)
    rows, room = (winner, loser, weight, offset), newton_room(len(winner), 2)
    posterior_mode(*rows, prior, pattern, d, P, room, 1e-8, -np.inf)
    slope = 5 * expit(-(1 + d[0] - d[1]))
    assert d / 4 == pytest.approx([slope, -slope], rel=1e-5)


def test_items_of_one_user_are_numbered_and_the_work_space_is_left_clean():
    number, pairs = np.full(6, -1), np.array([4 * 6 + 1, 1 * 6 + 5, 4 * 6 + 5, 5 * 6 + 0])
    items, winner, loser = local_items(pairs, 6, number)
    assert items.tolist() == [0, 4, 1, 5] and number.tolist() == [-1] * 6
    assert items[winner].tolist() == [4, 1, 4, 5] and items[loser].tolist() == [1, 5, 5, 0]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("chosen", [None, False, True])
def test_a_number_of_components_that_was_given_is_compared_with_the_spectrum(
    chosen, n_jobs, monkeypatch
):
    """One that was chosen by its predictions is not: it was compared already. What the spectrum
    says comes before what refinement says.
    """
    seen = []

    def refine(state, early, best, *_, **__):
        state.notes.append("of refinement")
        return best

    def note(values, edge, K):
        seen.append((edge, K))
        return "of the spectrum"

    monkeypatch.setattr(estimator, "noise_edge", lambda *_, **__: 0.5)
    monkeypatch.setattr(estimator, "spectrum_note", note)
    monkeypatch.setattr(estimator, "extreme_notes", lambda *_: [])
    monkeypatch.setattr(estimator, "refine", refine)
    votes = planted(5, 2, seed=1).sample(40, 8, seed=1).comparisons
    named = {} if chosen is None else {"chosen": chosen}
    report = estimator.fit_spectral(votes, 2, engine=ThreadEngine(n_jobs), **named).report
    assert seen == ([] if chosen else [(0.5, 2)])
    assert report.notes == (*([] if chosen else ["of the spectrum"]), "of refinement")
    assert report.spectral.noise_edge == (None if chosen else 0.5)


def test_items_are_moved_to_their_best_positions_in_turn():
    """By a search that evaluates whole orders."""
    Q, random, ends = 5, np.random.default_rng(4), set()

    def value(values, order):
        place = {item: n for n, item in enumerate(order)}
        return sum(values[i, j, Q - 1 + place[i] - place[j]] for i in range(Q) for j in range(i))

    def search(values, order):
        idle, turn = 0, 0
        while idle < Q:
            item = turn % Q
            turn, idle = turn + 1, idle + 1
            rest = [other for other in order if other != item]
            moved = [[*rest[:q], item, *rest[q:]] for q in range(Q)]
            worth = [value(values, each) for each in moved]
            if max(worth) > value(values, order) + 1e-7:
                order, idle = moved[int(np.argmax(worth))], 0
        return order

    for _ in range(12):
        values = random.normal(size=(Q, Q, 2 * Q - 1))
        for i in range(Q):
            for j in range(i):
                values[j, i] = values[i, j, ::-1]
        of_pairs = values[np.triu_indices(Q, 1)]
        found = insert_by_gap(of_pairs, np.arange(Q, dtype=np.int32))
        assert found.tolist() == search(values, list(range(Q)))
        ends.add(tuple(found.tolist()))
    assert len(ends) > 6
