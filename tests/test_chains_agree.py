"""The study of chains on real people, on a small planted population."""

import json

import pytest

from benchmarks import chains_agree
from benchmarks.chains_agree import Length, run_case, run_lengths
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
VOTES = planted(5, 1, 0.5, 1.0).sample(40, 10, seed=1).comparisons


def test_chains_of_one_component_agree_and_no_longer_ones_are_drawn():
    found = run_lengths(VOTES, 1, (Length(200, 100, 2), Length(400, 100, 2)))
    assert [each["n_warmup"] for each in found] == [200]
    assert found[0]["converged"] and found[0]["r_hat"]["log_likelihood"] < 1.05
    assert found[0]["ess"]["log_likelihood"] > 50
    assert len(found[0]["log-likelihood"]) == 4


def test_chains_that_are_too_short_are_drawn_again(monkeypatch):
    said = iter([False, True, True])
    monkeypatch.setattr(
        chains_agree, "run_case", lambda *case: {"length": case[2], "converged": next(said)}
    )
    found = run_lengths(VOTES, 2, (1, 2, 3))
    assert [each["length"] for each in found] == [1, 2]


def test_results_of_other_cases_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(chains_agree, "data_of", lambda *_: VOTES)
    monkeypatch.setattr(chains_agree, "LENGTHS", (Length(10, 8, 1),))
    for case in ("llmfao-1", "dublin-2"):
        chains_agree.main(["--data", str(tmp_path), "--cases", case, "--out", str(tmp_path)])
    found = json.loads((tmp_path / "chains_agree.json").read_text(encoding="utf-8"))
    assert set(found) == {"llmfao-1", "dublin-2", "record"}
    expected = run_case(VOTES, 2, Length(10, 8, 1))
    assert found["dublin-2"][0]["r_hat"] == expected["r_hat"]
