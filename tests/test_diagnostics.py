"""Diagnostics: each number against its definition, a simulation, or a refit."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import mallowmix as mm
from mallowmix.assess import simulated_error as simulation
from mallowmix.assess.diagnose.disagreement import disagreement, polarising, variance_parts
from mallowmix.assess.diagnose.influence import activity, influences, most_influential
from mallowmix.assess.diagnose.reliability import reliability
from mallowmix.assess.simulated_error import draw_again, expected_error, simulate_phi
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import OptionError
from mallowmix.infer.heldout.held_out_rows import HeldOutRows, predict_held_out
from mallowmix.infer.heldout.scored_on import ScoredOn
from mallowmix.learn.spectral.user_scores import maximise_likelihood
from mallowmix.model.sampling import draw_weights
from tests.command_line import run
from tests.planted import planted, tiny_population

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
MODEL = planted(8, 3, 0.4, [0.2, 0.3, 0.5], seed=1)


@pytest.fixture(scope="module")
def votes():
    return MODEL.sample(150, 30, seed=1).comparisons


# ---- disagreement ----


def test_the_parts_of_disagreement_by_drawing_people():
    """100,000 people: the parts are means of quantities below 1, so that their standard errors are
    below .002; four of them.
    """
    theta = draw_weights(MODEL.alpha, 100_000, seed=3)
    parts, beta = variance_parts(MODEL), MODEL.beta()
    for i, j in ((0, 1), (2, 7), (5, 3)):
        b = beta[:, i, j]
        p = theta @ b
        assert parts.win_rate[i, j] == pytest.approx(p.mean(), abs=0.008)
        assert parts.between_people[i, j] == pytest.approx(p.var(), abs=0.008)
        assert parts.within_component[i, j] == pytest.approx(
            np.mean(theta @ (b * (1 - b))), abs=0.008
        )
        assert parts.within_person[i, j] == pytest.approx(np.mean(theta @ b**2 - p**2), abs=0.008)


def test_the_parts_sum_to_the_variance_of_an_answer(votes):
    parts = variance_parts(MODEL)
    assert np.allclose(sum(parts[1:]), parts.win_rate * (1 - parts.win_rate))
    found = disagreement(MODEL, votes)
    assert found.within_component + found.within_person + found.between_people == pytest.approx(1)


def test_extremes_of_disagreement(votes):
    one = mm.M4(MODEL.sigma[:1], [0.4], [1.0], MODEL.items)
    assert disagreement(one, votes).within_component == pytest.approx(1)
    sure = mm.M4(MODEL.sigma, np.zeros(3), np.full(3, 1e-4), MODEL.items)
    found = disagreement(sure, votes)
    assert found.within_component == 0 and found.between_people == pytest.approx(1, abs=1e-3)


def test_two_opposite_tastes_polarise_on_the_ends():
    model = mm.M4.from_orders(["abcdef", "bcdefa"], phi=0.1, alpha=0.1)
    pairs, items = polarising(model, 3)
    assert items[0].item == "a" and all("a" in (pair.item, pair.other) for pair in pairs)
    assert pairs[0].win_rate > 0.5 - 1e-12 and pairs[0].spread >= pairs[1].spread


# ---- reliability ----


def test_the_slope_is_the_best_by_trying():
    random = np.random.default_rng(0)
    p = random.uniform(0.05, 0.95, 500)
    held_out = HeldOutRows(
        np.repeat(np.arange(50), 10), np.zeros(500, int), random.choice([1.0, 2.0], 500), p
    )
    z = np.log(p / (1 - p))
    best = minimize_scalar(
        lambda b: held_out.weight @ np.log1p(np.exp(-b * z)), bounds=(-5, 5), method="bounded"
    )
    assert reliability(held_out).slope == pytest.approx(best.x, abs=1e-4)


@pytest.mark.slow
def test_the_true_model_is_as_sure_as_it_should_be():
    """New people of the model itself: the slope within 4 standard errors of 1; a model that is too
    sure is seen.
    """
    people = MODEL.sample(400, 40, seed=9).comparisons
    found = reliability(predict_held_out(MODEL, people))
    assert abs(found.slope - 1) < 4 * found.slope_error
    assert all(
        abs(row.predicted - row.observed) < 4 * math.sqrt(0.25 / row.n_comparisons) + 0.02
        for row in found.table
    )
    assert sum(row.n_comparisons for row in found.table) == found.n_comparisons
    sure = mm.M4(MODEL.sigma, MODEL.phi / 3, MODEL.alpha, MODEL.items)
    over = reliability(predict_held_out(sure, people))
    assert over.slope < 1 - 4 * over.slope_error


# ---- influence ----


@pytest.mark.slow
def test_influence_is_how_far_the_optimum_moves_without_a_person():
    """One ranking, nothing hidden: I⁻¹ s against φ found again without the person."""
    truth = planted(6, 1, 0.5, 1.0)
    votes = truth.sample(40, np.r_[np.full(39, 10), 60], seed=2).comparisons
    smooth = maximise_likelihood(truth, make_blocks(votes), ThreadEngine(1), steps=8, sweeps=2)
    moved = influences(smooth, votes)
    assert most_influential(smooth, votes, 1)[0].user == votes.users[np.argmax(moved)]
    for m in (int(np.argmax(moved)), 3):
        rest = maximise_likelihood(
            truth,
            make_blocks(votes.take_users(np.arange(40) != m)),
            ThreadEngine(1),
            steps=8,
            sweeps=2,
        )
        step = abs(rest.eta[0] - smooth.eta[0])
        predicted = abs(smooth.scores[m, 0]) / smooth.information[0, 0]
        assert step == pytest.approx(predicted, rel=0.35, abs=0.01)
        assert moved[m] == pytest.approx(predicted * math.sqrt(smooth.information[0, 0]), rel=1e-6)


def test_activity_by_hand():
    votes = Comparisons.from_codes([0] * 9 + [1], [0] * 10, [1] * 10, None, "ab", range(2))
    found = activity(votes)
    assert (found.median, found.most, found.busiest_tenth) == (5, 9, 0.9)


# ---- simulation ----


def test_the_same_people_are_asked_the_same_pairs():
    votes = tiny_population(1, fractions=True, people=True)
    again = draw_again(mm.M4.from_orders(["abcd"], 0.5), votes, seed=1)

    def held_out(c):
        low, high = np.minimum(c.winner, c.loser), np.maximum(c.winner, c.loser)
        return np.bincount((c.user * 4 + low) * 4 + high, c.weight, 5 * 16)

    assert np.allclose(held_out(again), held_out(votes)) and np.array_equal(
        again.user_weight, votes.user_weight
    )


def test_answers_come_from_the_model():
    """Win rates of 20,000 answers; each of the 28 within 4.5 standard errors, a false alarm in
    5,000.
    """
    votes = MODEL.sample(2000, 10, seed=4).comparisons
    again = draw_again(MODEL, votes, seed=2)
    wins = np.zeros((8, 8))
    np.add.at(wins, (again.winner, again.loser), again.weight)
    rates, parts = np.einsum("k,kij->ij", MODEL.share, MODEL.beta()), variance_parts(MODEL)
    for i in range(8):
        for j in range(i):
            n = wins[i, j] + wins[j, i]
            assert abs(wins[i, j] / n - rates[i, j]) < 4.5 * math.sqrt(
                sum(part[i, j] for part in parts[1:]) * 1.2 / n
            )


@pytest.mark.slow
def test_more_people_have_less_error():
    few, many = (MODEL.sample(M, 20, seed=1).comparisons for M in (30, 300))
    small, large = (expected_error(MODEL, votes, 2).kendall for votes in (few, many))
    assert sum(large) < sum(small)


# ---- together ----


@pytest.mark.slow
def test_the_whole_diagnosis(votes):
    found = mm.diagnose(MODEL, votes, n_simulations=1)
    beta = MODEL.beta()
    for pair in found.novel_pairs:
        i, j = MODEL.item_number(pair.winner), MODEL.item_number(pair.loser)
        others = np.delete(beta[:, i, j], pair.component - 1)
        assert pair.lam == pytest.approx(others.max() / beta[pair.component - 1, i, j])
    assert found.separability == max(pair.lam for pair in found.novel_pairs)
    a = MODEL.share
    R = (a[:, None] * a + np.diag(a)) / 2  # α₀ = 1
    assert found.condition == pytest.approx(np.linalg.cond(R / np.outer(a, a)))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    words = found.words()
    assert (
        "Of all disagreement" in words and "(1 simulations)" in words and "busiest tenth" in words
    )


@pytest.mark.slow
def test_components_too_alike_are_named(votes):
    twin = mm.M4([MODEL.sigma[0], MODEL.sigma[0]], [0.4, 0.4], [0.5, 0.5], MODEL.items)
    found = mm.diagnose(twin, votes, n_simulations=0)
    assert (
        found.alike[0].kendall == 0
        and not found.alike[0].separated
        and found.expected_error is None
    )
    assert (
        "Components 1 and 2 differ in 0.0 % of the pairs only: the data cannot tell them apart."
        in found.words()
    )
    assert "Only 0 of the components have a pair" in found.words()


def test_a_loud_person_is_named():
    truth = planted(6, 1, 0.3, 1.0)
    votes = truth.sample(30, 10, seed=1).comparisons
    votes = replace(votes, user_weight=np.r_[200.0, np.ones(29)])
    assert (
        "Without them the model would differ by a standard error"
        in mm.diagnose(truth, votes, n_simulations=0).words()
    )


def test_held_out_people_and_options(votes):
    other = MODEL.sample(50, 20, seed=77).comparisons
    found = mm.diagnose(MODEL, votes, held_out=other, n_simulations=0)
    asked = predict_held_out(MODEL, other, split="touching", given=2 / 3)
    assert found.reliability == reliability(asked)
    assert found.predictions.scored_on == ScoredOn("new", "touching")
    assert "Measured on new people" in found.words()
    found = mm.diagnose(MODEL, votes, held_out=votes, n_simulations=0)
    assert found.predictions.scored_on == ScoredOn("fitted", "touching")
    assert "new people are predicted less well" in found.words()
    with pytest.raises(OptionError, match="simulations is -1"):
        mm.diagnose(MODEL, votes, n_simulations=-1)


@pytest.mark.slow
def test_one_component_and_any_number_of_threads(votes):
    one = mm.M4(MODEL.sigma[:1], [0.4], [1.0], MODEL.items)
    found = mm.diagnose(one, votes, n_simulations=1, n_jobs=1)
    assert found == mm.diagnose(one, votes, n_simulations=1, n_jobs=3)
    assert "There is one component" in found.words()


@pytest.mark.slow
def test_the_command(tmp_path):
    votes, model = tmp_path / "votes.csv", tmp_path / "model.m4"
    run(
        "simulate",
        votes,
        "--items",
        6,
        "--components",
        2,
        "--users",
        60,
        "--per-user",
        20,
        "--truth",
        model,
    )
    assert "- Of all disagreement" in run("diagnose", model, votes, "--n-simulations", 1)[0]
    values = json.loads(
        run(
            "diagnose",
            model,
            votes,
            "--n-simulations",
            0,
            "--n-top",
            2,
            "--held-out",
            votes,
            "--json",
        )[0]
    )
    assert len(values["polarising_pairs"]) == 2 and values["expected_error"] is None


def test_the_bias_of_phi_is_seen_where_rankings_are_guesses():
    """φ = .9 and little data: the learnt ranking fits its own noise, so that φ comes out too small,
    clearly.
    """
    truth = planted(12, 1, 0.9, 1.0)
    votes = truth.sample(30, 15, seed=1).comparisons
    smooth = maximise_likelihood(truth, make_blocks(votes), ThreadEngine(1), steps=2, sweeps=2)
    found = simulate_phi(truth, smooth, votes, 6, n_jobs=1)
    assert found.bias < -2 * found.error < 0


@pytest.mark.parametrize("part", [1.0, 0.25])
def test_the_bias_is_found_where_what_was_seen_first_is_taken_off(monkeypatch, part):
    """Were the bias of logit φ −.2 at first and −.3 after, and that of log α .1: the last six start
    at η̂ + .2 and η̂ − .1, or the
    part of it that the model has itself, and only they say how large the bias is.
    """
    truth = planted(6, 2, 0.5, 0.3)
    votes = truth.sample(20, 10, seed=1).comparisons
    smooth = maximise_likelihood(truth, make_blocks(votes), ThreadEngine(1), steps=1, sweeps=2)
    drawn_at = []

    def known(model, eta, *_):
        drawn_at.append(eta)
        bias = -0.2 if len(drawn_at) <= 3 else -0.3
        return np.array([[bias, bias], [0.1, 0.1]]), np.ones(2)

    monkeypatch.setattr(simulation, "_simulate", known)
    found = simulate_phi(truth, smooth, votes, 6, part=part)
    assert found == pytest.approx((-0.3 * part, 0.0, 1.0))
    assert len(drawn_at) == 9 and all((eta == smooth.eta).all() for eta in drawn_at[:3])
    assert np.allclose(drawn_at[3:] - smooth.eta, part * np.array([0.2, 0.2, -0.1, -0.1]))


@pytest.mark.slow
def test_the_spread_of_phi_is_as_said_where_rankings_are_sure(monkeypatch):
    """At φ = .3 with 200 people 36 errors spread as the information says: by chance beyond 1.25 of
    it in one run of 130 or so.

    Were the information twice what it is, errors would be twice as many standard errors, but for
    the eight put beside.
    """
    truth = planted(8, 2, 0.3, 0.3, seed=2)
    votes = truth.sample(200, 30, seed=2).comparisons
    smooth = maximise_likelihood(truth, make_blocks(votes), ThreadEngine(1), steps=2)
    as_said = simulate_phi(truth, smooth, votes, 12, n_jobs=1).widening
    assert 1 <= as_said < 1.25

    def too_sure(*about, **options):
        found = maximise_likelihood(*about, **options)
        return found._replace(information=2 * found.information)

    monkeypatch.setattr(simulation, "maximise_likelihood", too_sure)
    assert simulate_phi(truth, smooth, votes, 12, n_jobs=1).widening > 1.4
