"""The study of coverage: its two worlds, its truths, and going on where it stopped."""

import json

import numpy as np
import pytest

from benchmarks import posterior_coverage as study


@pytest.mark.slow
def test_both_worlds_have_the_win_rates_that_are_held_against_them():
    """Win rates of 20,000 simulated people beside those by formula, within five standard errors."""
    setting = study.Setting()
    true = study.win_rates(setting)
    for draw in (study.answers, study.rankings):
        data = draw(setting, 20_000, seed=3)[0]
        won = np.bincount(data.winner, data.weight, setting.Q)
        lost = np.bincount(data.loser, data.weight, setting.Q)
        np.testing.assert_allclose(won / (won + lost), true, atol=5 * 0.5 / np.sqrt(20_000))


def test_everybody_orders_as_many_items_as_the_setting_says():
    setting = study.Setting()
    data, sigma = study.rankings(setting, 50, seed=1)
    for m in range(50):
        own = data.user == m
        assert len({*data.winner[own], *data.loser[own]}) == setting.n_ranked
        assert (sigma[m][data.winner[own]] < sigma[m][data.loser[own]]).all()


def test_the_truth_is_matched_whatever_the_order_of_components():
    truth = study.Truth(study.planted(study.QUICK), study.PHI, study.SHARE, None)

    class Found:
        class position:
            estimate = truth.sigma[::-1] + 0.1

    assert study.match(truth, Found).tolist() == [1, 0]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("world", study.WORLDS)
def test_a_small_study_goes_on_where_it_stopped(world, tmp_path):
    file = tmp_path / "finished.jsonl"
    first = study.measure(world, 2, study.QUICK, 0, file)
    assert len(file.read_text().splitlines()) == 2
    again = study.measure(world, 3, study.QUICK, 0, file)
    assert [json.loads(line)["number"] for line in file.read_text().splitlines()] == [0, 1, 2]
    assert again.keys() == first.keys() == {"0.5", "0.9"}
    for name, (mean, _) in again["0.9"].items():
        assert name.startswith("width") or 0 <= mean <= 1
