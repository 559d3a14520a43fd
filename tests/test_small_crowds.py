"""The study of small crowds on a few made-up ballots, and what it draws."""

import json

import numpy as np
import pytest

from benchmarks import protocol, small_crowds


@pytest.fixture
def ballots(tmp_path):
    random = np.random.default_rng(0)
    lines = [f"1: {', '.join(map(str, 1 + random.permutation(6)[:5]))}" for _ in range(40)]
    (tmp_path / "irish").mkdir()
    text = "# ballots\n" + "\n".join(lines) + "\n"
    (tmp_path / "irish" / "dublin-west-2002.soi").write_text(text, encoding="utf-8")
    return tmp_path


def test_crowds_differ_between_splits_and_have_their_size(ballots):
    crowd = small_crowds.CROWDS["ballots-12"]
    (first, Q), (again, _), (other, _) = (
        small_crowds.split(crowd, ballots, seed) for seed in (1, 1, 2)
    )
    assert Q == 6 and len(first.train) == 8 and len(first.given) <= 4
    both = zip(first.train, again.train, strict=True)
    assert all(np.array_equal(a, b) for a, b in both)
    assert not all(np.array_equal(a, b) for a, b in zip(first.train, other.train, strict=True))


def test_people_may_say_little(monkeypatch, tmp_path):
    people = [(np.arange(30), np.arange(30) % 5) for _ in range(9)]
    monkeypatch.setattr(protocol, "read_films", lambda *_: (people, 30))
    crowd = small_crowds.Crowd("films", 9, 1, n_films=30, most_rated=10)
    parts, _ = small_crowds.split(crowd, tmp_path, 0)
    seen = [len(np.unique(np.concatenate(each))) for each in parts.train]
    assert max(seen) <= 10


@pytest.mark.slow
def test_the_command_writes_a_result_with_its_record(ballots, capsys):
    small_crowds.main(
        ["--data", str(ballots), "--sets", "ballots-12", "--splits", "2", "-o", str(ballots)]
    )
    kept = json.loads((ballots / "small_crowds.json").read_text(encoding="utf-8"))
    assert kept["ballots-12"]["splits"] == 2 and "commit" in kept["record"]
    assert {"predictor", small_crowds.ALONE} <= set(kept["ballots-12"])
    assert "ballots-12" in capsys.readouterr().out


def test_an_unknown_crowd_is_named(ballots, capsys):
    with pytest.raises(SystemExit):
        small_crowds.main(["--data", str(ballots), "--sets", "ballots-13"])
    assert "ballots-13" in capsys.readouterr().err
