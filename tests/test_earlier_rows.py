"""Studies leave a record, and go on with what the same code has made, and with nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import hard_cases, real_data
from benchmarks.earlier_rows import earlier
from mallowmix.paper.provenance import changed_modules, code_hash
from tools.result_values import values_of

ROOT = Path(__file__).parents[1]


@pytest.fixture
def root(tmp_path):
    """A repository of one module, and a result of it."""
    package = tmp_path / "src" / "mallowmix"
    package.mkdir(parents=True)
    (package / "core.py").write_text("x = 1\n")
    record = {"modules": {"mallowmix.core": code_hash("x = 1")}, "clean": True}
    write(tmp_path, "small", {"rows": [1, 2], "record": record})
    return tmp_path


def write(folder: Path, name: str, result: Any) -> None:
    (folder / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def test_the_same_code_goes_on(root):
    assert earlier("small", root, root) == {"rows": [1, 2]}
    (root / "src" / "mallowmix" / "core.py").write_text("x = 1  # the same\n")
    assert earlier("small", root, root) == {"rows": [1, 2]}


def test_nothing_is_kept_of_other_code(root):
    (root / "src" / "mallowmix" / "core.py").write_text("x = 2\n")
    assert earlier("small", root, root) == {}


@pytest.mark.parametrize("clean", [False, None])
def test_nothing_is_kept_of_a_tree_with_changes_or_unknown(root, clean):
    found = read(root, "small")
    write(root, "small", found | {"record": found["record"] | {"clean": clean}})
    assert earlier("small", root, root) == {}


@pytest.mark.parametrize("result", [{"rows": [1]}, [{"error": 1.0}]])
def test_nothing_is_kept_without_a_record(root, result):
    write(root, "small", result)
    assert earlier("small", root, root) == {}
    assert earlier("nothing", root, root) == {}


def test_numbers_are_looked_up_in_the_rows_of_a_result(root):
    """With a record beside its rows a file holds the same numbers as a list of rows."""
    results = root / "benchmarks" / "results"
    results.mkdir(parents=True)
    rows = [{"method": "one", "error": 0.25}, {"method": "two", "error": 0.5}]
    write(results, "bare", rows)
    write(results, "recorded", {"rows": rows, "record": {"seeds": [0.75]}})
    entry = {"where": {"method": "two"}, "columns": ["error"]}
    for name in ("bare.json", "recorded.json"):
        assert values_of(root, name, entry) == (0.5,)


def recorded(folder: Path, name: str, seeds: list[int]) -> dict[str, Any]:
    """A result, after a look at its record; the tree of it is then said to be clean."""
    found = read(folder, name)
    record = found["record"]
    assert record["seeds"] == seeds and record["modules"]["benchmarks.record"]
    assert changed_modules(record["modules"], ROOT) == []
    write(folder, name, found | {"record": record | {"clean": True}})
    return found


@pytest.mark.slow
def test_hard_cases_leave_a_record(tmp_path, monkeypatch):
    easy = hard_cases.Case("easy", n_users=60, per_user=60, phi=0.2)
    monkeypatch.setattr(hard_cases, "CASES", [easy, hard_cases.Case("left out")])
    hard_cases.main(["--seeds", "1", "--cases", "easy", "--out", str(tmp_path)])
    found = recorded(tmp_path, "hard_cases", [0])
    assert [(row["case"], row["seed"]) for row in found["rows"]] == [("easy", 0)]
    assert 0 <= found["rows"][0]["error"] <= found["rows"][0]["worst"] <= 1


def test_films_leave_a_record_and_go_on(tmp_path, monkeypatch):
    """A second run adds its method to the first one's, and measures its own anew."""
    measured = []

    def measure(name, train, test, K, seed):
        measured.append(name)
        return {"n_items": 100, "n_components": K, "method": name, "seed": seed, "error": "none"}

    monkeypatch.setattr(real_data, "measure", measure)
    monkeypatch.setattr(real_data, "read_movielens", lambda folder: None)
    monkeypatch.setattr(real_data, "movielens_comparisons", lambda ratings, Q: None)
    monkeypatch.setattr(real_data, "first_users", lambda votes: (None, None))
    first, second = list(real_data.METHODS)[:2]
    for methods in ([first], [second], [second]):
        real_data.main(["--quick", "--methods", *methods, "--out", str(tmp_path)])
        found = recorded(tmp_path, "real_data", [0])
    assert measured == [first, second, second]
    assert [row["method"] for row in found["rows"]] == [first, second]
