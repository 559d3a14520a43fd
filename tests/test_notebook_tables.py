"""Every result shows itself in a notebook and becomes a table, with the numbers that it holds."""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.data.frames import FramedResult
from mallowmix.errors import DataError
from tests.test_help_words import cells

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


@pytest.fixture(scope="module")
def votes():
    return mm.load_dishes(n_users=40, per_user=20).comparisons


@pytest.fixture(scope="module")
def model(votes):
    return mm.fit(votes, 2, predictor=False, seed=0).named({1: "comfort"})


@pytest.fixture(scope="module")
def results(model, votes):
    person = votes.of(votes.users[0])
    groups = {"user": votes.users.tolist(), "team": ["a", "b"] * 20}
    return {
        "comparisons": votes,
        "model": model,
        "weights": mm.weights(model, votes),
        "weight intervals": mm.weight_intervals(model, person),
        "predictions": mm.predict(model, person, [("pizza", "tacos")]),
        "ranking": mm.rank(model, person),
        "leaderboard": mm.leaderboard(model),
        "questions": mm.next_pair(model, person, n_best=2),
        "differences": mm.compare_models(model, model),
        "choice of K": mm.choose_k(votes, [1, 2]),
        "intervals": mm.intervals(model, votes, 10),
        "groups": mm.compare_groups(model, votes, groups, n_permutations=20),
        "diagnosis": mm.diagnose(model, votes, n_simulations=1, refit=False),
        "data report": mm.check(votes, 2),
        "held-out score": mm.heldout(model, votes, "completion"),
    }


@pytest.mark.slow
def test_every_result_has_a_table_for_notebooks_and_a_dataframe(results):
    import pandas

    for name, found in results.items():
        assert "<" in found._repr_html_(), name
        frame = found.to_frame("pandas")
        assert isinstance(frame, pandas.DataFrame) and len(frame.columns) > 1, name


@pytest.mark.slow
def test_tables_hold_the_numbers(results, model):
    frame = results["model"].to_frame("pyarrow").to_pylist()
    assert len(frame) == 2 * 16 and {row["name"] for row in frame} == {"comfort", ""}
    for row in frame:
        k, i = row["component"] - 1, model.item_number(row["item"])
        assert row["position"] == model.sigma[k, i] + 1
    sure = results["intervals"]
    rows = [r for r in sure.to_frame("pyarrow").to_pylist() if r["quantity"] == "position"]
    for row in rows:
        k, i = row["component"] - 1, model.item_number(row["item"])
        assert (row["low"], row["high"]) == (
            sure.position_low[k, i] + 1,
            sure.position_high[k, i] + 1,
        )
    assert results["choice of K"].to_frame("pyarrow")["k"].to_pylist() == [1, 2]


def long_table(found):
    """The rows of a table of quantities, by quantity."""
    rows = {}
    for row in found.to_frame("pyarrow").to_pylist():
        rows.setdefault(row["quantity"], []).append((row["number"], row["about"], row["value"]))
    return rows


@pytest.mark.slow
def test_a_diagnosis_as_a_table(results):
    found = results["diagnosis"]
    rows = long_table(found)
    titles = {1: "component 1 (comfort)", 2: "component 2"}
    assert rows["novel_pairs.lam"] == [
        (n, f"{titles[pair.component]}, {pair.winner}, {pair.loser}", pair.lam)
        for n, pair in enumerate(found.novel_pairs, 1)
    ]
    assert rows["condition"] == [(None, "", found.condition)]
    assert [value for _, _, value in rows["expected_error.kendall"]] == list(
        found.expected_error.kendall
    )
    assert rows["influential.standard_errors"] == [
        (n, each.user, each.standard_errors) for n, each in enumerate(found.influential, 1)
    ]
    assert rows["predictions.several.accuracy"][0][2] == found.predictions.several.accuracy


