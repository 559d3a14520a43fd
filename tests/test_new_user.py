"""The table of what a new user meets, on a small arena where everybody agrees."""

import csv

import numpy as np
import pytest

from benchmarks import new_user

ITEMS = ["best", "good", "fair", "poor"]


@pytest.fixture
def arena(tmp_path):
    """Twelve people, each 18 battles, the better one wins 9 of 10."""
    random = np.random.default_rng(0)
    with (tmp_path / "crowd-comparisons.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["worker", "winner", "left", "right"])
        for worker in range(12):
            for _ in range(18):
                left, right = random.permutation(4)[:2]
                first = (left < right) == (random.random() < 0.9)
                names = ITEMS[left], ITEMS[right]
                rows.writerow([worker, "left" if first else "right", *names])
    return tmp_path


@pytest.mark.slow
def test_both_leaderboards_and_several_numbers_of_components(arena, monkeypatch):
    board = new_user.leaderboards(arena)
    assert board["ours"][0] == board["bradley_terry"][0] == "best"
    assert all(high >= n for n, high in enumerate(board["rank_high"], 1))
    monkeypatch.setattr(new_user, "NUMBERS", (1, 2))
    losses = new_user.more_components(arena, 1)
    assert set(losses) == {"1", "2", "one ranking"}
    assert all(0.1 < loss < np.log(2) for loss in losses.values())  # all beat a coin


def test_the_table_takes_log_losses_from_gaps():
    gaps = {"gaps": {"predictor": {"gap": 0.04}, "one ranking (log-loss)": {"gap": 0.62}}}
    found = {
        "favourite": {"position": 2, "probability": 0.979},
        "llmfao": {"2": 0.5, "3": 0.51, "5": 0.52, "one ranking": 0.57},
        "leaderboard": {"ours": ["a"], "bradley_terry": ["b"]},
    }
    text = new_user.table(found, dict.fromkeys(("ml100", "ml200", "consistent"), gaps))
    assert "| a plain fit, 100 films | .640, one ranking .627 | .580, one ranking .620 |" in text
    assert ".500 / .510 / .520, one ranking .570" in text
    assert "| 2, .979 |" in text and "a, Bradley–Terry: b" in text
