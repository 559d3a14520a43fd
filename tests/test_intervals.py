"""Intervals: they cover as they say, hold what they must, and are the same however they are
computed.
"""

import csv
import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.assess.intervals.interval_estimates import shortest_run
from mallowmix.assess.intervals.replicates import in_order_of, many, replicate_weights
from mallowmix.errors import OptionError
from mallowmix.model.fit_options import SpectralOptions
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


@pytest.fixture(scope="module")
def small():
    truth = planted(8, 2, 0.6, 0.3, seed=2)
    votes = truth.sample(120, 25, seed=2).comparisons
    model = mm.fit(votes, 2, predictor=False)
    return votes, model, mm.intervals(model, votes, 40, seed=1)


@pytest.mark.slow
def test_coverage_of_one_ranking():
    """The fast twin of benchmarks/interval_coverage.py: 5 populations, 90% intervals.

    Places: 40 items; .7 is four standard errors below .9. φ: at least 2 of 5, which 90% intervals
    miss once in 2,000.
    """
    places, phis = [], []
    for seed in range(5):
        truth = planted(8, 1, 0.75, 1.0, seed=seed)
        votes = truth.sample(40, 10, seed=seed).comparisons
        found = mm.intervals(mm.fit(votes, 1, predictor=False), votes, 20, seed=seed)
        places.append((found.position_low <= truth.sigma) & (truth.sigma <= found.position_high))
        phis.append(found.phi_low[0] <= 0.75 <= found.phi_high[0])
    assert np.mean(places) > 0.7 and sum(phis) >= 2


@pytest.mark.slow
def test_more_people_narrow_the_intervals(small):
    _, model, found = small
    many = model.sample(1000, 25, seed=5).comparisons
    narrow = mm.intervals(mm.fit(many, 2, predictor=False), many, 20)
    assert np.all(narrow.phi_high - narrow.phi_low < found.phi_high - found.phi_low)
    assert np.all(narrow.share_high - narrow.share_low < found.share_high - found.share_low)


def test_an_estimate_outside_its_interval_is_explained(small):
    _, _, found = small
    assert found.refined and replace(found, phi=found.phi_low, share=found.share_high).notes == []
    ends = np.array([found.phi_low[0] - 0.01, found.phi_high[1] + 0.01])
    outside = replace(found, phi=ends, share=found.share_high + 0.01)
    small, large, share = outside.notes
    assert small.startswith(
        "Outside its interval is the phi of component 1: rankings that were chosen to fit"
    )
    assert (
        large.startswith("Outside its interval is the phi of component 2: ")
        and "stopped a little before" in large
    )
    assert share.startswith("Outside its interval is the share of components 1 and 2: ")
    rough = replace(outside, refined=False).notes
    assert len(rough) == 2 and all("not brought there" in note for note in rough)
    assert "components 1 and 2: the interval" in outside._repr_html_()


@pytest.mark.slow
def test_only_a_model_refined_to_the_end_counts_as_refined(small):
    votes, _, _ = small
    rough = mm.fit(votes, 2, method=SpectralOptions(refine="none"), predictor=False)
    for fitted, refined in ((rough, False), (mm.update(rough, votes), True)):
        assert mm.intervals(fitted, votes, 10).refined == refined


def test_what_intervals_hold(small):
    _, model, found = small
    assert np.all(found.position_low <= model.sigma) and np.all(model.sigma <= found.position_high)
    inside = (found.draws.sigma >= found.position_low) & (found.draws.sigma <= found.position_high)
    assert np.all(inside.mean(axis=0) >= 0.9)
    assert np.all(np.sort(found.draws.sigma, axis=2) == np.arange(8))
    assert np.allclose(found.draws.share.sum(axis=1), 1) and np.all(
        (found.draws.phi > 0) & (found.draws.phi < 1)
    )


def test_win_rates_are_those_of_the_model(small):
    _, model, found = small
    rates = np.einsum("k,kij->ij", model.share, model.beta())
    for i, j in ((0, 1), (5, 2)):
        rate, low, high = found.win_rate(model.items[i], model.items[j])
        assert rate == pytest.approx(rates[i, j]) and low <= high
        back = found.win_rate(model.items[j], model.items[i])
        assert back == pytest.approx((1 - rate, 1 - high, 1 - low))
    with pytest.raises(OptionError, match="The model has no item 'tea'; it has 8 others"):
        found.win_rate("tea", model.items[0])


