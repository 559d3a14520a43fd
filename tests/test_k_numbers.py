"""Which numbers of components are tried: every peak is found, and no edge is taken for one."""

import itertools
import math

import numpy as np
import pytest

from mallowmix.fitting.k_numbers import far_enough, halfway, numbers_to_try, search_numbers


def searched(scores, slack=0.0):
    """The numbers tried, in turn, and the one chosen: the smallest within `slack` of the best.

    k has the score ``scores[k - 1]``.
    """
    tried = []

    def best():
        return max(tried, key=lambda k: scores[k - 1])

    def chosen():
        return min(k for k in tried if scores[k - 1] >= scores[best() - 1] - slack)

    search_numbers(tried.append, best, chosen, len(scores))
    assert len(set(tried)) == len(tried) and min(tried) >= 1 and max(tried) <= len(scores)
    return tried, chosen()


def test_the_numbers_are_the_first_few_fibonaccis_and_the_largest():
    assert list(numbers_to_try(34)) == [1, 2, 3, 4, 5, 8, 13, 21, 34]
    assert list(numbers_to_try(40)) == [1, 2, 3, 4, 5, 8, 13, 21, 34, 40]
    assert list(numbers_to_try(4)) == [1, 2, 3, 4] and list(numbers_to_try(5)) == [1, 2, 3, 4, 5]
    assert list(numbers_to_try(1)) == [1] and list(numbers_to_try(2)) == [1, 2]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 7, 13, 40])
def test_every_peak_of_scores_that_rise_and_fall_is_found(most):
    """Against the largest of all scores; steps are of random sizes."""
    random = np.random.default_rng(most)
    for peak in range(1, most + 1):
        for _ in range(20):
            steps = random.exponential(size=most)
            scores = [-steps[min(peak, k) : max(peak, k)].sum() for k in range(1, most + 1)]
            tried, chosen = searched(scores)
            assert chosen == 1 + np.argmax(scores) == peak
            assert {peak - 1, peak, peak + 1} & set(range(1, most + 1)) <= set(tried)
            assert len(tried) <= 8 + 3 * math.log2(max(peak, 2))


def test_a_peak_at_the_edge_of_those_tried_is_looked_beyond():
    """A dip at 2 hides nothing, nor does one beside a larger number."""
    assert searched([0.0, -1.0, 5.0, 4.0, 3.0, 2.0])[1] == 3
    rising, _ = searched(list(range(40)))
    assert rising[:10] == [1, 2, 3, 4, 5, 8, 13, 21, 34, 40] and 39 in rising
    assert not far_enough([1, 2], 1) and far_enough([1, 2, 3], 1)
    assert not far_enough([1, 2, 3], 2) and far_enough([1, 2, 3, 5], 2)
    assert not far_enough([1, 2, 3, 5, 8], 8) and far_enough([1, 2, 3, 5, 8, 13], 8)


def test_four_components_are_found_where_three_and_five_are_no_better_than_two():
    """Scores as they came out for rankings around four references."""
    assert searched([-0.617, -0.572, -0.5724, -0.565, -0.5725, -0.575, -0.577, -0.58])[1] == 4


def test_gaps_beside_the_best_are_halved_the_lower_first():
    assert halfway([1, 2, 3, 5, 8, 13], 8) == 6
    assert halfway([1, 2, 3, 5, 6, 8, 13], 8) == 7
    assert halfway([1, 2, 3, 5, 6, 7, 8, 13], 8) == 10
    assert halfway([1, 2, 3], 2) is None and halfway([1], 1) is None
    assert halfway([1, 5], 5) == 3  # the largest number has a gap on one side alone


@pytest.mark.parametrize(
    ("peak", "slack"), list(itertools.product((4, 9, 16, 30), (0.5, 1.5, 3.0)))
)
def test_both_neighbours_of_the_number_to_choose_are_tried(peak, slack):
    """It may be another than the best: the smallest that is nearly as good."""
    tried, chosen = searched([-abs(k - peak) for k in range(1, 31)], slack)
    assert {max(chosen - 1, 1), chosen, min(chosen + 1, 30)} <= set(tried)
    assert chosen <= peak
