"""Scores: each says on whom and on which questions, and what means the same is the same number."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import mallowmix as mm
from mallowmix.assess.contrasts import contrasts
from mallowmix.assess.diagnose.reliability import Reliability, reliability
from mallowmix.assess.diagnose.reliability_text import reliability_sentence
from mallowmix.assess.one_ranking_gain import against_one
from mallowmix.cli.model_text import predictor_in_words
from mallowmix.data.splits import split_users
from mallowmix.fitting.new_users import predict_new_users
from mallowmix.fitting.stacking.learn_predictor import _of_new_items
from mallowmix.infer.heldout.held_out_rows import HeldOutRows
from mallowmix.infer.heldout.scored_on import (
    ScoredOn,
    ScoredPeople,
    hard_questions,
    people_beside,
    people_of,
)
from mallowmix.model.fit_report import PredictorTrace
from mallowmix.numerics.clustered_error import clustered_proportion, wilson_interval
from mallowmix.report import compute_contents, make_report
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
TRUTH = planted(8, 2, 0.3, 0.3, seed=1)


@pytest.fixture(scope="module")
def votes():
    return TRUTH.sample(90, 24, seed=1).comparisons


@pytest.fixture(scope="module")
def model(votes):
    return mm.fit(votes, 2, predictor=False)


# ---- on whom ----


@pytest.mark.slow
def test_the_fingerprint_says_whether_the_model_has_seen_them(model, votes):
    assert people_of(model, votes) == ScoredPeople.FITTED
    assert people_of(model, votes.take_users(range(50))) == ScoredPeople.OTHER
    assert people_of(TRUTH, votes) == ScoredPeople.UNKNOWN
    updated = mm.update(model, TRUTH.sample(40, 20, seed=5).comparisons)
    assert people_of(updated, votes) == ScoredPeople.FITTED
    found = mm.heldout(model, votes, "completion")
    assert found.scored_on == ScoredOn("fitted", "comparisons") and found.scored_on.seen


def test_names_say_whether_people_beside_them_are_new():
    known = mm.read_comparisons([("ann", "a", "b"), ("bob", "b", "c")])
    assert people_beside(known, mm.read_comparisons([("eve", "a", "b")])) == "new"
    assert people_beside(known, mm.read_comparisons([("ann", "b", "c")])) == "held-out"
    assert people_beside(known, mm.read_comparisons([("ann", "a", "b")])) == "fitted"


def test_hard_questions_by_where_comparisons_come_from(votes):
    assert hard_questions(votes) == ("touching", 2 / 3)
    full = mm.Rankings.from_orders([list("abcdef"), list("fedcba")]).comparisons()
    assert hard_questions(full) == ("items", 0.5)
    short = mm.Rankings.from_orders([list("ab"), list("ba")]).comparisons()
    assert hard_questions(short) == ("touching", 2 / 3)


# ---- one number for one thing ----


@pytest.mark.slow
def test_diagnose_report_and_heldout_agree_to_the_digit(model, votes):
    found = against_one(model, votes, seed=2)
    assert mm.diagnose(model, votes, n_simulations=0, seed=2).predictions == found
    shown = compute_contents(model, votes, n_replicates=0, choose_k=False, n_simulations=0, seed=2)
    assert shown.against_one == found
    # heldout, of each fold's people by the model of the others
    fold, total, n = split_users(votes.n_users, 3, seed=2), 0.0, 0.0
    for part in range(3):
        others = mm.fit(votes.take_users(fold != part), 2, predictor=False, seed=2)
        options = mm.CompletionOptions(split="touching", given=2 / 3)
        one = mm.heldout(others, votes.take_users(fold == part), options, seed=2)
        assert one.scored_on == ScoredOn("other", "touching")
        total += one.log_likelihood_per_comparison * one.n_comparisons
        n += one.n_comparisons
    assert found.several.log_likelihood == pytest.approx(total / n, abs=1e-12)
    assert found.reliability.log_likelihood_per_comparison == pytest.approx(total / n, abs=1e-12)


@pytest.mark.slow
def test_choose_k_asks_new_people_the_same_questions(votes, monkeypatch):
    """One ranking has no likelihood weight to choose: its score is that of `diagnose`, which splits
    the comparisons of new people once.
    """
    monkeypatch.setattr("mallowmix.fitting.k_users._MOST_SPLITS", 1)
    found = against_one(mm.fit(votes, 1, predictor=False), votes, seed=2)
    choice = mm.choose_k(votes, [1], refine="full", seed=2)
    assert choice.table[0].log_likelihood_per_comparison == pytest.approx(
        found.several.log_likelihood, abs=1e-12
    )
    assert choice.scored_on == found.scored_on == ScoredOn("new", "touching")
    assert choice.to_dict()["scored_on"]["words"] == str(choice.scored_on)


@pytest.mark.slow
def test_people_who_compared_nothing_leave_the_report_as_the_commands_are(monkeypatch):
    """They count where a sample of many people chooses K, and in the fingerprint of what was learnt
    from.
    """
    monkeypatch.setattr("mallowmix.fitting.k_users.ENOUGH_COMPARISONS", 400)
    monkeypatch.setattr("mallowmix.fitting.k_users._ENOUGH_USERS", 30)
    full = TRUTH.sample(45, 16, seed=3).comparisons
    users = [f"a{n}" for n in range(9)] + [f"b{m:02d}" for m in range(45)]  # the first say nothing
    rows = (full.user + 9, full.winner, full.loser, full.weight)
    votes = mm.Comparisons.from_codes(*rows, full.items, users)
    model = mm.fit(votes, predictor=False)
    shown = compute_contents(model, votes, n_replicates=0, refit=False, n_simulations=0)
    assert shown.choice.table == mm.choose_k(votes).table
    assert shown.choice.reason == model.report.spectral.choice_of_k
    assert shown.against_one.scored_on.people == "fitted"
    assert shown.against_one == mm.diagnose(model, votes, refit=False, n_simulations=0).predictions


def test_people_are_predicted_by_models_of_others(votes):
    learnt = []

    def learn(some):
        learnt.append(set(some.users.tolist()))
        return mm.FittedModel(TRUTH)

    found = predict_new_users(votes, learn, n_folds=4, seed=5)
    asked = {u: set() for u in range(4)}
    for user in np.unique(found.rows.user):
        part = next(f for f in range(4) if votes.users[user] not in learnt[f])
        asked[part].add(int(user))
    assert sum(map(len, asked.values())) == votes.n_users
    assert all(len(set(votes.users.tolist()) - who) in (22, 23) for who in learnt)


@pytest.mark.slow
def test_rankings_are_scored_on_items_nothing_is_known_of():
    """With both items held out a person's ranking says less: single comparisons are predicted
    better (-.59 against -.64 here).
    """
    orders = [list(order) for order in ("abcdefgh", "hgfedcba")]
    truth = mm.M4.from_orders(orders, 0.7, 0.1)
    rankings = mm.sample_profile(truth, 300, seed=1)
    data = rankings.comparisons()
    found = against_one(truth, data)
    easier = against_one(truth, data, questions=("comparisons", 0.5))
    assert found.scored_on == ScoredOn("new", "items")
    assert easier.several.log_likelihood > found.several.log_likelihood + 0.03


def test_what_fit_prints_of_its_predictor_is_the_harder_question_first():
    trace = PredictorTrace(0.53, 0.64, (), 650, 0.62, 0.65)
    said = predictor_in_words(trace)
    assert "held-out users, who also chose what predicts" in said
    assert "0.620 against 0.650 for one ranking for all, on two items that they have not" in said
    assert said.index("0.620") < said.index("(0.530 against 0.640 on all")
    assert "0.530 against 0.640 for one" in predictor_in_words(PredictorTrace(0.53, 0.64, (), 650))


def test_the_score_of_new_items_is_over_pairs_of_two():
    """By hand, of two comparisons that count 1 and 3: −(log ½ + 3 log ¼) / 4."""
    found = _of_new_items(np.log([0.5, 0.25]), np.log([0.5, 0.5]), np.array([1.0, 3.0]))
    assert found["log_loss_new_items"] == pytest.approx(7 / 4 * math.log(2))
    assert found["one_ranking_new_items"] == pytest.approx(math.log(2))
    assert _of_new_items(*3 * [np.empty(0)]) == {}


# ---- calibration ----


def rows(p, users, outcomes):
    """Held-out rows in which the side of probability p won or lost."""
    p = np.broadcast_to(p, len(outcomes))
    return HeldOutRows(
        np.asarray(users), np.zeros(len(p), int), np.ones(len(p)), np.where(outcomes, p, 1 - p)
    )


def test_intervals_of_bins_hold_the_truth_as_often_as_they_say():
    """Persons with rates of their own around .75, 20 answers each, 60 persons: the interval of z =
    1.96 holds .75 in 95% of 400 sets; fewer than 92% or more than 98.5% come by chance once in 200.
    """
    random, held = np.random.default_rng(3), 0
    for _ in range(400):
        rates = random.beta(6, 2, 60)
        won = random.binomial(20, rates).astype(float)
        _, low, high = clustered_proportion(won, np.full(60, 20.0), 1.96)
        held += low <= 0.75 <= high
    assert 0.92 < held / 400 < 0.985


def test_wilson_against_the_exact_test():
    """The ends of the interval are where the observed count is just not surprising (normal)."""
    low, high = wilson_interval(0.7, 200, 1.96)
    above = binom.sf(140, 200, low) + binom.pmf(140, 200, low) / 2
    below = binom.cdf(139, 200, high) + binom.pmf(140, 200, high) / 2
    assert (above, below) == pytest.approx((0.025, 0.025), abs=0.004)
    assert wilson_interval(0.3, 0, 2.0) == (0.0, 1.0)


def test_at_its_word_only_where_the_interval_says_so():
    random = np.random.default_rng(0)

    def judged(n_people, n_each, truth, said=0.8):
        users = np.repeat(np.arange(n_people), n_each)
        return reliability(rows(said, users, random.random(len(users)) < truth))

    right, few, over, under = (
        judged(200, 20, 0.8),
        judged(6, 4, 0.8),
        judged(200, 20, 0.7),
        judged(200, 20, 0.9),
    )
    assert [each.verdict for each in (right, few, over, under)] == [
        "calibrated",
        "unclear",
        "overconfident",
        "underconfident",
    ]
    assert "at their word" in reliability_sentence(right)
    assert "at their word" not in reliability_sentence(few)
    value, low, high = over.at(0.8)
    assert low < 0.7 < high and value == pytest.approx(0.7, abs=0.03)
    said = f"when it says 80 of 100, it is {100 * value:.0f} ({100 * low:.0f} to {100 * high:.0f})"
    assert said in reliability_sentence(over)


def test_right_on_average_but_not_everywhere():
    random, users = np.random.default_rng(1), np.repeat(np.arange(300), 20)
    p = np.where(np.arange(6000) % 2, 0.95, 0.65)
    truth = np.where(p > 0.8, 0.9, 0.75)
    found = reliability(rows(p, users, random.random(6000) < truth))
    slope_one = dataclasses.replace(found, slope=1.0, slope_error=0.02)
    assert slope_one.verdict == "uneven" and slope_one.worst.predicted in (
        pytest.approx(0.95),
        pytest.approx(0.65),
    )
    assert "not everywhere: when it says" in reliability_sentence(slope_one)


def test_nothing_held_out_says_nothing():
    empty = Reliability(math.nan, math.nan, math.nan, 0.0, ())
    assert empty.verdict == "unclear" and "Too little" in reliability_sentence(empty)


# ---- what separates components ----


def test_bounds_of_a_contrast_by_hand():
    model = mm.M4.from_orders([list("abc"), list("cba")], 0.1, 1.0)
    pairs = [("u", "a", "c")] * 6 + [("v", "c", "a")] * 4 + [("v", "a", "b")] * 3
    data = mm.read_comparisons(pairs)
    theta = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = contrasts(model, data, theta)[0]
    assert (found.telling.winner, found.telling.loser) == ("a", "c")
    beta = model.beta()[:, 0, 2]
    here = wilson_interval(beta[0], 6 * 0.9 + 4 * 0.2, 1.645)[0]
    elsewhere = wilson_interval(beta[1], 6 * 0.1 + 4 * 0.8, 1.645)[1]
    assert found.here_low == pytest.approx(here) and found.elsewhere_high == pytest.approx(
        elsewhere
    )
    assert found.items[:2] in (("a", "c"), ("c", "a"))
    assert not contrasts(model, data.take_users([1]), theta[1:])[0].clear


@pytest.mark.slow
def test_strong_words_only_where_components_predict_better():
    truth = mm.M4.from_orders([list("abcdefgh")], 0.6)
    votes = truth.sample(60, 20, seed=3).comparisons
    model = mm.fit(votes, 2, predictor=False)
    found = make_report(model, votes, n_replicates=0, choose_k=False, n_simulations=0)
    assert not found.contents.better
    html = found.html()
    assert "People who put" not in html and "is not borne out" in html
    assert "People split most" not in html and "Be careful" in html


# ---- the command line ----


@pytest.mark.slow
def test_the_commands_say_on_whom(tmp_path):
    votes, model = tmp_path / "votes.csv", tmp_path / "model.m4"
    run("simulate", votes, "--n-items", 6, "-k", 2, "--n-users", 45, "--per-user", 20)
    run("fit", votes, "-k", 2, "--no-predictor", "-o", model)
    out = run("diagnose", model, votes, "--n-simulations", 0)[0]
    assert "Measured on new people; items held out: at least one of two" in out
    out = run("diagnose", model, votes, "--n-simulations", 0, "--no-refit")[0]
    assert "Measured on people whom the model was learnt from, by these very comparisons" in out
    assert "new people are predicted less well" in out
    values = json.loads(run("diagnose", model, votes, "--n-simulations", 0, "--json")[0])
    assert values["predictions"]["scored_on"]["people"] == "new"
    assert values["predictions"]["scored_on"]["questions"] == "touching"
    assert "Measured on people whom the model was learnt from" in run("heldout", model, votes)[0]
    page = tmp_path / "page.html"
    run("report", model, votes, "-o", page, "--quick")
    assert "It had been learnt from these very choices" in page.read_text(encoding="utf-8")


def test_rounding_takes_no_end_of_a_proportion_out_of_its_range():
    """Wilson's ends lie within 0 and 1 by algebra; sums of floats do not know that."""
    ends = [wilson_interval(p, n, 1.96) for p in (0.0, 1.0) for n in range(1, 400)]
    assert all(0.0 <= low <= high <= 1.0 for low, high in ends)