def test_the_table_has_a_row_for_everything(small):
    _, model, found = small
    rows = found.table()
    assert len(rows) == 2 * (2 + 8)
    first = [row for row in rows if row["quantity"] == "position" and row["component"] == 1]
    assert [row["item"] for row in first] == [model.items[i] for i in model.order[0]]
    assert [row["estimate"] for row in first] == list(range(1, 9))
    assert all(row["low"] <= row["high"] for row in rows)


@pytest.mark.slow
def test_the_same_for_any_number_of_threads(small):
    votes, model, _ = small
    one, other = (mm.intervals(model, votes, 12, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one.draws, other.draws, strict=True))


@pytest.mark.slow
def test_people_of_weight_two_are_two_people(small):
    """Everybody twice: scores and information double, so that a step I⁻¹ Σ s stays what it was."""
    votes, model, _ = small
    doubled = replace(votes, user_weight=np.full(votes.n_users, 2.0))
    one, two = mm.intervals(model, votes, 30), mm.intervals(model, doubled, 30)
    assert np.allclose(one.draws.phi, two.draws.phi, atol=1e-6)


def test_options_are_checked(small):
    votes, model, _ = small
    with pytest.raises(OptionError, match="replicates is 2; it must be at least 10"):
        mm.intervals(model, votes, 2)
    with pytest.raises(OptionError, match=r"level is 1.5; it must be between 0 and 1"):
        mm.intervals(model, votes, 20, 1.5)


# ---- parts ----


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.integers(0, 6),
    st.sampled_from([0.5, 0.8, 0.9]),
)
def test_the_shortest_run_by_trying_all(draws, estimate, level):
    low, high = shortest_run(np.array(draws)[:, None], np.array([estimate]), level)
    runs = [
        (a, b)
        for a in range(7)
        for b in range(a, 7)
        if sum(a <= d <= b for d in draws) >= level * len(draws) - 1e-9
    ]
    least = min(b - a for a, b in runs)
    allowed = {(min(a, estimate), max(b, estimate)) for a, b in runs if b - a == least}
    assert (low[0], high[0]) in allowed


def test_replicate_weights_are_exponential():
    u = replicate_weights(50, 400, seed=1)
    # 4 standard errors at least
    assert u.mean() == pytest.approx(1, abs=0.03) and u.var() == pytest.approx(1, abs=0.1)
    assert np.array_equal(u[:10], replicate_weights(10, 400, seed=1))


def test_components_keep_their_numbers():
    sigma = planted(10, 3).sigma
    assert np.array_equal(in_order_of(sigma[[2, 0, 1]], sigma), sigma)


# ---- command line ----


@pytest.mark.slow
def test_the_command(tmp_path):
    votes, model, table = tmp_path / "votes.csv", tmp_path / "model.m4", tmp_path / "intervals.csv"
    run(
        "simulate",
        votes,
        "--items",
        6,
        "--components",
        2,
        "--users",
        80,
        "--per-user",
        20,
        "--phi",
        0.3,
        "--seed",
        3,
    )
    run("fit", votes, "-k", 2, "-o", model)
    said, _ = run("intervals", model, votes, "--n-replicates", 20, "-o", table)
    assert "positions are certain at this level" in said and "90 %" in said
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (2 + 6) and set(rows[0]) == {
        "quantity",
        "component",
        "item",
        "estimate",
        "low",
        "high",
    }
    printed, _ = run("intervals", model, votes, "--n-replicates", 20, "--json")
    values = json.loads(printed)
    assert values["level"] == 0.9 and float(rows[0]["low"]) == values["intervals"][0]["low"]
    assert (
        "ending '.txt' does not tell"
        in run("intervals", model, votes, "-o", tmp_path / "x.txt", code=2)[1]
    )
    assert (
        "--level is 2.0; it must be between 0 and 1"
        in run("intervals", model, votes, "--level", "2", code=2)[1]
    )


def test_one_job_needs_no_thread_and_several_answer_in_order():
    threads, done = set(), []

    def one(n):
        threads.add(threading.get_ident())
        return n * n

    assert many(one, range(20), 1, lambda: done.append(1)) == [n * n for n in range(20)]
    assert threads == {threading.get_ident()} and len(done) == 20
    assert many(one, range(20), 2, lambda: None) == [n * n for n in range(20)]
