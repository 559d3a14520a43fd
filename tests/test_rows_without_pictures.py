"""`mallowmix reproduce` without matplotlib: rows and page; later the picture, from them."""

import json
import sys

import pytest

from command_line import run
from mallowmix.paper import recorded_rows
from mallowmix.paper.footnote import run as footnote
from mallowmix.paper.recorded_rows import RecordedRows
from mallowmix.paper.result_log import add_run, read_runs

COMMAND = ("reproduce", "footnote", "--quick")


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(footnote, "_QUICK_DRAWS", 2)


@pytest.mark.slow
def test_rows_first_and_the_picture_later_without_computing(few_draws, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
        said, notes = run(*COMMAND, "-o", tmp_path)
    assert "pip install 'mallowmix[plots]'" in notes and "footnote.png" not in said
    assert {file.name for file in tmp_path.iterdir()} == {
        *("footnote.csv", "footnote.md", "footnote.runs.json")
    }
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    monkeypatch.setattr(footnote, "separability_probability", None)  # whoever computes fails
    said, _ = run(*COMMAND, "-o", tmp_path)
    assert "holds 4 of 4 rows already" in said
    assert (tmp_path / "footnote.png").read_bytes().startswith(b"\x89PNG")
    assert all(file.read_bytes() == content for file, content in before.items())


def test_a_record_is_written_before_the_end_of_a_long_run(tmp_path, monkeypatch):
    """So that a run that is killed leaves few rows without one."""
    rows = RecordedRows(tmp_path / "fig.csv", {"experiment": "fig"}, range(2))
    rows.add(["a"], {"x": 1})
    rows.record_if_due()
    assert read_runs(tmp_path / "fig.csv") == []
    monkeypatch.setattr(recorded_rows, "_RECORD_SECONDS", -1.0)
    rows.add(["b"], {"x": 2})
    rows.record_if_due()
    (record,) = read_runs(tmp_path / "fig.csv")
    assert record["rows"] == [["a"], ["b"]] and record["seeds"] == [0, 1]
    rows.add(["c"], {"x": 3})
    rows.record()
    (record,) = read_runs(tmp_path / "fig.csv")
    assert record["rows"] == [["a"], ["b"], ["c"]]


def test_runs_that_differ_in_their_rows_alone_have_one_record(tmp_path):
    path = tmp_path / "fig.csv"
    add_run(path, {"rows": [["a"], ["b"]], "commit": "1", "modules": {"m": "x"}})
    add_run(path, {"rows": [["c"]], "commit": "2", "modules": {"m": "x"}})
    add_run(path, {"rows": [["d"], ["b"]], "commit": "1", "modules": {"m": "x"}})
    found = [(run["commit"], run["rows"]) for run in read_runs(path)]
    assert found == [("2", [["c"]]), ("1", [["a"], ["d"], ["b"]])]
    assert json.loads(path.with_suffix(".runs.json").read_text(encoding="utf-8"))
