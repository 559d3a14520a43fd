"""`mallowmix update`: the library's update on files."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from command_line import run
from mallowmix.model.model_file import dumps


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with the model of some people (model.m4), the votes of all (votes.parquet), and
    those of some (some.csv).
    """
    monkeypatch.chdir(tmp_path)
    votes = (
        mm.M4.from_orders(["abcdefgh", "hbgdface"], 0.1, 0.2).sample(200, 40, seed=1).comparisons
    )
    pq.write_table(votes.to_arrow(), "votes.parquet")
    mm.save(mm.fit(votes.take_users(range(100)), 2, predictor=False), "model.m4")
    return votes


@pytest.mark.slow
def test_update_writes_the_model_of_the_library(here):
    before = Path("model.m4").read_bytes()
    said, _ = run("update", "model.m4", "votes.parquet", "-o", "new.m4", "--seed", 3)
    assert Path("new.m4").read_bytes() == dumps(mm.update(mm.load("model.m4"), here, seed=3))
    assert Path("model.m4").read_bytes() == before
    assert "votes.parquet: 8,000 comparisons of 8 items by 200 people; 2 components." in said
    assert "a > b > c > d > e > f > g > h" in said and "New to the model" not in said
    assert "Wrote new.m4. See it again with: mallowmix show new.m4" in said
    assert "(method update, seed 3)" in run("show", "new.m4")[0]


@pytest.mark.slow
def test_update_replaces_the_model_unless_told_otherwise():
    expected = dumps(mm.update(mm.load("model.m4"), mm.read_comparisons("votes.parquet")))
    assert run("update", "model.m4", "votes.parquet", "--quiet", "--n-jobs", 1) == ("", "")
    assert Path("model.m4").read_bytes() == expected


@pytest.mark.slow
def test_update_names_the_new_items():
    votes = mm.M4.from_orders(["abcdefghijklmnop"], 0.1).sample(100, 80, seed=1).comparisons
    pq.write_table(votes.to_arrow(), "more.parquet")
    said, _ = run("update", "model.m4", "more.parquet", "-o", "new.m4")
    assert "New to the model: i, j, k, l, m and 3 more." in said
    assert mm.load("new.m4").n_items == 16


@pytest.mark.slow
def test_update_speaks_json():
    said, _ = run("update", "model.m4", "votes.parquet", "-o", "new.m4", "--json")
    assert json.loads(said) == json.loads(run("show", "new.m4", "--json")[0]) | {"output": "new.m4"}
    assert json.loads(said)["report"]["update"]["method"] == "spectral"


@pytest.mark.slow
def test_the_help_says_that_all_that_should_count_must_be_given():
    said = " ".join(run("update", "--help")[0].split())
    assert "give old and new comparisons in one file if both should count" in said


@pytest.mark.slow
def test_messages():
    _, said = run("update", "model.m4", "votes.parquet", "-o", "votes.parquet", code=2)
    assert "votes.parquet is named twice" in said
    _, said = run("update", "votes.parquet", "votes.parquet", code=2)
    assert "is named twice" in said
    _, said = run("update", "absent.m4", "votes.parquet", "-o", "new.m4", code=1)
    assert "absent.m4" in said and not Path("new.m4").exists()
