"""Every result shows itself in a notebook and becomes a table, with the numbers that it holds."""

import numpy as np
import pytest

import mallowmix as mm
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
        "differences": mm.compare_models(model, model),
        "choice of K": mm.choose_k(votes, [1, 2]),
        "intervals": mm.intervals(model, votes, 10),
        "groups": mm.compare_groups(model, votes, groups, n_permutations=20),
    }


@pytest.mark.slow
def test_every_result_has_a_table_for_notebooks_and_a_dataframe(results):
    import pandas

    for name, found in results.items():
        assert "<" in found._repr_html_(), name
        frame = found.to_frame("pandas")
        assert isinstance(frame, pandas.DataFrame) and len(frame.columns) > 1, name


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