def test_a_data_report_as_a_table():
    rows = [("ann", "tea", "coffee"), ("ann", "tea", "milk"), ("bob", "coffee", "tea")]
    found = mm.check(rows)
    table = long_table(found)
    assert table["n_users"] == [(None, "", 2.0)] and table["per_user.max"] == [(None, "", 2.0)]
    assert table["users_below_two"] == [(1, "bob", None)]
    assert table["never_win"] == [(1, "milk", None)]
    assert [text for _, text, _ in table["warnings"]] == found.warnings
    assert table["form"] == [(None, found.form, None)] and "position" not in table


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_tables_are_of_the_kind_that_the_comparisons_came_from(kind, model, votes):
    given = votes.to_frame(kind)
    teams = {"user": votes.users.tolist(), "team": ["a", "b"] * 20}
    results = (
        mm.check(given),
        mm.diagnose(model, given, n_simulations=0, refit=False),
        mm.compare_groups(model, given, teams, n_permutations=20),
        mm.intervals(model, given, 10),
        mm.leaderboard(model, given),
        mm.choose_k(given, [1]),
        mm.rank(model, given),
        mm.next_pair(model, votes.of(votes.users[0]).to_frame(kind)),
    )
    for found in results:
        assert type(found.to_frame()) is type(given), type(found)
        assert type(found.to_frame("pyarrow")).__module__.startswith("pyarrow")


@pytest.mark.slow
def test_the_posterior_shows_itself(votes):
    short = {"n_chains": 2, "n_warmup": 10, "n_draws": 10, "thin": 1}
    sample = mm.sample_posterior(votes, 2, **short)
    assert len(cells(sample._repr_html_())) == 2
    rates = sample.to_frame("pyarrow")
    assert np.allclose(rates["win_rate"], np.median(sample.win_rate.reshape(-1, 16), axis=0))
    found = mm.posterior_intervals(sample)
    assert found.to_frame("pyarrow").to_pylist() == found.table()
    assert len(cells(found._repr_html_())) == 16


def test_weights_that_are_none_are_an_error(model):
    for theta in ([5, 0], [0.5, 0.6], [-0.5, 1.5]):
        with pytest.raises(DataError, match="at least 0 and sum to one"):
            model.probability(theta, "pizza", "tacos")
    assert 0 < model.probability([0.5, 0.5], "pizza", "tacos") < 1


def test_a_framed_result_needs_columns():
    class Nothing(FramedResult):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()


def test_tables_of_quantities_say_what_each_number_of_a_list_is_about():
    around = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]
    votes = mm.read_comparisons([(f"u{m}", *couple) for m in range(60) for couple in around])
    rows = mm.check(votes).to_frame("pyarrow").to_pylist()
    about = [row["about"] for row in rows if row["quantity"] == "cycle.win_rates"]
    assert sorted(about) == ["paper, rock", "rock, scissors", "scissors, paper"]
    model = mm.load_dishes().model.named(["comfort", "", "spicy"])
    people = mm.load_dishes(n_users=40, per_user=20).comparisons
    found = mm.diagnose(model, people, n_simulations=1, refit=False).to_frame("pyarrow").to_pylist()
    about = [row["about"] for row in found if row["quantity"] == "expected_error.kendall"]
    assert about == ["component 1 (comfort)", "component 2", "component 3 (spicy)"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_questions_and_pairs_are_tables_of_the_callers_kind(kind):
    dishes = mm.load_dishes(n_users=4, per_user=5)
    person = dishes.comparisons.take_users([0]).to_frame(kind)
    questions = mm.next_pair(dishes.model, person, n_best=3)
    frame = questions.to_frame()
    assert type(frame) is type(person) and isinstance(questions, list)
    assert list(frame["first"]) == [question.first for question in questions]
    assert list(frame["information"]) == [question.information for question in questions]
    assert [row[:2] for row in cells(questions._repr_html_())] == [
        [question.first, question.second] for question in questions
    ]
    asked = mm.predict(dishes.model, None, frame[["first", "second"]])
    pairs = [(question.first, question.second) for question in questions]
    assert asked.pairs == tuple(pairs) and type(asked.to_frame()) is type(person)
    assert np.array_equal(asked.values, mm.predict(dishes.model, None, pairs).values)
