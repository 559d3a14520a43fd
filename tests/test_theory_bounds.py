"""The appendix's propositions and Theorem 2, checked on exact moments of small models, by
simulation and by counterexample.
"""

import itertools
import math

import numpy as np
import pytest

from mallowmix.errors import OptionError
from mallowmix.model.mallows import beta_matrix
from mallowmix.model.population_moments import population_moments
from mallowmix.model.separability import separability
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.paper.theory.bounds import (
    far_row_solid_angle,
    impurity,
    post_processing_lambda,
    post_processing_tolerance,
    regression_error,
    sigma_min_bound,
    solid_angle_lambda,
    solid_angle_perturbation,
)
from mallowmix.paper.theory.solid_angles import corner_solid_angles
from mallowmix.paper.theory.theorem2 import theorem2

DIRECTIONS = 20_000


def random_model(seed, K=3, Q=6, phi=0.1, alpha=0.3):
    """β of K random references that have a strict novel pair each, and its population moments."""
    rng = np.random.default_rng(seed)
    while True:
        sigma = np.stack([rng.permutation(Q) for _ in range(K)])
        if separability(np.stack([beta_matrix(s, 0.0) for s in sigma])) == 0:
            break
    beta = np.stack([beta_matrix(s, phi) for s in sigma])
    return sigma, beta, population_moments(beta, *dirichlet_moments(np.full(K, alpha)))


def best_rows(B_bar):
    """For each component the row of B̄ with the least ratio of another entry to its own, and the
    worst of these ratios.
    """
    K = B_bar.shape[1]
    ratios = np.stack(
        [
            np.delete(B_bar, k, axis=1).max(axis=1) / np.maximum(B_bar[:, k], 1e-300)
            for k in range(K)
        ]
    )
    return ratios.argmin(axis=1), ratios.min(axis=1).max()


def local_solid_angles(E, radius, n_directions=DIRECTIONS, seed=0):
    """The solid angle of every row of E by its definition: it beats all rows at least `radius`
    away.
    """
    d = np.random.default_rng(seed).normal(size=(E.shape[1], n_directions))
    projections = E @ d
    q = np.empty(len(E))
    for i, row in enumerate(E):
        far = np.linalg.norm(E - row, axis=1) >= radius
        q[i] = np.mean(np.all(projections[i] > projections[far], axis=0))
    return q


def simplex_least_squares(target, corners):
    """Brute force over supports: argmin ‖target − b·corners‖ over probability vectors b."""
    K, best, answer = len(corners), math.inf, None
    for size in range(1, K + 1):
        for support in itertools.combinations(range(K), size):
            base, edges = corners[support[0]], corners[list(support[1:])] - corners[support[0]]
            c = np.linalg.lstsq(edges.T, target - base, rcond=None)[0] if size > 1 else np.empty(0)
            b = np.zeros(K)
            b[list(support)] = np.r_[1 - c.sum(), c]
            cost = np.linalg.norm(target - b @ corners)
            if b.min() >= 0 and cost < best:
                best, answer = cost, b
    return answer


# --- first proposition: solid angles --------------------------------------------------------------


