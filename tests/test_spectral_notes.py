"""What a fit says when the data and the question do not go together."""

import pytest

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, FitWarning
from mallowmix.fitting.fit import fit
from planted import planted

TRUTH = planted(30, 4, phi=0.1, alpha=0.1, seed=0)
VOTES = TRUTH.sample(800, 100, seed=0).comparisons


def notes_of(comparisons, K):
    return fit(comparisons, K, predictor=False).report.notes


@pytest.mark.slow
def test_the_right_number_of_components_gives_no_note():
    assert notes_of(VOTES, 4) == ()


@pytest.mark.slow
def test_too_many_components_are_said_to_be_guesses():
    with pytest.warns(
        FitWarning,
        match="The spectrum shows only 4 of the 6 components above its noise: the others may be "
        "guesses",
    ):
        notes_of(VOTES, 6)


@pytest.mark.slow
def test_too_few_components_are_said_to_be_too_few():
    with pytest.warns(
        FitWarning, match="The spectrum shows at least 4 components; 3 were asked for"
    ):
        notes_of(VOTES, 3)


@pytest.mark.slow
def test_rankings_that_halves_of_the_people_dispute_are_named():
    few = TRUTH.sample(150, 8, seed=0).comparisons
    with pytest.warns(
        FitWarning,
        match=r"does not pin down components? [\dand, ]+: two halves of the people put \d+% of all "
        r"pairs in different",
    ):
        notes_of(few, 4)


def test_nobody_left_to_learn_from_says_so():
    votes = Comparisons.from_arrays(
        ["u", "v"], ["a", "b"], ["b", "a"], user_weight={"u": 0, "v": 0}
    )
    with pytest.raises(
        DataError, match="user_weight is 0 for all users: nobody is left to learn from"
    ):
        fit(votes, 1, predictor=False)


def test_people_without_weight_do_not_count_as_people():
    votes = Comparisons.from_arrays(
        ["u", "v", "v"], ["a", "b", "c"], ["b", "a", "a"], user_weight={"u": 0, "v": 1}
    )
    with pytest.raises(DataError, match="2 components cannot be distinguished by 1 users"):
        fit(votes, 2, predictor=False)


def test_weights_that_are_no_counts_any_more_are_refused():
    votes = Comparisons.from_arrays(["u", "v"], ["a", "b"], ["b", "a"], [2.0**53, 1.0])
    with pytest.raises(
        DataError,
        match=r"weights add up to 9.01e[+]15 comparisons, of which at most 1e[+]10 can be "
        r"learnt from",
    ):
        fit(votes, 1, predictor=False)
