"""The benchmark of numbers by split: what it counts."""

from types import SimpleNamespace

import pytest

from benchmarks.number_by_split import _cost, run_set


def chosen(k, **scores):
    table = [
        SimpleNamespace(k=int(n[1:]), log_likelihood_per_comparison=x) for n, x in scores.items()
    ]
    return SimpleNamespace(k=k, table=table)


def test_what_another_number_costs():
    assert _cost(chosen(3, k1=-0.6, k3=-0.5), 1) == pytest.approx(0.1)
    assert _cost(chosen(3, k1=-0.6, k3=-0.5), 3) == 0
    assert _cost(chosen(3, k1=-0.6, k3=-0.5), 8) == _cost(chosen(None, k1=-0.6), 1) == 0


@pytest.mark.slow
def test_planted_numbers_do_not_depend_on_the_split(tmp_path):
    found = run_set("rankings", tmp_path, 2)
    assert found == {"numbers": [4, 4], "costs of the first number": [0.0, 0.0]}
