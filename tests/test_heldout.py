"""Held-out likelihood: one door to three methods, which agree where they ask the same question."""

import math
from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import heldout_options_from
from mallowmix.infer.heldout.heldout_scores import Heldout
from mallowmix.infer.heldout.importance import importance
from mallowmix.infer.heldout.left_to_right import left_to_right
from oracles import log_marginal

TWO = mm.M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.4, 0.9])
PEOPLE = TWO.sample(30, 8, seed=3).comparisons
METHODS = ("left-to-right", "importance", "completion")


@pytest.mark.parametrize(
    ("method", "function"), list(zip(METHODS, (left_to_right, importance, completion), strict=True))
)
def test_each_method_is_its_function(method, function):
    found = mm.heldout(TWO, PEOPLE, method, seed=4)
    assert replace(found, scored_on=None) == function(TWO, PEOPLE, seed=4)
    asked = "comparisons" if method == "completion" else "all"
    assert (found.scored_on.people, found.scored_on.questions) == ("unknown", asked)
    assert isinstance(mm.heldout(TWO, PEOPLE, method), Heldout)


def test_the_method_is_left_to_right_unless_said():
    found = mm.heldout(TWO, PEOPLE)
    assert replace(found, scored_on=None) == left_to_right(TWO, PEOPLE)
    assert (
        mm.heldout(
            TWO, PEOPLE, mm.LeftToRightOptions(form="product-of-means", n_particles=64)
        ).details["form"]
        == "product-of-means"
    )


def test_both_likelihoods_agree_with_quadrature_within_their_stated_error():
    """Five Monte-Carlo errors and the bias of noise; fails by chance once in 10⁵."""
    exact = sum(log_marginal(TWO, PEOPLE, m) for m in range(30)) / PEOPLE.n_comparisons
    for method in METHODS[:2]:
        found = mm.heldout(TWO, PEOPLE, method)
        slack = 5 * found.details["monte_carlo_error"] + 1e-3
        assert slack < 0.01
        assert found.log_likelihood_per_comparison == pytest.approx(exact, abs=slack)


def test_each_users_own_score_has_a_label_and_is_a_table_of_the_callers_kind():
    """A user's likelihood does not depend on who else is there: sums of rows are the score."""
    pandas = pytest.importorskip("pandas")
    rows = PEOPLE.to_frame("pandas")
    nobody = "nobody" + rows["user"].astype(str)
    found = mm.heldout(TWO, rows.assign(user=nobody), "importance")
    frame = found.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert set(frame["user"]) == set(nobody)
    sums = frame[["log_likelihood", "n_comparisons"]].sum()
    assert sums["n_comparisons"] == PEOPLE.n_comparisons
    mean = sums["log_likelihood"] / sums["n_comparisons"]
    assert mean == pytest.approx(found.log_likelihood_per_comparison)
    third = frame.iloc[3]
    exact = log_marginal(TWO, PEOPLE, PEOPLE.users.tolist().index(third["user"][6:]))
    assert third["log_likelihood"] == pytest.approx(exact, abs=0.1)
    assert third["log_likelihood_per_comparison"] == pytest.approx(exact / 8, abs=0.02)
    assert f"{found.log_likelihood_per_comparison:.4f}" in found._repr_html_()


def test_a_user_of_whom_nothing_is_held_out_has_a_row_without_a_score():
    rows = [("ann", "a", "b"), *(("bob", "abcd"[i], "abcd"[i + 1]) for i in range(3))] * 2
    frame = mm.heldout(TWO, [*rows, ("one", "a", "b")], "completion").to_frame("pandas")
    one = frame.set_index("user").loc["one"]
    assert one["n_comparisons"] == 0 and np.isnan(one["log_likelihood_per_comparison"])
    assert frame.set_index("user").loc["bob", "log_likelihood"] < 0


def test_a_score_that_does_not_say_whose_it_is_is_no_table():
    with pytest.raises(DataError, match="does not say whose it is"):
        completion(TWO, PEOPLE).to_frame()


