"""Cheap rows of result files, run again: what is compared and kept, and what `make claims` says."""

import importlib.util
import json
import math
import shlex
import sys
import time
from pathlib import Path

import pytest

from mallowmix.paper.provenance import code_hash
from tools import cheap_rows, claims
from tools.cheap_rows import HERE, checked, entries_of, run_again
from tools.result_values import json_part, results

ENTRIES = """
["fig.csv"]
command = "fig_study {folder}"
key = ["system", "k"]
within = { value = 0.01 }

["small.json"]
command = "small_study"
numbers = { "rows.1.error" = 0.01, "wrong" = 0 }
"""
FIG_STUDY = """
import sys
from pathlib import Path
rows = "system,k,value\\nM4,10,{value}\\nnew,1,7\\n"
(Path(sys.argv[1]) / "fig.csv").write_text(rows)
"""
SMALL_STUDY = """
import json, os
from pathlib import Path
folder = Path(os.environ["MALLOWMIX_RESULTS"])
(folder / "small.json").write_text(json.dumps({"rows": [{}, {"error": .125}], "wrong": []}))
"""


@pytest.fixture
def root(tmp_path):
    """A repository with two result files, both made by other code than its own."""
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    for name in ("docs", "tools", "src/mallowmix"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src" / "mallowmix" / "core.py").write_text("x = 2\n")
    (tmp_path / "README.md").write_text("Nothing.\n")
    (tmp_path / "docs" / "claims.toml").write_text("")
    (tmp_path / "tools" / "cheap_rows.toml").write_text(ENTRIES)
    (tmp_path / "fig_study.py").write_text(FIG_STUDY.replace("{value}", "-0.515"))
    (tmp_path / "small_study.py").write_text(SMALL_STUDY)
    record = {"modules": {"mallowmix.core": code_hash("x = 1")}, "clean": True, "commit": "c"}
    (folder / "fig.csv").write_text("system,k,value\nM4,5,-0.53\nM4,10,-0.5140\n")
    (folder / "fig.runs.json").write_text(json.dumps([record | {"rows": [["M4", "5"]]}]))
    small = {"rows": [{"error": 0.1}, {"error": 0.12}], "wrong": [], "record": record}
    (folder / "small.json").write_text(json.dumps(small))
    return tmp_path


def rerun(root, name):
    found = run_again(name, entries_of(root)[name], root, None)
    cheap_rows.keep(found, root)
    return found


def kinds(root):
    return sorted((each.kind, each.where.rpartition("/")[2]) for each in claims.all_findings(root))


def test_a_row_that_agrees_checks_its_file_until_the_code_changes(root):
    assert kinds(root) == [("stale", "fig.csv"), ("stale", "small.json")]
    found = rerun(root, "fig.csv")
    assert [tuple(number) for number in found.numbers] == [("M4 10 value", -0.514, -0.515, 0.01)]
    assert kinds(root) == [("stale", "small.json")]
    assert rerun(root, "small.json").agrees and kinds(root) == []
    (root / "src" / "mallowmix" / "core.py").write_text("x = 3\n")
    assert kinds(root) == [("stale", "fig.csv"), ("stale", "small.json")]
    assert not checked("fig.csv", root)


def test_a_row_that_disagrees_is_listed(root, capsys, monkeypatch):
    (root / "fig_study.py").write_text(FIG_STUDY.replace("{value}", "-0.53"))
    assert not rerun(root, "fig.csv").agrees
    assert kinds(root) == [
        ("disagrees", "cheap_rows.toml"), ("stale", "fig.csv"), ("stale", "small.json"),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["claims", "--root", str(root)])
    monkeypatch.delenv("STRICT", raising=False)
    assert claims.main() == 1  # without --strict, too
    assert "M4 10 value: -0.53, where the file has -0.514" in capsys.readouterr().out


def test_a_row_with_another_tolerance_was_not_run(root):
    assert rerun(root, "fig.csv").agrees and checked("fig.csv", root)
    file = root / "tools" / "cheap_rows.toml"
    file.write_text(file.read_text().replace("value = 0.01", "value = 0.0001"))
    assert not checked("fig.csv", root)
    assert not rerun(root, "fig.csv").agrees


def test_code_that_changes_while_a_row_runs_does_not_check_it(root):
    study = FIG_STUDY.replace("{value}", "-0.515")
    (root / "fig_study.py").write_text(f"{study}Path('src/mallowmix/core.py').write_text('x = 4')")
    found = rerun(root, "fig.csv")
    assert not found.agrees and "changed meanwhile" in found.numbers[0].name


@pytest.mark.parametrize(
    "study", ["raise SystemExit(3)", "", FIG_STUDY.replace("M4,10", "M4,11"),
              FIG_STUDY.replace("{value}", "nan")],
)  # fmt: skip
def test_what_fails_or_makes_no_such_number_disagrees(root, study, capsys):
    (root / "fig_study.py").write_text(study)
    assert not rerun(root, "fig.csv").agrees
    assert not checked("fig.csv", root)


def test_a_number_that_is_missing_disagrees(root):
    (root / "small_study.py").write_text(SMALL_STUDY.replace('"wrong": []', '"right": []'))
    found = rerun(root, "small.json")
    assert not found.agrees and math.isnan(found.numbers[1].found)


def test_a_column_in_a_part_of_a_row_is_compared(root):
    entry = {"command": "small_study", "key": ["n"], "within": {"full.error": 0.01}}
    stands, made = root / "stands.json", root / "made.json"
    old = [{"n": n, "full": {"error": 0.1}} for n in (1, 2, 3)]
    stands.write_text(json.dumps({"rows": old}))
    made.write_text(json.dumps({"rows": [{"n": 3, "full": {"error": 0.2}}, {"n": 2, "full": {}}]}))
    (number,) = cheap_rows.compared(stands, made, entry)
    assert number.name == "3 full.error" and not number.agrees


def test_only_what_was_not_run_with_todays_code_is_run(root, monkeypatch, capsys):
    monkeypatch.setattr(cheap_rows, "HERE", root)
    monkeypatch.setattr(sys, "argv", ["cheap_rows"])
    assert cheap_rows.main() == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert cheap_rows.main() == 0 and capsys.readouterr().out == ""


def test_rows_of_real_people_need_their_data(root, monkeypatch, capsys):
    file = root / "tools" / "cheap_rows.toml"
    file.write_text(file.read_text().replace("fig_study {folder}", "fig_study {folder} {data}"))
    monkeypatch.setattr(cheap_rows, "HERE", root)
    monkeypatch.setattr(sys, "argv", ["cheap_rows"])
    assert cheap_rows.main() == 0 and "fig.csv" not in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["cheap_rows", "--data", str(root)])
    assert cheap_rows.main() == 0 and "fig.csv: agrees" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(["--n-jobs", "0"], "at least one row"), (["--data", "nowhere"], "no folder nowhere"),
     (["--only", "no.csv"], "invalid choice: 'no.csv'")],
)  # fmt: skip
def test_a_wrong_option_is_one_sentence(wrong, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cheap_rows", *wrong])
    with pytest.raises(SystemExit, match="2"):
        cheap_rows.main()
    assert said in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_compared_and_begins_no_other_row(root, monkeypatch, capsys):
    begun = []

    def run(name, *_):
        begun.append(name)
        time.sleep(0.01)
        return cheap_rows.Rerun(name, "code", ())

    def keep(*_):
        raise KeyboardInterrupt

    many = {str(number): {"command": "study"} for number in range(500)}
    monkeypatch.setattr(cheap_rows, "entries_of", lambda _: many)
    monkeypatch.setattr(cheap_rows, "checked", lambda *_: False)
    monkeypatch.setattr(cheap_rows, "keep", keep)
    monkeypatch.setattr(cheap_rows, "run_again", run)
    monkeypatch.setattr(sys, "argv", ["cheap_rows"])
    assert cheap_rows.main() == 130
    assert 0 < len(begun) < 500 and "run it again" in capsys.readouterr().out


@pytest.mark.parametrize("name", entries_of(HERE))
def test_every_entry_names_a_module_a_file_and_numbers_of_it(name):
    entry, file = entries_of(HERE)[name], results(HERE, name)
    assert importlib.util.find_spec(shlex.split(entry["command"])[0])
    assert "{folder}" in entry["command"] or entry["command"].startswith("benchmarks.")
    found = [json_part(file, path) for path in entry.get("numbers", {})]
    if "within" in entry:
        first = cheap_rows._rows(file, entry)[0]
        columns = [*entry["key"], *entry["within"]]
        assert all(cheap_rows._column(first, column) is not None for column in columns)
        found += list(entry["within"])
    assert found


def test_kept_rows_are_of_files_with_an_entry():
    file = results(HERE, cheap_rows.KEPT)
    kept = json.loads(file.read_text()) if file.exists() else {}
    assert set(kept) <= set(entries_of(HERE))
    assert not any(str(Path.home()) in line for line in map(str, kept.values()))
