"""Definition 1, Proposition 3, Lemma 3 and the separability footnote, each against an oracle of its
own; solid angles.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mallowmix.errors import DataError, OptionError
from mallowmix.model.mallows import beta_matrix, gap_probabilities
from mallowmix.model.separability import (
    _references,
    exact_margin,
    is_separable,
    lemma3_bound,
    novel_pairs,
    printed_margin,
    proposition3_bound,
    required_margin,
    separability,
    separability_probability,
)
from mallowmix.paper.theory.solid_angles import (
    corner_solid_angles,
    hull_coordinates,
    solid_angles,
    triangle_solid_angles,
)

PHIS = [0.001, 0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999]


def brute_force_lambdas(beta):
    """Definition 1 read aloud: for each k the least λ over ordered pairs with β_k > 0."""
    K, Q, _ = beta.shape
    lambdas = []
    for k in range(K):
        ratios = [
            max(
                [beta[other, i, j] / beta[k, i, j] for other in range(K) if other != k], default=0.0
            )
            for i in range(Q)
            for j in range(Q)
            if i != j and beta[k, i, j] > 0
        ]
        lambdas.append(min(ratios, default=math.inf))
    return lambdas


@settings(max_examples=80, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(2, 4))
def test_separability_equals_definition_1_for_any_matrix(data, K, Q):
    values = st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.7, 1.0]) | st.floats(0.001, 1)
    beta = data.draw(arrays(np.float64, (K, Q, Q), elements=values))
    expected = brute_force_lambdas(beta)
    found = novel_pairs(beta)
    np.testing.assert_allclose(found.lam, expected, rtol=1e-12)
    assert separability(beta) == pytest.approx(max(expected), rel=1e-12)
    for k, (i, j, lam) in enumerate(zip(*found, strict=True)):
        if math.isfinite(lam):
            others = np.delete(beta[:, i, j], k)
            assert others.max(initial=0.0) / beta[k, i, j] == pytest.approx(lam)
        else:
            assert (i, j) == (-1, -1)


def test_separability_of_exact_rankings_is_zero_or_one():
    opposite = np.stack([beta_matrix([0, 1, 2], 0.0), beta_matrix([2, 1, 0], 0.0)])
    assert separability(opposite) == 0
    found = novel_pairs(opposite)
    assert list(zip(found.winner, found.loser, strict=True)) == [(0, 1), (1, 0)]
    same = np.stack([beta_matrix([0, 1, 2], 0.0)] * 2)
    assert separability(same) == 1
    assert not is_separable(same, 0.99)
    # each pair of the third is someone else's
    between = np.stack([beta_matrix(s, 0.0) for s in ([0, 1, 2], [2, 1, 0], [0, 2, 1])])
    assert novel_pairs(between).lam[2] == 1


def test_one_component_is_separable():
    assert separability(beta_matrix([1, 0, 2], 0.3)[None]) == 0
    assert is_separable(beta_matrix([1, 0, 2], 0.3)[None], 0.0)
    assert separability_probability(5, 1, 0.5, n_draws=10).probability == 1


def test_is_separable_is_a_threshold_on_lambda():
    beta = np.stack([beta_matrix([0, 1], 0.2), beta_matrix([1, 0], 0.2)])
    assert separability(beta) == pytest.approx(0.2)  # φ/(1+φ) over 1/(1+φ)
    assert is_separable(beta, 0.21)
    assert not is_separable(beta, 0.19)


def test_separability_says_what_is_wrong():
    with pytest.raises(
        DataError, match=r"beta has shape \(3, 3\); it must be \(components, items, items\)"
    ):
        separability(np.ones((3, 3)))
    with pytest.raises(DataError, match="negative or missing"):
        separability(np.full((2, 3, 3), np.nan))
    with pytest.raises(
        OptionError, match=r"lam is 1; it must be at least 0 \(exactly separable\) and below 1"
    ):
        is_separable(np.ones((1, 2, 2)), 1)
    with pytest.raises(OptionError, match=r"threshold is -0\.1"):
        separability_probability(5, 2, 0.1, threshold=-0.1)
    with pytest.raises(OptionError, match="n_items is 1; it must be at least 2"):
        separability_probability(1, 2, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "printed"), [(0, 0.933), (0.1, 0.870), (0.2, 0.793), (0.5, 0.426)])
def test_footnote_probability_of_separability(phi, printed):
    """Q = 100, K = 10, λ = 0.05. Both numbers rest on 1000 draws, so their difference has √2 times
    the standard error of one; three of those: a right program fails one value with probability
    0.27% (this seed is fixed).
    """
    found = separability_probability(100, 10, phi, threshold=0.05, n_draws=1000, seed=0)
    assert abs(found.probability - printed) <= 3 * math.sqrt(2 * printed * (1 - printed) / 1000)
    assert found.standard_error == pytest.approx(
        math.sqrt(found.probability * (1 - found.probability) / 1000)
    )


@pytest.mark.parametrize("phi", [0.0, 0.1, 0.6])
def test_separability_probability_equals_its_slow_twin(phi):
    """Form β for the very same references and ask `separability`."""
    draws = 60
    slow = [
        separability(
            np.stack([beta_matrix(s, phi) for s in _references(8, 3, draw, np.uint64(4)).T])
        )
        <= 0.1
        for draw in range(draws)
    ]
    assert 0 < sum(slow) < draws or phi == 0.6
    assert separability_probability(
        8, 3, phi, threshold=0.1, n_draws=draws, seed=4
    ).probability == np.mean(slow)


def test_references_are_uniform_and_independent():
    """χ² over the 36 pairs of rankings of three items, 35 degrees of freedom; 72.0 is passed with
    probability 0.0002.
    """
    draws = 7200
    seen = [_references(3, 2, draw, np.uint64(1)).T.tobytes() for draw in range(draws)]
    _, counts = np.unique(seen, return_counts=True)
    assert len(counts) == 36
    assert np.sum((counts - draws / 36) ** 2) / (draws / 36) < 72.0


def test_separability_probability_reports_progress_and_depends_on_the_seed_alone():
    calls = []
    first = separability_probability(
        20, 4, 0.2, n_draws=250, seed=3, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(100, 250), (200, 250), (250, 250)]
    assert first == separability_probability(20, 4, 0.2, n_draws=250, seed=3)
    assert first != separability_probability(20, 4, 0.2, n_draws=250, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("phi", PHIS)
def test_proposition_3(phi):
    win, lose = gap_probabilities(60, phi)
    for gap in range(1, 60):
        assert lose[gap] <= proposition3_bound(phi, gap + 1)
        # the sharper bound of erratum E10
        assert lose[gap] / win[gap] <= gap * phi**gap * (1 + 1e-12)


def test_proposition_3_is_tight_to_a_factor_of_gap_over_gap_plus_one():
    """The odds are at most (g/(g+1)) Lφ^{L−1}, g = L − 1, and reach it as φ → 0: by exact fractions
    for gaps up to 59.
    """
    for gap, phi in itertools.product(
        [1, 2, 7, 30, 59], [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(999, 1000)]
    ):
        odds = (
            phi**gap
            * sum((gap - i) * phi**i for i in range(gap))
            / sum((i + 1) * phi**i for i in range(gap))
        )
        win, lose = gap_probabilities(60, float(phi))
        assert lose[gap] / win[gap] == pytest.approx(float(odds), rel=1e-11)
        tightness = odds / ((gap + 1) * phi**gap)
        assert tightness <= Fraction(gap, gap + 1)
        if phi == Fraction(1, 1000):
            assert float(tightness) == pytest.approx(gap / (gap + 1), rel=2e-3)


def test_erratum_16_the_betas_of_the_figure():
    # the figure says ≈ .1 for L = 2 …
    assert gap_probabilities(3, 0.1).lose[1] == pytest.approx(0.0909, abs=5e-5)
    # … and ≈ .01 for L = 3
    assert gap_probabilities(3, 0.1).lose[2] == pytest.approx(0.0172, abs=5e-5)


def test_erratum_18_the_printed_margin_is_too_small():
    assert printed_margin(0.5, 0.05) == 6
    assert 6 * 0.5**5 > 0.05
    assert required_margin(0.5, 0.05) == 9
    assert exact_margin(0.5, 0.05) == 7


@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("lam", [0.9, 0.3, 0.05, 1e-3])
def test_margins_are_the_smallest_that_do(phi, lam):
    needed = required_margin(phi, lam)
    assert needed == next(L for L in itertools.count(2) if L * phi ** (L - 1) <= lam)
    win, lose = gap_probabilities(needed, phi)
    assert exact_margin(phi, lam) == 1 + next(
        g for g in range(1, needed) if lose[g] <= lam * win[g]
    )


def test_margins_at_the_ends():
    assert required_margin(0.0, 0.0) == exact_margin(0.0, 0.0) == printed_margin(0.0, 0.0) == 2
    for margin in (required_margin, exact_margin, printed_margin):
        with pytest.raises(OptionError, match="for pure chance no margin is enough"):
            margin(1.0, 0.1)
        with pytest.raises(OptionError, match=r"lam is 0.0; it must be above 0: .*phi is 0\.2"):
            margin(0.2, 0.0)
    with pytest.raises(OptionError, match="margin is 1; it must be at least 2"):
        proposition3_bound(0.1, 1)


@pytest.mark.parametrize(("L", "K"), [(3, 2), (4, 2), (3, 3)])
def test_lemma_3_group_probability_by_enumeration(L, K):
    """p₁: the first and last of a group in σ_1 are the last and first in σ_2 … σ_K; σ_1 may be held
    fixed.
    """
    rankings = list(itertools.permutations(range(L)))
    hits = sum(
        all(r[0] == L - 1 and r[-1] == 0 for r in others)
        for others in itertools.product(rankings, repeat=K - 1)
    )
    p1 = hits / len(rankings) ** (K - 1)
    groups = 2
    assert lemma3_bound(groups * L, K, 0.1, 0.5, margin=L) == pytest.approx(
        1 - K * math.exp(-groups * p1)
    )


def test_erratum_17_the_printed_lemma_3_needs_whole_groups():
    """L = 3, Q = 5, K = 2: one group, which fails with probability 5/6 (1 of 6 rankings turns first
    and last around).
    """
    reversing = sum(r[0] == 2 and r[2] == 0 for r in itertools.permutations(range(3))) / 6
    printed_failure = (1 - lemma3_bound(5, 2, 0.1, 0.05, printed=True)) / 2
    assert required_margin(0.1, 0.05) == 3
    assert printed_failure == pytest.approx(math.exp(-5 / 27))
    assert printed_failure < 1 - reversing  # the printed step claims less failure than there is
    assert (1 - lemma3_bound(5, 2, 0.1, 0.05)) / 2 >= 1 - reversing


@pytest.mark.parametrize(
    ("Q", "K", "phi", "lam"),
    [(10, 2, 0.0, 0.0), (40, 3, 0.0, 0.0), (8, 2, 0.1, 0.2), (30, 2, 0.1, 0.05)],
)
def test_lemma_3_bounds_the_probability(Q, K, phi, lam):
    """The estimate may fall three standard errors below the bound: one false alarm in 740, were the
    bound tight.
    """
    bound = lemma3_bound(Q, K, phi, lam)
    assert bound > 0.5  # otherwise the test says little
    estimate = separability_probability(Q, K, phi, threshold=lam, n_draws=2000)
    assert estimate.probability + 3 * estimate.standard_error >= bound
    assert lemma3_bound(Q, K, phi, lam, margin=exact_margin(phi, lam)) >= bound


@pytest.mark.parametrize("phi", [0.1, 0.2, 0.5])
def test_erratum_19_lemma_3_says_nothing_in_the_papers_setting(phi):
    assert lemma3_bound(100, 10, phi, 0.05) == pytest.approx(-9.0, abs=0.01)
    assert lemma3_bound(100, 10, phi, 0.05, printed=True) == pytest.approx(-9.0, abs=0.01)


def test_triangle_solid_angles_are_the_exterior_angles():
    right = [[0, 0], [1, 0], [0, 1]]  # interior angles π/2, π/4, π/4
    np.testing.assert_allclose(triangle_solid_angles(right), [1 / 4, 3 / 8, 3 / 8])
    # flat
    np.testing.assert_allclose(
        triangle_solid_angles([[0.0], [1.0], [0.25]]), [1 / 2, 1 / 2, 0], atol=1e-7
    )


@pytest.mark.parametrize("seed", range(3))
def test_sampled_solid_angles_of_triangles(seed):
    """Within 4 standard errors: false alarms 1 in 16,000 a corner."""
    points = np.random.default_rng(seed).normal(size=(3, 40))
    found = solid_angles(points, n_directions=50_000, seed=seed)
    assert np.all(np.abs(found.q - triangle_solid_angles(points)) < 4 * found.standard_error)


@pytest.mark.parametrize("K", [2, 4, 7])
def test_sampled_solid_angles_of_a_regular_simplex(K):
    """1/K each, by symmetry; within 4.5 standard errors, false alarms 1 in 150,000 a corner. An
    inner point gets nothing.
    """
    points = np.vstack([np.eye(K), np.full(K, 1 / K)])
    found = solid_angles(points, n_directions=40_000)
    assert np.all(np.abs(found.q[:K] - 1 / K) < 4.5 * math.sqrt(1 / K * (1 - 1 / K) / 40_000))
    assert found.q[K] == 0
    assert found.q.sum() == pytest.approx(1)


def test_solid_angles_of_few_points_are_exact():
    assert corner_solid_angles([[3.0, 1.0]]).q.tolist() == [1]
    assert corner_solid_angles([[3.0, 1.0], [0.0, 7.0]]).q.tolist() == [0.5, 0.5]
    triangle = [[0, 0], [1, 0], [0, 1]]
    np.testing.assert_array_equal(corner_solid_angles(triangle).q, triangle_solid_angles(triangle))
    square = np.eye(4)
    np.testing.assert_array_equal(
        corner_solid_angles(square, n_directions=999).q, solid_angles(square, n_directions=999).q
    )
    assert solid_angles([[3.0, 1.0]], n_directions=10).q.tolist() == [1]


def test_hull_coordinates_keep_distances_and_drop_dimensions():
    points = np.random.default_rng(0).normal(size=(4, 50))
    points = np.vstack([points, points.mean(axis=0)])
    coordinates = hull_coordinates(points)
    assert coordinates.shape == (5, 3)
    for i, j in itertools.combinations(range(5), 2):
        assert math.dist(coordinates[i], coordinates[j]) == pytest.approx(
            math.dist(points[i], points[j])
        )


def test_solid_angles_say_what_is_wrong():
    with pytest.raises(DataError, match=r"one point a row; got shape \(3,\)"):
        solid_angles([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="three corners; got 2 points"):
        triangle_solid_angles(np.eye(2))
    with pytest.raises(DataError, match="the same point"):
        triangle_solid_angles([[0, 0], [0, 0], [1, 0]])
    with pytest.raises(OptionError, match="n_directions is 0"):
        solid_angles(np.eye(3), n_directions=0)