def test_the_standard_error_is_over_people():
    """σ̂ of a ratio of sums, from the exact likelihood of each person; what Monte-Carlo noise adds
    is a hundredth of it.
    """
    exact = np.array([log_marginal(TWO, PEOPLE, m) for m in range(30)])
    n = PEOPLE.per_user()
    mean = exact.sum() / n.sum()
    spread = (
        math.sqrt(sum((s - mean * k) ** 2 for s, k in zip(exact, n, strict=True)) * 30 / 29)
        / n.sum()
    )
    for method in METHODS[:2]:
        assert mm.heldout(TWO, PEOPLE, method).standard_error == pytest.approx(spread, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_true_model_beats_wrong_ones(method):
    """200 people × 15 comparisons; gaps of .02 to .3 against paired standard errors below .01."""
    people = TWO.sample(200, 15, seed=5).comparisons
    truth = mm.heldout(TWO, people, method).log_likelihood_per_comparison
    wrong = mm.M4.from_orders([list("bcda"), list("cdab")], phi=[0.3, 0.5], alpha=[0.4, 0.9])
    alone = mm.M4.from_orders([list("dcba")], phi=0.7)
    for other in (wrong, alone):
        assert mm.heldout(other, people, method).log_likelihood_per_comparison < truth - 0.01


@pytest.mark.parametrize("method", METHODS)
def test_unknown_items_are_an_error_or_left_out(method):
    """Six comparisons of a, b, c in order of preference; three of them know no z."""
    user, winner, loser = list("uuuvvv"), list("aabaab"), list("zzcbcc")
    people = mm.Comparisons.from_arrays(user, winner, loser)
    model = mm.M4.from_orders([list("abc"), list("cab")], 0.3, 0.5)
    with pytest.raises(DataError, match="1 of the 4 items is unknown: 'z'"):
        mm.heldout(model, people, method)
    kept = mm.Comparisons.from_codes(
        [0, 1, 1, 1], [1, 0, 0, 1], [2, 1, 2, 2], None, list("abc"), list("uv")
    )
    assert repr(mm.heldout(model, people, method, unknown_items="drop")) == repr(
        mm.heldout(model, kept, method)
    )


@pytest.mark.parametrize("method", METHODS[:2])
def test_mu_is_the_same_for_both(method):
    counts = np.bincount(
        np.minimum(PEOPLE.winner, PEOPLE.loser) * 4 + np.maximum(PEOPLE.winner, PEOPLE.loser),
        PEOPLE.weight,
    )
    counts = counts[counts > 0]
    gain = [
        mm.heldout(TWO, PEOPLE, method, include_mu=mu).log_likelihood_per_comparison
        for mu in (True, False)
    ]
    assert gain[0] - gain[1] == pytest.approx(counts @ np.log(counts / 240) / 240)


def test_progress_is_reported():
    said = []
    mm.heldout(TWO, PEOPLE, progress=lambda *what: said.append(what))
    assert said[0][0] == "32 particles" and said[-1][1] == said[-1][2]
    said.clear()
    mm.heldout(TWO, PEOPLE, "importance", n_jobs=1, progress=lambda *what: said.append(what))
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said) and len(said) > 1


def test_what_cannot_be_asked():
    for method, options, message in (
        (
            "gibbs",
            {},
            "method is 'gibbs'; it must be one of 'left-to-right', 'importance', 'completion'",
        ),
        (
            "completion",
            {"include_mu": True},
            r"include_mu is no option of method=\"completion\".*"
            "it goes with 'left-to-right' and 'importance'",
        ),
        ("importance", {"unknown_items": "keep"}, "unknown_items is 'keep'"),
    ):
        with pytest.raises(OptionError, match=message):
            mm.heldout(TWO, PEOPLE, method, **options)


def test_options_by_name_are_those_of_their_method():
    assert heldout_options_from("left-to-right", {"n_moves": 1}) == mm.LeftToRightOptions(n_moves=1)
    assert heldout_options_from("importance", {"n_draws": 9}) == mm.ImportanceOptions(n_draws=9)
    assert heldout_options_from("completion", {}) == mm.CompletionOptions()
    for method, options, message in (
        (
            "importance",
            {"form": "filter"},
            "form is no option of method=\"importance\"; it goes with 'left-to-right'",
        ),
        (
            "left-to-right",
            {"given": 0.2},
            "given is no option of method=\"left-to-right\"; it goes with 'completion'",
        ),
        (
            "completion",
            {"n_particles": 2},
            'n_particles is no option of method="completion"; '
            "it goes with 'left-to-right' and 'importance'",
        ),
    ):
        with pytest.raises(OptionError, match=message):
            heldout_options_from(method, options)
