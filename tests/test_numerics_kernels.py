"""Small kernels of `numerics` against plain Python, enumeration or published numbers.

Statistical tests draw with fixed seeds; a χ² at 1e-6 is the bound, so that a right kernel would
fail for one of a million seeds.
"""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from mallowmix.numerics import clustered_error, insertion_gibbs, token_gibbs
from mallowmix.numerics.dirichlet import dirichlet_from_smallest
from mallowmix.numerics.randomness import splitmix

KEY = np.uint64(11)


def splitmix_twin(state):
    """splitmix64 with whole numbers of any size."""
    most = 2**64
    state = (state + 0x9E3779B97F4A7C15) % most
    x = state
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % most
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % most
    return state, x ^ (x >> 31)


def test_splitmix_has_the_published_numbers():
    state, found = 1234567, []
    for _ in range(5):
        state, x = splitmix_twin(state)
        found.append(x)
    assert found[:2] == [6457827717110365317, 3203168211198807973]


@given(st.integers(0, 2**64 - 1))
def test_splitmix_against_its_twin(state):
    new, u = splitmix(np.uint64(state))
    twin, x = splitmix_twin(state)
    assert (int(new), u) == (twin, (x >> 11) / 2**53)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.floats(0, 1, exclude_max=True))
def test_a_component_is_the_first_whose_running_sum_is_above(p, u):
    p = np.array(p)
    sums = np.cumsum(p)
    if np.abs(sums - u * sums[-1]).min() < 1e-9:  # a tie that rounding decides
        return
    wanted = int(np.searchsorted(sums, u * sums[-1], side="right"))
    assert token_gibbs.component_at(p, sums[-1], u) == wanted
    share = np.linspace(0.5, 2, len(p))
    assert token_gibbs.pick_component(p / share, share, u, np.empty(len(p))) == wanted
    assert insertion_gibbs.draw_component(np.log(p) - 2000.0, u) == wanted


def test_a_component_is_never_beyond_the_last():
    p = np.array([0.2, 0.3])
    assert token_gibbs.component_at(p, 0.6, 0.999) == 1  # a total that rounding made too large
    assert insertion_gibbs.draw_component(np.array([0.0, -np.inf]), 0.999) == 0


def test_rows_of_fractional_weight_are_tokens():
    weight, z, n = np.array([2.5, 1.0, 0.25]), np.array([0, 1, 1, 0, 1]), np.zeros(2)
    assert token_gibbs.token_count(weight) == 5
    token_gibbs.count_tokens(weight, 2.0, z, n)
    assert n.tolist() == [2 * (1 + 1), 2 * (1 + 0.5 + 0.25)]
    assert token_gibbs.longest_run(np.array([0, 2, 2, 7, 8])) == 5


def test_answers_are_counted_both_ways_and_cleared():
    net = np.zeros((3, 3))
    pair, weight = np.array([1, 3, 5, 1]), np.array([1.0, 0.5, 2.0, 1.0])
    insertion_gibbs.net_answers(pair, weight, 3, net)
    assert net.tolist() == [[0, 1.5, 0], [-1.5, 0, 2], [0, -2, 0]]
    insertion_gibbs.clear_answers(pair, 3, net)
    assert not net.any()


def swaps(first, second):
    pairs = combinations(range(len(first)), 2)
    return sum((first[i] < first[j]) != (second[i] < second[j]) for i, j in pairs)


def test_kendalls_distance_of_a_ranking_and_its_reference():
    for position in permutations(range(4)):
        reference = np.array([2, 0, 3, 1])
        order = np.argsort(position)
        found = insertion_gibbs.kendall_distance(np.array(position), reference, order)
        assert found == swaps(position, reference)


def posterior_of_rankings(reference, phi, log_odds, net):
    """The probability of every ranking (as positions), by enumeration."""
    weight = {}
    for position in permutations(range(len(reference))):
        agreed = sum(  # answers "i over j" less those "j over i", of each pair in this order
            net[i, j] * (position[i] < position[j]) for i, j in combinations(range(len(net)), 2)
        )
        weight[position] = phi ** swaps(position, reference) * math.exp(log_odds * agreed)
    total = sum(weight.values())
    return {position: each / total for position, each in weight.items()}


