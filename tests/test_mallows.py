"""One Mallows component against the sum over all rankings, and the paper's appendix against exact
fractions.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oracles
from mallowmix.errors import DataError, OptionError
from mallowmix.model.dispersion import fit_phi, phi_from_distance
from mallowmix.model.mallows import (
    MAX_PHI,
    beta_matrix,
    check_phi,
    expected_distance,
    gap_probabilities,
    log_gap_probabilities,
    log_pmf,
    log_z,
    pmf,
    sample_orders,
)
from mallowmix.model.mallows_likelihood import fit_rankings
from strategies import NEAR_ONE, dispersions, inner_dispersions, rankings

THIRD = Fraction(1, 3)
FRACTIONS = [Fraction(0), Fraction(1, 10), THIRD, Fraction(4, 5), Fraction(999, 1000)]


def h(m: int, phi: Fraction) -> Fraction:
    """1 + φ + … + φ^{m−1}."""
    return sum((phi**power for power in range(m)), Fraction(0))


class TestAgainstAllRankings:
    @given(rankings(), dispersions)
    @example((3, 1, 0, 2), 0.0)
    @example((3, 1, 0, 2), NEAR_ONE)
    def test_beta(self, sigma, phi):
        off_diagonal = ~np.eye(len(sigma), dtype=bool)
        np.testing.assert_allclose(
            beta_matrix(sigma, phi)[off_diagonal],
            np.array(oracles.beta(sigma, phi), float)[off_diagonal],
            rtol=1e-12,
            atol=1e-300,
        )

    @given(rankings(), dispersions)
    def test_beta_and_its_transpose_sum_to_one(self, sigma, phi):
        beta = beta_matrix(sigma, phi)
        np.testing.assert_allclose(beta + beta.T, 1, rtol=1e-15)
        np.testing.assert_array_equal(np.diag(beta), 0.5)

    @given(st.integers(1, 6), dispersions)
    def test_log_z(self, n_items, phi):
        assert log_z(n_items, phi) == pytest.approx(
            math.log(oracles.normaliser(n_items, phi)), rel=1e-12, abs=1e-14
        )

    @given(st.integers(1, 6), dispersions)
    def test_expected_distance(self, n_items, phi):
        assert expected_distance(n_items, phi) == pytest.approx(
            oracles.expected_distance(n_items, phi), rel=1e-12, abs=1e-300
        )

    @given(rankings(most=5), dispersions)
    def test_pmf(self, sigma, phi):
        expected = oracles.mallows_pmf(sigma, phi)
        assert [pmf(other, sigma, phi) for other in expected] == pytest.approx(
            list(expected.values()), rel=1e-12
        )

    def test_phi_one_is_the_uniform_distribution(self):
        assert np.all(beta_matrix([2, 0, 1], 1.0) == 0.5)
        assert log_pmf([2, 0, 1], [0, 1, 2], 1.0) == pytest.approx(-math.log(6))

    def test_phi_zero_forbids_every_other_ranking(self):
        assert log_pmf([0, 1], [0, 1], 0.0) == 0.0
        assert log_pmf([1, 0], [0, 1], 0.0) == -math.inf


class TestBetaByGap:
    """E15: β depends on the gap alone, whatever stands before, between and after."""

    @pytest.mark.parametrize("phi", FRACTIONS)
    def test_only_the_gap_matters(self, phi):
        table = oracles.beta(tuple(range(6)), phi)
        win = gap_probabilities(6, float(phi)).win
        for gap in range(1, 6):
            by_gap = {table[i][i + gap] for i in range(6 - gap)}
            assert len(by_gap) == 1, "fractions: equal means equal"
            assert win[gap] == pytest.approx(float(by_gap.pop()), rel=1e-14)

    @pytest.mark.parametrize("phi", FRACTIONS[1:])
    def test_a_second_closed_form_agrees_with_enumeration(self, phi):
        """(g+1)/(1−φ^{g+1}) − g/(1−φ^g): exact in fractions, the oracle for gaps beyond
        enumeration.
        """
        assert [second_form(gap, phi) for gap in range(1, 5)] == oracles.beta(tuple(range(5)), phi)[
            0
        ][1:]

    @pytest.mark.parametrize("phi", [1e-30, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-9])
    def test_the_complement_keeps_its_digits_where_it_is_small(self, phi):
        lose = gap_probabilities(11, phi).lose
        exact = [float(1 - second_form(gap, Fraction(phi))) for gap in range(1, 11)]
        np.testing.assert_allclose(lose[1:], exact, rtol=1e-13)
        assert exact[-1] < 1e-8 or phi > 0.1, (
            "small where φ is: 1 - win would have lost all its digits"
        )

    @pytest.mark.parametrize("phi", [1e-9, 0.1, 0.9])
    def test_logarithms(self, phi):
        log_win, log_lose = log_gap_probabilities(31, phi)
        win, lose = gap_probabilities(31, phi)
        np.testing.assert_allclose(log_win, np.log(win), rtol=1e-12)
        np.testing.assert_allclose(log_lose, np.log(lose), rtol=1e-12)

    def test_logarithms_where_the_probability_underflows(self):
        assert gap_probabilities(61, 1e-9).lose[60] == 0.0
        # φ^g Σ_{l<g}(g−l)φ^l / (S_g S_{g+1}) → g φ^g as φ → 0
        assert log_gap_probabilities(61, 1e-9).lose[60] == pytest.approx(
            60 * math.log(1e-9) + math.log(60), rel=1e-9
        )

    def test_one_item_has_no_gap(self):
        assert (
            gap_probabilities(1, 0.3).win.tolist()
            == gap_probabilities(1, 0.3).lose.tolist()
            == [0.5]
        )

    def test_figure_caption_value(self):
        """E16: φ = .1 gives .0172 for three places (L = 3), .0909 for two."""
        lose = gap_probabilities(3, 0.1).lose
        assert lose.round(4).tolist() == [0.5, 0.0909, 0.0172]


def second_form(gap: int, phi: Fraction) -> Fraction:
    return (gap + 1) / (1 - phi ** (gap + 1)) - gap / (1 - phi**gap)


class TestProposition1:
    @given(rankings(least=2), st.floats(0, 0.999))
    def test_proposition_1b_beta_tells_who_is_placed_higher(self, sigma, phi):
        beta, truth = beta_matrix(sigma, phi), np.array(oracles.beta(sigma, phi))
        for i, j in oracles.outcomes(len(sigma)):
            assert (beta[i, j] > 0.5) == (truth[i, j] > 0.5) == (sigma[i] < sigma[j])
            assert (beta[i, j] < 0.5) == (sigma[i] > sigma[j])

    @given(rankings(least=2), st.floats(0, 0.999))
    def test_proposition_1c_neighbours_give_phi(self, sigma, phi):
        order = np.argsort(sigma)
        neighbours = beta_matrix(sigma, phi)[order[:-1], order[1:]]
        np.testing.assert_allclose(1 / neighbours, 1 + phi, rtol=1e-14)
        exact = oracles.beta(tuple(sigma), Fraction(2, 7))
        assert {1 / exact[i][j] for i, j in pairwise(order)} == {Fraction(9, 7)}


class TestProposition3:
    @given(rankings(least=2), inner_dispersions)
    def test_proposition_3_bound(self, sigma, phi):
        """β_(i,j) ≤ Lφ^{L−1} / (1 + Lφ^{L−1}) for L = σ(i) − σ(j) + 1, σ(i) > σ(j) (E10: the main
        text's form).
        """
        beta = beta_matrix(sigma, phi)
        for i, j in oracles.outcomes(len(sigma)):
            if sigma[i] > sigma[j]:
                L = sigma[i] - sigma[j] + 1
                assert beta[i, j] <= L * phi ** (L - 1) / (1 + L * phi ** (L - 1))

    @pytest.mark.parametrize("phi", [Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)])
    def test_e10_the_sharper_bound_by_enumeration(self, phi):
        """The ratio β(j,i)/β(i,j) is at most d φ^d for a gap d, with equality for neighbours."""
        table = oracles.beta(tuple(range(6)), phi)
        ratios = [table[d][0] / table[0][d] for d in range(1, 6)]
        assert ratios[0] == phi
        assert all(ratio < d * phi**d for d, ratio in enumerate(ratios[1:], 2))


class TestAppendix:
    """The derivation of β in the appendix, with its misprints mended, in exact fractions."""

    @pytest.mark.parametrize("phi", FRACTIONS)
    def test_e11_repeated_insertion_is_mallows(self, phi):
        reference = (2, 0, 3, 1)
        assert oracles.insertion_probabilities(reference, phi) == oracles.mallows_pmf(
            reference, phi
        )

    def test_e11_the_printed_denominator_does_not_normalise(self):
        """φ^{i−l} / (1 + φ^l + … + φ^{i−1}), l = 1 … i, is 1.29 in all at i = 2, φ = .4, not 1."""
        phi, i = Fraction(2, 5), 2
        printed = sum(
            phi ** (i - place) / (1 + sum((phi**p for p in range(place, i)), Fraction(0)))
            for place in range(1, i + 1)
        )
        assert float(printed) == pytest.approx(1.2857, abs=1e-4)

    @pytest.mark.parametrize("phi", FRACTIONS)
    def test_e12_where_the_first_item_is_after_s_insertions(self, phi):
        """q_{r,s} = φ^{r−1} / h(s): from the rankings themselves, and by the induction with its two
        slips mended.
        """
        for s in range(1, 5):
            table = oracles.mallows_pmf(tuple(range(s)), phi)
            q = [sum(p for sigma, p in table.items() if sigma[0] == r - 1) for r in range(1, s + 1)]
            assert q == [phi ** (r - 1) / h(s, phi) for r in range(1, s + 1)]
            for r in range(2, s + 1):
                after = h(s - r + 1, phi) / h(s + 1, phi)  # Pr(j_{s+1} > r)
                # Pr(j_{s+1} < r)
                before = sum(phi**p for p in range(s - r + 2, s + 1)) / h(s + 1, phi)
                assert q[r - 1] * after + q[r - 2] * before == phi ** (r - 1) / h(s + 1, phi)

    @pytest.mark.parametrize("phi", FRACTIONS[1:])
    def test_e13_e14_first_against_jth(self, phi):
        table, package = oracles.beta(tuple(range(6)), phi), beta_matrix(range(6), float(phi))
        for j in range(2, 7):
            scale = (1 - phi) ** 2 * h(j - 1, phi) * h(j, phi)
            first = (1 - j * phi ** (j - 1) + (j - 1) * phi**j) / scale  # E13: as printed
            last = phi ** (j - 1) * (j - 1 - j * phi + phi**j) / scale  # E14: φ^{j−1} multiplies
            assert (table[0][j - 1], table[j - 1][0]) == (first, last)
            assert (package[0, j - 1], package[j - 1, 0]) == (
                pytest.approx(float(first)),
                pytest.approx(float(last)),
            )
            assert first + last == 1


class TestSampling:
    """Chi-square tests at ε = 1e-4 each: for a seed chosen blindly, one in ten thousand would fail
    by chance.
    """

    @pytest.mark.slow
    @pytest.mark.parametrize("phi", [0.0, 0.2, 0.7, 1.0])
    def test_frequencies(self, phi):
        reference = (1, 3, 0, 2)  # positions of items 0 … 3
        drawn = Counter(
            map(tuple, sample_orders(np.argsort(reference), phi, 20_000, seed=5).tolist())
        )
        expected = {
            tuple(np.argsort(sigma).tolist()): p
            for sigma, p in oracles.mallows_pmf(reference, phi).items()
        }
        assert set(drawn) <= set(expected)
        if phi == 0:
            assert set(drawn) == {(2, 0, 3, 1)}
        else:
            assert (
                oracles.chi_square_p([drawn[order] for order in expected], list(expected.values()))
                > 1e-4
            )

    def test_mean_distance_for_many_items(self):
        """40 items, 4000 draws: the mean within five standard errors of its expectation (false
        alarms: 6e-7).
        """
        orders = sample_orders(range(40), 0.6, 4000, seed=1)
        distances = [np.count_nonzero(np.triu(order[:, None] > order[None, :])) for order in orders]
        standard_error = np.std(distances) / math.sqrt(len(distances))
        assert abs(np.mean(distances) - expected_distance(40, 0.6)) < 5 * standard_error

    def test_seeds_and_sizes(self):
        draw = sample_orders(range(7), 0.8, 50, seed=3)
        np.testing.assert_array_equal(draw, sample_orders(range(7), 0.8, 50, seed=3))
        np.testing.assert_array_equal(draw[:20], sample_orders(range(7), 0.8, 20, seed=3))
        assert not np.array_equal(draw, sample_orders(range(7), 0.8, 50, seed=4))
        assert sample_orders(range(7), 0.8, 0).shape == (0, 7)
        assert sample_orders([0], 0.8, 2).tolist() == [[0], [0]]


class TestMaximumLikelihoodOfPhi:
    @given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=4))
    def test_no_phi_on_a_fine_grid_is_better(self, counts):
        wins, losses = [0.0, *(float(w) for w, _ in counts)], [0.0, *(float(v) for _, v in counts)]
        found = fit_phi(wins, losses)
        best = max(gap_likelihood(wins, losses, phi) for phi in np.linspace(0, MAX_PHI, 200))
        assert 0 <= found <= MAX_PHI
        assert gap_likelihood(wins, losses, found) >= best - 1e-9 * abs(best) - 1e-9

    def test_neighbours_alone_have_a_closed_form(self):
        """β(1) = 1/(1+φ), so φ̂ = losses / wins; also where it is tiny."""
        assert fit_phi([0, 80], [0, 20]) == pytest.approx(0.25, abs=1e-7)
        assert fit_phi([0, 1e9], [0, 1]) == pytest.approx(1e-9, rel=1e-4)

    def test_exact_probabilities_give_phi_back(self):
        for phi in (1e-4, 0.1, 0.5, 0.95):
            assert fit_phi(*gap_probabilities(20, phi)) == pytest.approx(phi, rel=1e-5)

    def test_edges(self):
        assert fit_phi([0, 5, 5], [0, 0, 0]) == 0.0
        assert fit_phi([0, 0, 0], [0, 0, 0]) == MAX_PHI  # nothing seen
        assert fit_phi([0, 0, 0], [0, 5, 5]) == MAX_PHI  # always against the order
        assert fit_phi([9, 5], [9, 5]) == MAX_PHI  # gap 0 says nothing

    @given(st.integers(2, 6), st.floats(0, 0.999))
    def test_phi_from_distance_inverts_the_enumerated_distance(self, n_items, phi):
        distance = oracles.expected_distance(n_items, phi)
        assert phi_from_distance(n_items, distance) == pytest.approx(phi, rel=1e-9, abs=1e-12)

    def test_phi_from_distance_beyond_chance(self):
        assert phi_from_distance(5, 10.0) == MAX_PHI
        assert phi_from_distance(5, 0.0) == 0.0


@cache
def enumerated_beta(n_items: int, phi: float) -> list[list[float]]:
    return oracles.beta(tuple(range(n_items)), phi)


def gap_likelihood(wins, losses, phi: float) -> float:
    """Σ counts · log β from the enumerated β, 0 log 0 = 0."""
    table = enumerated_beta(len(wins), float(phi))
    terms = [(wins[g], table[0][g]) for g in range(1, len(wins))] + [
        (losses[g], table[g][0]) for g in range(1, len(wins))
    ]
    return math.fsum(count * math.log(p) if p else -math.inf for count, p in terms if count)


class TestMaximumLikelihoodFromRankings:
    @given(st.lists(st.permutations(range(4)), min_size=1, max_size=6))
    def test_no_sigma_and_phi_are_better(self, orders):
        sigmas = [tuple(order.index(item) for item in range(4)) for order in orders]
        found = fit_rankings(orders)
        assert (
            likelihood(sigmas, tuple(found.sigma.tolist()), found.phi)
            >= best_likelihood(sigmas) - 1e-9
        )

    def test_a_planted_component_comes_back(self):
        """1000 rankings of 12 items at φ = .4: the chance that they do not name the order is below
        1e-6.
        """
        reference = np.random.default_rng(0).permutation(12)
        found = fit_rankings(sample_orders(reference, 0.4, 1000, seed=2))
        np.testing.assert_array_equal(np.argsort(found.sigma), reference)
        assert found.phi == pytest.approx(0.4, abs=0.03)

    def test_one_ranking_is_its_own_reference(self):
        found = fit_rankings([2, 0, 1])
        assert (found.sigma.tolist(), found.phi) == ([1, 2, 0], 0.0)


def likelihood(sigmas, reference, phi: float) -> float:
    table = oracles.mallows_pmf(reference, float(phi))
    return math.fsum(math.log(table[sigma]) if table[sigma] else -math.inf for sigma in sigmas)


def best_likelihood(sigmas) -> float:
    """Over all references and a grid of φ, by distances: log-likelihood falls with the distance for
    every φ < 1.
    """
    distance = min(
        sum(oracles.kendall_distance(sigma, r) for sigma in sigmas) for r in oracles.all_rankings(4)
    )
    grid = [0.0, *np.linspace(0.01, 0.99, 99).tolist(), MAX_PHI]
    return max(
        (distance * math.log(phi) if distance else 0.0)
        - len(sigmas) * math.log(oracles.normaliser(4, phi))
        for phi in grid
        if phi or not distance
    )


class TestMessages:
    @pytest.mark.parametrize("phi", [-0.1, 1.5, float("nan"), np.float64(2.0)])
    def test_phi_out_of_range(self, phi):
        with pytest.raises(OptionError, match=rf"^phi is {phi}; it must be between 0"):
            check_phi(phi)
        for call in (gap_probabilities, log_z, expected_distance):
            with pytest.raises(OptionError, match="it must be between 0"):
                call(4, phi)
        with pytest.raises(OptionError, match="it must be between 0"):
            log_pmf([1, 0], [0, 1], phi)

    def test_sampling(self):
        with pytest.raises(DataError, match="reference must hold permutations of 0 … Q-1"):
            sample_orders([0, 2], 0.1, 3)
        with pytest.raises(
            DataError, match=r"reference must be one ranking; got the shape \(2, 2\)"
        ):
            sample_orders([[0, 1], [1, 0]], 0.1, 3)
        with pytest.raises(OptionError, match="size is -1; it must be at least 0"):
            sample_orders([0, 1], 0.1, -1)

    def test_rankings(self):
        for bad in ([], [[]], np.zeros((0, 3))):
            with pytest.raises(DataError, match="orders must hold permutations"):
                fit_rankings(bad)
        with pytest.raises(DataError, match="Two single rankings of the same items"):
            log_pmf([0, 1, 2], [0, 1], 0.2)