@pytest.mark.parametrize("phi", [1e-3, 1e-2, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_solid_angle_perturbation_bounds_novel_and_far_rows_of_exact_moments(seed, phi):
    """Monte-Carlo error: 4.5 standard errors on each of 30 rows; false alarms below 1 in 4,000,
    were the bounds tight.
    """
    _, _, m = random_model(seed, phi=phi)
    rows, lam = best_rows(m.B_bar)
    radius = 0.5 * (m.rho_min - 2 * impurity(lam, 3) * m.rho_max)
    E = m.B_bar @ m.Y
    q, ideal = local_solid_angles(E, radius), corner_solid_angles(m.Y).q
    noise = 4.5 * 0.5 / math.sqrt(DIRECTIONS)
    bound = solid_angle_perturbation(lam, 3, m.rho_min, m.rho_max, radius)
    if phi == 1e-3:
        assert bound < ideal.min() / 3  # the bound says something
    assert np.all(np.abs(q[rows] - ideal) <= bound + noise)
    far = np.linalg.norm(E[:, None] - E[rows][None], axis=2).min(axis=1) >= radius
    assert far.any()
    assert np.all(q[far] <= far_row_solid_angle(lam, 3, m.rho_min, m.rho_max, radius) + noise)


def two_rows_near_the_corner(lam, s):
    """An equilateral triangle Y; a λ-novel row for each corner, and two rows with weight s outside
    component 1, one an edge.
    """
    a = 1 / (1 + 2 * lam)
    novel = np.full((3, 3), lam * a) + np.eye(3) * (1 - lam) * a
    return np.vstack([novel, [1 - s, s, 0], [1 - s, 0, s]]) @ np.eye(3)


def test_solid_angle_perturbation_covers_its_worst_case():
    """Rows that sit just outside the radius: the closer it is to the corner, the more they take.
    Noise: 4.5 standard errors.
    """
    lam, rho, noise = 1e-3, math.sqrt(2), 4.5 * 0.5 / math.sqrt(DIRECTIONS)
    gaps = []
    for s in (0.01, 0.05, 0.3):
        E = two_rows_near_the_corner(lam, s)
        radius = np.linalg.norm(E[3:] - E[0], axis=1).min()
        gaps.append(1 / 3 - local_solid_angles(E, radius)[0])
        assert gaps[-1] <= solid_angle_perturbation(lam, 3, rho, rho, radius) + noise
    assert gaps[0] > gaps[1] > gaps[2] - noise
    assert gaps[0] > 0.02


def test_without_the_radius_the_solid_angle_bound_fails():
    """Errata E20 and E21 corrected alone give √(2/π) c (K−1)/ρ_min + W exp(−c²/(8λ²K²ρ_max²)).

    λ → 0 drives it to 0, yet a row at twice the impurity keeps a constant part of the corner's
    angle.
    """
    lam, rho, K, W = 1e-5, math.sqrt(2), 3, 5
    c = np.geomspace(1e-8, 1, 4000)
    without_radius = np.min(
        np.sqrt(2 / np.pi) * c * (K - 1) / rho + W * np.exp(-(c**2) / (8 * lam**2 * K**2 * rho**2))
    )
    E = two_rows_near_the_corner(lam, 2 * impurity(lam, K))
    radius = np.linalg.norm(E[3:] - E[0], axis=1).min()
    loss = 1 / 3 - local_solid_angles(E, radius)[0]
    assert without_radius < 0.001
    assert loss > 0.03  # 9 standard errors above 0
    assert loss <= solid_angle_perturbation(lam, K, rho, rho, radius)


def test_solid_angle_perturbation_is_the_least_over_c():
    lam, K, rho_min, rho_max, radius = 0.004, 4, 2.0, 3.0, 1.5
    tau = 3 * lam / (1 + 3 * lam)
    c = np.geomspace(1e-6, 10, 200_000)
    s = radius / rho_max - tau
    grid = 3 * (
        c / (math.sqrt(2 * math.pi) * rho_min)
        + 0.5 * np.exp(-(c**2) * s**2 / (2 * tau**2 * rho_max**2))
    )
    assert solid_angle_perturbation(lam, K, rho_min, rho_max, radius) == pytest.approx(
        grid.min(), rel=1e-6
    )
    assert far_row_solid_angle(lam, K, rho_min, rho_max, radius) == pytest.approx(
        4 * grid.min(), rel=1e-6
    )


def test_solid_angle_perturbation_at_the_ends():
    assert solid_angle_perturbation(0.0, 3, 1.0, 2.0, 0.5) == 0
    assert solid_angle_perturbation(0.3, 1, math.inf, 0.0, 0.5) == 0
    # radius within the reach of impurity
    assert solid_angle_perturbation(0.2, 3, 1.0, 2.0, 0.5) == 1
    # corners would be each other's neighbours
    assert solid_angle_perturbation(0.0, 3, 1.0, 2.0, 1.5) == 1


def test_solid_angle_lambda_is_the_largest_that_does():
    lam = solid_angle_lambda(0.3, 3, 2.0, 3.0, 1.2)
    assert 0 < lam < 1
    assert solid_angle_perturbation(lam, 3, 2.0, 3.0, 1.2) <= 0.1
    assert solid_angle_perturbation(lam * (1 + 1e-9), 3, 2.0, 3.0, 1.2) > 0.1
    assert solid_angle_lambda(0.3, 3, 2.0, 3.0, 1.2, fraction=1 / 9) < lam
    assert solid_angle_lambda(0.3, 3, 2.0, 3.0, 2.5) == 0


# --- second proposition: regression ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_regression_error_bounds_the_weights_under_perturbation(seed):
    _, _, m = random_model(seed, phi=0.1)
    rng = np.random.default_rng(seed)
    E = m.B_bar @ m.Y
    worst = 0.0
    for delta1, delta2 in ((0.01, 0.02), (0.3, 0.0), (0.0, 0.5), (0.5, 0.5)):
        for i in rng.choice(len(E), 8, replace=False):
            corners = m.Y + delta1 * _unit_rows(
                rng.normal(size=m.Y.shape) if i % 2 else m.Y[rng.permutation(3)] - m.Y + 1e-9
            )
            b = simplex_least_squares(E[i] + delta2 * _unit_rows(_towards(m, rng))[0], corners)
            ratio = np.linalg.norm(b - m.B_bar[i]) / regression_error(delta1, delta2, m.sigma_min)
            assert ratio <= 1 + 1e-9
            worst = max(worst, ratio)
    assert worst > 0.05  # the perturbations are felt


def _unit_rows(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _towards(m, rng):
    """The direction in which Y is weakest, with a random sign: the hardest for the regression."""
    return rng.choice([-1, 1]) * np.linalg.svd(m.Y)[2][2][None]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("K", [2, 3, 5])
def test_sigma_min_bound_on_random_separable_matrices(seed, K):
    rng = np.random.default_rng(seed)
    for lam in (0.001, 0.1, 0.9 / (K - 1)):
        rows = lam * rng.random((K, K)) if seed else np.full((K, K), lam)
        np.fill_diagonal(rows, 1)
        B_bar = rows / rows.sum(axis=1, keepdims=True)
        R_bar = np.linalg.inv(np.cov(rng.normal(size=(K, 4 * K))))
        Y = R_bar @ B_bar.T
        least = np.linalg.eigvalsh(R_bar)[0]
        assert np.linalg.svd(Y, compute_uv=False)[-1] >= sigma_min_bound(least, lam, K) * (1 - 1e-9)
    assert sigma_min_bound(2.0, 1.0, 5) == 0


def test_sigma_min_bound_is_reached_by_equal_impurities():
    """B̄ = (1−λ)I + λJ over 1 + (K−1)λ has σ_min = (1−λ)/(1 + (K−1)λ); for K = 2 that is the bound
    itself.
    """
    lam = 0.2
    B_bar = np.array([[1, lam], [lam, 1]]) / (1 + lam)
    assert np.linalg.svd(B_bar, compute_uv=False)[-1] == pytest.approx(sigma_min_bound(1.0, lam, 2))


def test_regression_error_needs_independent_corners():
    with pytest.raises(OptionError, match="corners Y must be linearly independent") as raised:
        regression_error(0.1, 0.1, 0)
    assert (raised.value.option, raised.value.value) == ("sigma_min", 0)


# --- third proposition: post-processing -----------------------------------------------------------


def orders_after_perturbation(m, beta, a, delta, rng):
    """Algorithms 3 and 4 on rows and corners moved by δ/2 each; for each k and pair, whether i is
    still put over j.
    """
    K, Q = beta.shape[:2]
    E = m.B_bar @ m.Y
    corners = m.Y + delta / 2 * _unit_rows(rng.normal(size=m.Y.shape) @ m.Y.T @ m.Y)
    p = np.tensordot(a, beta, 1)  # p_ij = Σ_l a_l β_(i,j),l
    c = np.zeros((K, Q, Q))
    for row, pair in enumerate(m.pairs):
        i, j = divmod(pair, Q)
        c[:, i, j] = p[i, j] * simplex_least_squares(
            E[row] + delta / 2 * _unit_rows(_towards(m, rng))[0], corners
        )
    return c > c.transpose(0, 2, 1)


@pytest.mark.parametrize("phi", [0.05, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_post_processing_tolerance_leaves_all_orders_right(seed, phi):
    sigma, beta, m = random_model(seed, Q=5, phi=phi)
    a = np.full(3, 1 / 3)
    truth = sigma[:, :, None] < sigma[:, None, :]
    tolerance = post_processing_tolerance(m.a_min, phi, m.sigma_min)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        assert np.array_equal(orders_after_perturbation(m, beta, a, tolerance, rng), truth)
    # the test can fail
    assert not np.array_equal(orders_after_perturbation(m, beta, a, 60 * tolerance, rng), truth)


def test_post_processing_lambda_keeps_novel_rows_within_tolerance():
    """Rows as impure as λ a_0 allows are within the tolerance of their corners, for equal and
    unequal shares.
    """
    for alpha in ([0.3, 0.3, 0.3], [0.2, 0.4, 1.0]):
        _, beta, _ = random_model(1, phi=0.1)
        m = population_moments(beta, *dirichlet_moments(alpha))
        lam = post_processing_lambda(m, 0.1) * m.a_0
        assert 0 < lam < 1
        tau = impurity(lam, 3)
        tolerance = post_processing_tolerance(m.a_min, 0.1, m.sigma_min)
        for k, other in itertools.permutations(range(3), 2):
            b = np.eye(3)[k] * (1 - tau) + np.eye(3)[other] * tau
            assert np.linalg.norm(b @ m.Y - m.Y[k]) <= tolerance
        assert math.sqrt(2) * tau * m.sigma_max == pytest.approx(tolerance)


def test_erratum_22_the_printed_distance_of_novel_rows_is_too_small():
    """The paper: ‖E_j⁰ − E_j‖ ≤ λ(K−1) λ_max(R̄). With all W columns of Y it is larger; √2 τ
    σ_max(Y) does hold.
    """
    _, _, m = random_model(2, K=2, Q=8, phi=0.1)
    rows, lam = best_rows(m.B_bar)
    lambda_max = m.lambda_min / m.kappa
    distances = np.linalg.norm((m.B_bar @ m.Y)[rows] - m.Y, axis=1)
    assert distances.max() > lam * lambda_max
    assert np.all(distances <= math.sqrt(2) * impurity(lam, 2) * m.sigma_max)
    assert m.rho_max <= math.sqrt(2) * m.sigma_max


def test_erratum_22_the_largest_singular_value_grows_with_the_pairs():
    """σ_max(Y) ≥ √(W/K) where R̄ = I and the rows of B̄ sum to 1."""
    for W in (50, 500):
        B_bar = np.random.default_rng(W).dirichlet(np.ones(4), W)
        assert np.linalg.svd(B_bar, compute_uv=False)[0] >= math.sqrt(W / 4)


# --- Theorem 2 ------------------------------------------------------------------------------------


def test_theorem_2_as_printed_by_hand():
    """Q = 3, K = 2, opposite rankings, α = (½, ½): W = 6, R̄ has eigenvalues 2 and 1, q = ½, N =
    10, δ = 0.1.
    """
    beta = np.stack([beta_matrix(s, 0.2) for s in ([0, 1, 2], [2, 1, 0])])
    m = population_moments(beta, *dirichlet_moments([0.5, 0.5]))
    assert (m.lambda_min, m.kappa, m.eta) == pytest.approx((1.0, 0.5, 1 / 6))
    found = theorem2(m, 0.2, 10, delta=0.1)
    log = math.log(180)
    assert found.q_min == 0.5
    assert found.lambda_printed == pytest.approx(
        0.5 * 0.5 * 0.8 * 0.5 / (8 * 4 * math.sqrt(math.log(12)))
    )
    assert found.n_projections == math.ceil(128 * log)
    assert found.n_users == pytest.approx(
        max(640 * 36 * 6**4 / (10 * 1.5**2 * 0.25), 320 * 6 * 6**4 / (10 * 0.25 * 0.64)) * log,
        abs=1,
    )


@pytest.mark.parametrize("seed", range(4))
def test_theorem_2_algorithm_1_on_exact_moments_recovers_all_rankings(seed):
    """For λ within `lambda_corrected`: solid angles with its radius, rows 2d apart, simplex
    regression, wins.

    The room that the theorem leaves for the solid angles' sampling error, q/6 ≈ 0.05, is 14
    standard errors: no false alarms.
    """
    sigma, beta, m = random_model(seed, phi=1e-5)
    bound = theorem2(m, 1e-5, 100)
    assert separability(beta) <= bound.lambda_corrected
    E = m.B_bar @ m.Y
    chosen: list[int] = []
    for i in np.argsort(-local_solid_angles(E, bound.radius, seed=seed), kind="stable"):
        if len(chosen) < 3 and all(math.dist(E[i], E[c]) >= 2 * bound.radius for c in chosen):
            chosen.append(int(i))
    corner_of = m.B_bar[chosen].argmax(axis=1)
    assert sorted(corner_of) == [0, 1, 2]
    p, wins = np.tensordot(np.full(3, 1 / 3), beta, 1), np.zeros((3, 6, 6))
    for row, pair in enumerate(m.pairs):
        i, j = divmod(pair, 6)
        wins[corner_of, i, j] = p[i, j] * simplex_least_squares(E[row], E[chosen])
    np.testing.assert_array_equal((wins < wins.transpose(0, 2, 1)).sum(axis=2), sigma)


def test_theorem_2_corrected_lambda_is_the_largest_of_its_chain():
    _, _, m = random_model(3, phi=0.1)
    found = theorem2(m, 0.1, 100)
    tolerance = post_processing_tolerance(m.a_min, 0.1, m.sigma_min)
    assert found.radius == pytest.approx(
        tolerance - impurity(found.lambda_corrected, 3) * m.rho_max
    )
    at = [
        solid_angle_perturbation(x * found.lambda_corrected, 3, m.rho_min, m.rho_max, found.radius)
        for x in (1, 1.01)
    ]
    assert at[0] <= found.q_min / 9 < at[1]
    assert found.q_min == corner_solid_angles(m.Y).q.min()


def test_theorem_2_at_the_ends():
    one = population_moments(beta_matrix([1, 0, 2], 0.2)[None], *dirichlet_moments([1.0]))
    assert theorem2(one, 0.2, 10).lambda_corrected == 1
    assert post_processing_lambda(one, 0.2) == 1
    _, _, m = random_model(0)
    assert theorem2(m, 0.1, 200).n_users == pytest.approx(
        theorem2(m, 0.1, 100).n_users / 2, rel=1e-6
    )
    rare = population_moments(
        np.stack([beta_matrix(s, 1e-100) for s in ([0, 1, 2], [0, 2, 1])]),
        *dirichlet_moments([1, 1]),
    )
    assert theorem2(rare, 0.1, 10).n_users == math.inf


@pytest.mark.parametrize(
    ("option", "value", "arguments", "options"),
    [
        ("phi", 1.0, (1.0, 100), {}),
        ("delta", 0, (0.1, 100), {"delta": 0}),
        ("delta", 1, (0.1, 100), {"delta": 1}),
        ("n_per_user", 0, (0.1, 0), {}),
        ("q_min", 0.0, (0.1, 100), {"q_min": 0.0}),
    ],
)
def test_theorem_2_refuses_options_out_of_range(option, value, arguments, options):
    _, _, m = random_model(0)
    with pytest.raises(OptionError, match=f"{option} is {value}; it must be ") as raised:
        theorem2(m, *arguments, **options)
    assert (raised.value.option, raised.value.value) == (option, value)
