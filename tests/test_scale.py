"""The benchmark of scale on a small twin: shards are what was planted, stages measure, ratios are
what they say.
"""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import scale, scale_page
from benchmarks.planted import Setting, truth_of
from benchmarks.record import load
from benchmarks.scale_data import truth_weights, write_shards
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.readers import read_comparisons

SETTING = Setting(n_items=8, n_components=2, per_user=40, phi=0.3, alpha=0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale")
    write_shards(folder / "votes", truth_of(SETTING), 500, 20_000, rows=6000)
    return folder


def test_shards_hold_what_was_planted(folder):
    """Every win rate within 5 standard errors of the mean of β over everybody: by chance once in
    60,000 for 28 pairs.
    """
    files = sorted((folder / "votes").glob("*.parquet"))
    assert [pq.read_metadata(file).num_rows for file in files] == [6000, 6000, 6000, 2000]
    votes = read_comparisons(folder / "votes")
    assert (votes.n_comparisons, votes.n_users, votes.n_items) == (20_000, 500, 8)
    truth = truth_of(SETTING)
    chance = np.einsum("k,kij->ij", truth_weights(truth, 500, 0).mean(axis=0), truth.beta())
    wins = np.zeros((8, 8))
    # labels are single digits: text order is their order
    np.add.at(wins, (votes.winner, votes.loser), votes.weight)
    total = wins + wins.T
    low, high = np.triu_indices(8, 1)
    # people differ: a pair's rate is not exactly the mean
    error = np.sqrt(chance * (1 - chance) / np.maximum(total, 1)) + 0.02
    assert (np.abs(wins / np.maximum(total, 1) - chance)[low, high] < 5 * error[low, high]).all()


def test_the_same_seed_writes_the_same_shards(folder, tmp_path):
    write_shards(tmp_path, truth_of(SETTING), 500, 20_000, rows=6000)
    assert all(
        pq.read_table(tmp_path / file.name).equals(pq.read_table(file))
        for file in (folder / "votes").glob("*.parquet")
    )


@pytest.mark.slow
def test_stages_measure_and_ratios_add_up(folder, tmp_path, monkeypatch):
    """By a clock that goes on by a second whenever it is read: what is measured is how often that
    was.
    """
    monkeypatch.setattr(scale, "time", SimpleNamespace(perf_counter=count(step=1.0).__next__))
    row = {"comparisons": 20_000}
    for name in ("scan", "store", "none"):
        row[name] = scale.stage(name, folder, "300MB", SETTING, 20_000)
        assert row[name]["peak"] >= row[name]["before"] > 10**7
    # the median of three scans; the store, with its fingerprint inside; the fit, with every pass
    # inside
    assert row["scan"]["each"] == [1.0] * 3 and row["scan"]["seconds"] == 1.0
    assert row["store"]["fingerprint in"] == 1.0 and row["store"]["seconds"] == 3.0
    n_passes = sum(row["none"]["passes"].values()) + row["none"]["sample"]
    assert n_passes > 2 and row["none"]["seconds"] == 2 * n_passes + 1
    assert (
        row["store"]["rows"] == StoredComparisons(folder / "votes.blocks").n_rows
        and row["none"]["error"] < 0.2
    )
    # of what was run
    assert scale.scans({"scan": row["scan"]}) == {} and set(scale.scans(row)) == {"none"}
    row["full"] = {"seconds": 5.0}
    expected = (row["store"]["seconds"] + 5.0) / row["scan"]["seconds"]
    assert scale.scans(row)["full"] == pytest.approx(expected)
    scale.keep(row, tmp_path)
    scale.keep({"comparisons": 7}, tmp_path)
    scale.keep(row, tmp_path)
    assert [each["comparisons"] for each in load("scale", tmp_path)["rows"]] == [7, 20_000]


def test_the_table_of_the_page():
    """One line a size, between the marks; what was not measured is left empty."""
    stage = {"seconds": 2.0, "peak": 5e8}
    row = {"comparisons": 1000, "scan": stage, "store": stage, "none": stage | {"error": 0.25}}
    text = scale_page.filled("a\n<!-- scale -->old<!-- /scale -->\nb", [row])
    assert (
        "old" not in text
        and text.startswith("a\n<!-- scale -->\n| comparisons |")
        and text.endswith("<!-- /scale -->\nb")
    )
    assert "| 1,000 | 2.0 s | 2.0 s | 2.0 s |  |  |  | 0.50 GB | 0.2500 |" in text


def test_the_page_holds_what_was_measured():
    rows = load("scale", scale.RESULTS)["rows"]
    page = scale_page.PAGE.read_text(encoding="utf-8")
    assert scale_page.filled(page, rows) == page
