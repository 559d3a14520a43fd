"""The most telling question: against direct enumeration of I(answer; θ), and what must never be
asked.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

import mallowmix as mm
from benchmarks.questions import Person, Setting, one_phi, planted, questions_needed
from mallowmix.errors import DataError, OptionError
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel

TWO = mm.M4([[0, 1, 2, 3, 4, 5], [5, 2, 4, 1, 3, 0]], [0.3, 0.4], [0.7, 0.4], list("abcdef"))
NOBODY = mm.Comparisons.from_codes([], [], [], None, list("abcdef"), ["someone"])


def grid_posterior(model, comparisons, n=2000):
    """K = 2: points θ_1 of equal prior mass and their posterior mass."""
    t = beta_distribution.ppf((np.arange(n) + 0.5) / n, *model.alpha)
    first, second = model.beta()[:, comparisons.winner, comparisons.loser]
    mass = np.exp(np.log(np.outer(t, first) + np.outer(1 - t, second)) @ comparisons.weight)
    return t, mass / mass.sum()


def direct_information(model, t, mass, i, j):
    """Σ over θ and both answers of p(θ, answer) log p(answer | θ) / p(answer), term by term."""
    p = t * model.beta()[0, i, j] + (1 - t) * model.beta()[1, i, j]
    total = 0.0
    for answer in (p, 1 - p):
        marginal = mass @ answer
        total += np.sum(mass * answer * np.log(answer / marginal))
    return total, mass @ p


@pytest.mark.parametrize("n", [0, 1, 6])
def test_information_against_enumeration(n):
    """Every open pair's information with 20,000 draws; the mean of S draws errs by about 1/√S of
    what is there.
    """
    comparisons = TWO.sample(1, n, seed=4).comparisons if n else NOBODY
    t, mass = grid_posterior(TWO, comparisons)
    found = mm.next_pair(TWO, comparisons, n_best=99, n_draws=20_000)
    answered = {
        frozenset(pair)
        for pair in zip(comparisons.winner.tolist(), comparisons.loser.tolist(), strict=True)
    }
    assert {frozenset(map("abcdef".index, (q.first, q.second))) for q in found} == {
        frozenset(pair) for pair in combinations(range(6), 2)
    } - answered
    for question in found:
        exact, chance = direct_information(
            TWO, t, mass, "abcdef".index(question.first), "abcdef".index(question.second)
        )
        assert question.information == pytest.approx(exact, rel=0.06, abs=2e-4)
        assert question.probability == pytest.approx(chance, abs=0.02)
    told = [question.information for question in found]
    assert told == sorted(told, reverse=True) and told[-1] >= 0 and told[0] <= np.log(2)


@pytest.mark.slow
def test_the_question_that_tells_two_tastes_apart():
    """Opposite tastes but for one pair: with φ = 0 all that both agree on tells nothing, the others
    a whole bit of a vertex.
    """
    model = mm.M4.from_orders(["abcd", "badc"], phi=0.0)
    sure = FittedModel(model, calibration=Calibration(vertex_share=1.0))
    nobody = mm.Comparisons.from_codes([], [], [], None, list("abcd"), ["u"])
    first, second, *others = mm.next_pair(sure, nobody, n_best=6, n_draws=4000)
    assert {(first.first, first.second), (second.first, second.second)} == {("a", "b"), ("c", "d")}
    assert first.information == pytest.approx(np.log(2), abs=0.01)
    assert max(q.information for q in others) < 1e-6


def test_never_one_already_answered():
    """Asked on and on, every pair comes once, whoever won; then there is nothing left."""
    told, seen = [], []
    for _ in range(15):
        comparisons = mm.Comparisons.from_codes(
            np.zeros(len(told), int),
            *(np.array(told, int).reshape(-1, 2).T),
            None,
            list("abcdef"),
            ["u"],
        )
        (question,) = mm.next_pair(TWO, comparisons, n_draws=20)
        i, j = "abcdef".index(question.first), "abcdef".index(question.second)
        told.append((j, i))
        seen.append(frozenset((i, j)))
    assert len(set(seen)) == 15
    all_told = mm.Comparisons.from_codes(
        np.zeros(15, int), *np.array(told).T, None, list("abcdef"), ["u"]
    )
    assert mm.next_pair(TWO, all_told) == []


def test_pairs_passed_over_are_not_asked():
    best, second = mm.next_pair(TWO, NOBODY, n_best=2)
    for answered in (
        [(best.first, best.second)],
        ((best.second, best.first),),
        iter([(best.first, best.second)]),
    ):
        assert mm.next_pair(TWO, NOBODY, answered=answered)[0] == second
    with pytest.raises(DataError, match="The model has no item 'x'; it has 6 others"):
        mm.next_pair(TWO, NOBODY, answered=[("a", "x")])


def test_relabelling():
    """Names that keep their order change nothing but names; turned around, the same questions come
    with the same worth.
    """
    comparisons = TWO.sample(1, 5, seed=2).comparisons
    upper = mm.M4(TWO.sigma, TWO.phi, TWO.alpha, list("ABCDEF"))
    renamed = replace(comparisons, items=np.array(list("ABCDEF"), object))
    plain = mm.next_pair(TWO, comparisons, n_best=3)
    for one, other in zip(plain, mm.next_pair(upper, renamed, n_best=3), strict=True):
        assert (one.first.upper(), one.second.upper(), one.information) == (
            other.first,
            other.second,
            other.information,
        )
    # the same model, items held in another order
    turned = mm.M4(TWO.sigma[:, ::-1], TWO.phi, TWO.alpha, list("fedcba"))
    exact, again = (mm.next_pair(m, comparisons, n_best=15, n_draws=20_000) for m in (TWO, turned))
    worth = {frozenset((q.first, q.second)): q.information for q in again}
    for question in exact:
        assert worth[frozenset((question.first, question.second))] == pytest.approx(
            question.information, rel=0.1, abs=3e-4
        )


def test_the_same_question_each_time_and_for_weights_as_repeats():
    once = mm.Comparisons.from_arrays(["u", "u"], ["a", "c"], ["b", "d"], [2, 1])
    twice = mm.Comparisons.from_arrays(["u"] * 3, ["c", "a", "a"], ["d", "b", "b"])
    assert mm.next_pair(TWO, once, n_best=4) == mm.next_pair(TWO, twice, n_best=4)
    assert mm.next_pair(TWO, once, n_best=4, seed=1) != mm.next_pair(TWO, once, n_best=4)


def test_unknown_items_and_small_models():
    votes = mm.Comparisons.from_arrays(["u", "u"], ["a", "x"], ["b", "a"])
    with pytest.raises(DataError, match="1 of the 3 items is unknown: 'x'"):
        mm.next_pair(TWO, votes)
    known = mm.Comparisons.from_arrays(["u"], ["a"], ["b"])
    assert mm.next_pair(TWO, votes, unknown_items="drop") == mm.next_pair(TWO, known)
    one = mm.M4([[0, 1]], [0.2], [0.5], "ab")
    (question,) = mm.next_pair(
        one, mm.Comparisons.from_codes([], [], [], None, "ab", ["u"]), n_best=5
    )
    assert (question.first, question.second) == (
        "a",
        "b",
    ) and question.information == pytest.approx(0, abs=1e-12)
    assert question.probability == pytest.approx(1 / 1.2)
    assert mm.next_pair(one, mm.Comparisons.from_arrays(["u"], ["b"], ["a"])) == []


def test_messages():
    with pytest.raises(
        DataError,
        match=r"The next pair is for one user; these are comparisons of 2\. Take one with "
        r"\.of\(user\)",
    ):
        mm.next_pair(TWO, TWO.sample(2, 3).comparisons)
    with pytest.raises(OptionError, match="n_best is 0; it must be at least 1"):
        mm.next_pair(TWO, NOBODY, n_best=0)


# ---- adaptive against random questions ----


@pytest.mark.slow
def test_adaptive_questions_save_questions():
    """A small twin of the benchmark: 16 people, 12 items, φ = .5. Half of 16 questions would do;
    three quarters are allowed.
    """
    setting = Setting(n_items=12, n_components=3, people=16, models=2, questions=16, reference=16)
    row = one_phi(setting, 0.5)
    assert row["ratio"] <= 0.75 and len(row["random"]) == len(row["adaptive"]) == 17
    assert row["random"][0] == row["adaptive"][0] > row["random"][16]


def test_people_answer_the_same_pair_the_same_way():
    setting = Setting(n_items=8, n_components=2)
    person = Person(planted(setting, 0.5, 0), setting, 3)
    assert person.answer(2, 5) == person.answer(5, 2)
    assert sorted(map(tuple, person.shuffled.tolist())) == list(combinations(range(8), 2))
    wins = np.mean([Person(person.model, setting, m).answer(2, 5) == (2, 5) for m in range(400)])
    chance = np.mean(
        [Person(person.model, setting, m).theta @ person.model.beta()[:, 2, 5] for m in range(400)]
    )
    assert abs(wins - chance) < 0.125  # five standard deviations at most


def test_questions_needed_by_hand():
    random = np.array([[1.0, 0.9, 0.8, 0.6], [1.0, 0.7, 0.6, 0.4]])  # its mean after three is .5
    adaptive = np.array([[1.0, 0.8, 0.4, 0.2]])
    assert questions_needed(random, adaptive, 3) == pytest.approx(1.75)  # between .8 and .4
    assert questions_needed(random, np.array([[0.4, 0.3]]), 3) == 0
    assert questions_needed(random, np.array([[1.0, 0.9]]), 3) == np.inf