def test_weights_of_positions_are_those_of_all_places_of_an_item():
    reference, rest, phi, log_odds = np.array([1, 3, 0, 2]), np.array([3, 0, 1]), 0.3, 0.8
    net = np.zeros((4, 4))
    insertion_gibbs.net_answers(np.array([9, 2, 11]), np.array([1.0, 2.0, 1.0]), 4, net)
    by_product, by_log = np.empty(4), np.empty(4)
    assert insertion_gibbs._weigh(2, rest, reference, phi, log_odds, net, by_product)
    insertion_gibbs._weigh_by_logarithms(2, rest, reference, phi, log_odds, net, by_log)
    chances = posterior_of_rankings(reference, phi, log_odds, net)
    exact = []
    for place in range(4):
        order = rest.tolist()
        order.insert(place, 2)
        exact.append(chances[tuple(np.argsort(order).tolist())])
    np.testing.assert_allclose(by_product / by_product.sum(), np.array(exact) / sum(exact))
    np.testing.assert_allclose(by_log / by_log.sum(), np.array(exact) / sum(exact))
    far = 1000 * net  # products would leave the range of numbers
    assert not insertion_gibbs._weigh(2, rest, reference, phi, log_odds, far, by_product)
    insertion_gibbs._weigh_by_logarithms(2, rest, reference, phi, log_odds, far, by_log)
    assert np.isfinite(by_log).all()
    assert by_log.max() == 1


def test_a_sweep_draws_rankings_from_their_posterior():
    reference, phi, log_odds, n = np.array([1, 0, 2]), 0.5, 0.7, 20_000
    net = np.zeros((3, 3))
    insertion_gibbs.net_answers(np.array([2, 5]), np.array([1.0, 1.0]), 3, net)
    chances = posterior_of_rankings(reference, phi, log_odds, net)
    order, position, above = np.arange(3), np.arange(3), np.zeros((3, 3))
    counts, scratch = dict.fromkeys(chances, 0), np.zeros((3, 3))
    for step in range(2 * n):  # every other one: neighbours in the chain depend on each other
        part = above if step % 2 == 0 else scratch
        insertion_gibbs.sweep(
            order, position, reference, math.log(phi), log_odds, net, part, KEY, 1, step, 0
        )
        if step % 2 == 0:
            counts[tuple(position.tolist())] += 1
    expected = n * np.array(list(chances.values()))
    statistic = np.sum((np.array(list(counts.values())) - expected) ** 2 / expected)
    assert statistic < chi2.ppf(1 - 1e-6, len(expected) - 1)
    for i, j in permutations(range(3), 2):
        exact = sum(p for position, p in chances.items() if position[i] < position[j])
        assert above[i, j] / n == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(n))


def test_the_error_of_a_ratio_over_users():
    total, n = np.array([2.0, 5.0, 0.0, 9.0]), np.array([4.0, 6.0, 0.0, 10.0])
    ratio, error = clustered_error.clustered_ratio(total, n)
    assert ratio == pytest.approx(16 / 20)
    squares = (2 - 3.2) ** 2 + (5 - 4.8) ** 2 + (9 - 8) ** 2  # users with n = 0 do not count
    assert error == pytest.approx(math.sqrt(squares * 3 / 2) / 20)
    assert clustered_error.clustered_ratio(total[:1], n[:1]) == (0.5, math.inf)
    ratio, error = clustered_error.clustered_ratio(total[2:3], n[2:3])
    assert math.isnan(ratio)
    assert error == math.inf


@pytest.mark.parametrize("alpha", [[0.2, 0.7, 1.5], [3.0, 0.4], [5.0, 5.0]])
def test_alpha_by_the_smallest_share_alone(alpha):
    """From E θ_k and E θ_k² of a Dirichlet distribution, written out."""
    alpha = np.array(alpha)
    total = alpha.sum()
    R = np.diag(alpha * (alpha + 1)) / (total * (total + 1))
    np.testing.assert_allclose(dirichlet_from_smallest(alpha / total, R), alpha)
