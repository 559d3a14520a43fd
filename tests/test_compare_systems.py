"""The study of all systems side by side, on small tables in the form of its data."""

import json

import numpy as np
import pytest

from benchmarks import compare_systems
from mallowmix.errors import MallowmixError


@pytest.fixture
def data(tmp_path):
    """Votes with a tie, and stars of 40 people for five films, the first of which all rated."""
    random = np.random.default_rng(0)
    (tmp_path / "llmfao").mkdir()
    lines = ["worker,left,right,winner", "w0,a,b,tie"]
    for worker in range(40):
        for left, right in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")):
            lines.append(f"w{worker},{left},{right},{random.choice(['left', 'right'])}")
    text = "\n".join([*lines, ""])
    (tmp_path / "llmfao" / "crowd-comparisons.csv").write_text(text, encoding="utf-8")
    (tmp_path / "ml-1m").mkdir()
    stars = [
        f"{user}::{film}::{random.integers(1, 6)}::0"
        for user in range(1, 41)
        for film in range(1, 7 if user == 1 else 6)
    ]
    text = "\n".join([*stars, ""])
    (tmp_path / "ml-1m" / "ratings.dat").write_text(text, encoding="utf-8")
    return tmp_path


def test_ties_are_dropped_and_films_are_those_with_most_ratings(data, monkeypatch):
    votes = compare_systems.language_models(data)
    assert (votes.n_users, votes.n_items, votes.n_comparisons) == (40, 4, 200)
    monkeypatch.setattr(compare_systems, "TOP_ITEMS", 5)
    ratings = compare_systems.films(data)
    assert {int(item) for item in ratings["item"].to_pylist()} == {1, 2, 3, 4, 5}


@pytest.mark.slow
def test_each_set_has_a_file_with_its_record(data):
    options = ["--data", str(data), "--systems", "bradley-terry,coin", "--out", str(data)]
    compare_systems.main([*options, "--keep-in", str(data / "runs")])
    assert len(list((data / "runs").iterdir())) == 2 * (5 + 1)  # systems, splits of both sets
    for name in compare_systems.SETS:
        found = json.loads((data / f"compare_{name}.json").read_text(encoding="utf-8"))
        losses = {row["system"]: row["log_loss"] for row in found["table"]}
        assert set(losses) == {"bradley-terry", "coin"}
        assert losses["coin"] == pytest.approx(np.log(2))
        assert found["record"]["seeds"] == [0] and found["record"]["modules"]["mallowmix"]


def test_the_systems_are_those_of_compare(data):
    with pytest.raises(MallowmixError, match="nothing"):
        compare_systems.main(["--data", str(data), "--systems", "nothing", "--out", str(data)])
